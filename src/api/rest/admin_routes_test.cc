#include "api/rest/admin_routes.h"

#include <gtest/gtest.h>

#include "api/rest/queue_body.h"
#include "api/testing/desk.h"
#include "base/testing/scratch.h"

namespace muster::api {
namespace {

namespace json = boost::json;

struct AdminRoutes : ::testing::Test, testing::Desk {
  Scratch scratch;
  std::unique_ptr<auth::Tokens> tokens = *auth::Tokens::open(scratch.file("tokens"));
  std::shared_ptr<const config::Config> config =
      std::make_shared<config::Config>(config::check("queues: [{name: q}]").config);
  std::string objection;  // of the server to any configuration
  std::string file = "queues: [{name: q, weight: 3}]";
  std::vector<std::string> joined;
  std::vector<std::string> left;
  ClusterCheck check;
  ClusterUse asked_use;
  view::ClusterNotes notes;
  bool busy = false;

  AdminParts parts{reads,
                   requests,
                   *tokens,
                   [this] { return now; },
                   [this](const std::function<void()>& task) {
                     if (!busy) task();
                     return !busy;
                   },
                   [this] { return LoadedConfig{config, "m.yaml", Time{5}}; },
                   [this](std::string_view yaml) {
                     config::Checked checked = config::check(yaml);
                     if (!objection.empty()) checked.problems.push_back({0, 0, "", objection});
                     return checked;
                   },
                   [this]() -> Result<std::string> { return file; },
                   [this](const config::Config& next, const config::Diff&) -> Status {
                     config = std::make_shared<config::Config>(next);
                     return Ok{};
                   },
                   [this](const config::Cluster& cluster) -> Status {
                     joined.push_back(cluster.name);
                     return Ok{};
                   },
                   [this](const std::string& name) -> Status {
                     left.push_back(name);
                     return Ok{};
                   },
                   [this](const std::string& name) -> Status {
                     notes[name].is_leaving = true;
                     return Ok{};
                   },
                   [this](const config::Cluster&, const ClusterUse& use) -> Result<ClusterCheck> {
                     asked_use = use;
                     return check;
                   },
                   [](const std::string& name) -> Status {
                     if (name != "of-the-file") return Ok{};
                     return Error{Fault::Conflict, "cluster: stands in the configuration file"};
                   },
                   [this] { return notes; }};

  AdminRoutes() {
    tell(model::ClusterSet{{"a", {{"site", "x"}}, {}, minutes(7)}});
    model::NodeSpec node;
    node.name = "n1";
    node.allocatable.cpu = {64'000};
    tell(model::NodeSeen{"a", node});
    model::QueueSpec queue;
    queue.name = "q";
    queue.limits["gpu"].maximum = 8000;
    tell(model::QueueSet{queue});
    add_admin_routes(router, parts);
  }

  void submit(
      const std::string& id, const std::string& queue,
      const std::function<void(model::JobSpec&)>& change = [](model::JobSpec&) {}) {
    model::JobSpec job;
    job.id = id;
    job.user = "bob";
    job.queue = queue;
    model::PodSet set;
    set.pod.requests.cpu = {1000};
    job.gang.sets.push_back(set);
    change(job);
    tell(model::JobSubmitted{job, world.job_count() + 1});
  }
  testing::Answer patch(const std::string& path, const std::string& body) {
    return ask("PATCH", "/api/muster/v1" + path, body);
  }
  testing::Answer remove(const std::string& path) { return ask("DELETE", "/api/muster/v1" + path); }
  const model::ClusterSpec& cluster() const {
    return world.fleet.cluster(world.fleet.find_cluster("a")).spec;
  }
};

TEST_F(AdminRoutes, AQueueIsMadeShownAndInTheAudit) {
  const auto made = post("/queues",
                         R"({"name":"vision","parent":"q","weight":2,"strategy":"fifo",
                             "guaranteed":{"gpu":"4","memory":"1Gi"},"priority_cap":70})");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.at("parent"), "q");
  EXPECT_EQ(made.at("weight"), 2);
  EXPECT_EQ(made.at("strategy"), "fifo");
  EXPECT_EQ(made.at("limits").at("gpu").at("guaranteed"), "4");
  EXPECT_EQ(made.at("limits").at("memory").at("guaranteed"), "1Gi");
  ASSERT_EQ(audit.size(), 1u);
  EXPECT_EQ(audit[0].user, "ann");
  EXPECT_EQ(audit[0].verb, "create");
  EXPECT_EQ(audit[0].object, "queue/vision");
  EXPECT_EQ(audit[0].request, "req-1");
}

TEST_F(AdminRoutes, QueuesThatCannotBeAreRefused) {
  const std::vector<std::pair<std::string, int>> cases = {
      {R"({"name":"q"})", 409},
      {R"({"name":"x","parent":"nobody"})", 400},
      {R"({"name":"x","wight":2})", 400},
      {R"({"name":"x","weight":-1})", 400},
      {R"({"name":"x","guaranteed":{"gpu":"4"},"maximum":{"gpu":"2"}})", 400},
      {R"({"name":"x","guaranteed":{"gpu":"much"}})", 400},
      {R"({"name":"x","queues":[{"name":"y"}]})", 400},
      {R"({"name":""})", 400},
      {R"({})", 400},
      {R"([])", 400},
      {R"({"name":"x","parent":7})", 400},
  };
  for (const auto& [body, status] : cases) EXPECT_EQ(post("/queues", body).status, status) << body;
  EXPECT_TRUE(audit.empty());
  EXPECT_NE(post("/queues", cases[2].first).message().find("weight"), std::string::npos)
      << "the nearest known key is named";
}

TEST_F(AdminRoutes, APatchChangesWhatItNamesAndNothingElse) {
  ASSERT_EQ(patch("/queues/q", R"({"guaranteed":{"gpu":"2"},"weight":5})").status, 200);
  const auto answer =
      patch("/queues/q", R"({"maximum":{"gpu":null,"memory":"1Gi"},"strategy":"skip_ahead"})");
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.at("weight"), 5);
  EXPECT_EQ(answer.at("strategy"), "skip_ahead");
  EXPECT_EQ(answer.at("limits").at("gpu"), (json::object{{"guaranteed", "2"}}));
  EXPECT_EQ(answer.at("limits").at("memory"), (json::object{{"maximum", "1Gi"}}));
  EXPECT_EQ(patch("/queues/nobody", "{}").status, 404);
  EXPECT_EQ(patch("/queues/q", R"({"name":"x"})").status, 400);
  EXPECT_EQ(patch("/queues/q", R"({"maximum":{"gpu":"1"}})").status, 400) << "below guaranteed";
  EXPECT_EQ(patch("/queues/q", R"({"maximum":7})").status, 400);
}

TEST_F(AdminRoutes, AQueueIsNotMovedBelowItselfOrIntoAnotherTree) {
  ASSERT_EQ(post("/queues", R"({"name":"child","parent":"q"})").status, 201);
  ASSERT_EQ(post("/queues", R"({"name":"other","tree":"money"})").status, 201);
  EXPECT_EQ(patch("/queues/q", R"({"parent":"child"})").status, 400);
  EXPECT_EQ(patch("/queues/q", R"({"parent":"q"})").status, 400);
  EXPECT_EQ(patch("/queues/q", R"({"parent":"other"})").status, 400);
  ASSERT_EQ(patch("/queues/child", R"({"parent":""})").status, 200);
  EXPECT_EQ(patch("/queues/q", R"({"parent":"child"})").status, 200);
}

TEST_F(AdminRoutes, AQueueWithJobsOrQueuesInItStays) {
  ASSERT_EQ(post("/queues", R"({"name":"child","parent":"q"})").status, 201);
  EXPECT_EQ(remove("/queues/q").status, 409);
  EXPECT_EQ(remove("/queues/child").status, 204);
  EXPECT_EQ(remove("/queues/child").status, 404);
  submit("j", "q");
  EXPECT_EQ(remove("/queues/q").status, 409);
  tell(model::Placed{"j", 1, "a", "", {{0, "n1", "", 0, 0}}});
  EXPECT_EQ(remove("/queues/q").status, 409);
  tell(model::Finished{"j", 1, true});
  EXPECT_EQ(remove("/queues/q").status, 204);
  EXPECT_EQ(audit.back().verb, "delete");
}

TEST_F(AdminRoutes, AQueueStaysForJobsThatStandInNoLine) {
  submit("held", "q", [](model::JobSpec& job) { job.held = true; });
  EXPECT_EQ(remove("/queues/q").status, 409);
  tell(model::JobCancelled{"held"});
  submit("elsewhere", "other");
  submit("depends", "q", [](model::JobSpec& job) { job.depends_on = {"elsewhere"}; });
  EXPECT_EQ(remove("/queues/q").status, 409);
  tell(model::JobCancelled{"depends"});
  submit("later", "q", [this](model::JobSpec& job) { job.start_after = now + hours(1); });
  EXPECT_EQ(remove("/queues/q").status, 409);
  tell(model::JobCancelled{"later"});
  EXPECT_EQ(remove("/queues/q").status, 204);
}

TEST_F(AdminRoutes, AQueueOfAFurtherTreeStaysForJobsThatChargeIt) {
  model::QueueSpec queue;
  queue.name = "apollo";
  queue.tree = "projects";
  tell(model::QueueSet{queue});
  submit("also", "other", [](model::JobSpec& job) { job.extra_queues = {"apollo"}; });
  EXPECT_EQ(remove("/queues/apollo").status, 409);
  tell(model::JobCancelled{"also"});
  EXPECT_EQ(remove("/queues/apollo").status, 204);
}

TEST_F(AdminRoutes, ACordonChangesNothingElseOfTheCluster) {
  const auto answer = post("/clusters/a/cordon");
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.at("admission"), "cordoned");
  EXPECT_EQ(cluster().admission, model::Admission::Cordoned);
  EXPECT_EQ(cluster().grace, minutes(7));
  EXPECT_EQ(cluster().labels.at("site"), "x");
  const std::uint64_t version = world.version;
  EXPECT_EQ(post("/clusters/a/cordon").status, 200);
  EXPECT_EQ(world.version, version) << "nothing to change";
  EXPECT_EQ(post("/clusters/a/drain").at("admission"), "draining");
  EXPECT_EQ(post("/clusters/a/uncordon").at("admission"), "open");
  EXPECT_EQ(post("/clusters/b/drain").status, 404);
  EXPECT_EQ(audit.back().verb, "uncordon");
}

TEST_F(AdminRoutes, AClusterWithJobsTakesNoNewOnesAndLeavesLater) {
  submit("j", "q");
  tell(model::Placed{"j", 1, "a", "", {{0, "n1", "", 0, 0}}});
  const auto answer = remove("/clusters/a");
  ASSERT_EQ(answer.status, 202) << answer.text;
  EXPECT_EQ(answer.at("leaving"), true);
  EXPECT_EQ(answer.at("admission"), "cordoned");
  EXPECT_EQ(answer.at("jobs"), 1);
  EXPECT_TRUE(left.empty());
  EXPECT_EQ(post("/clusters/a/uncordon").status, 409) << "it leaves";
  EXPECT_EQ(remove("/clusters/a?now=true").at("admission"), "draining");
  EXPECT_EQ(audit.back().detail, "now");
  EXPECT_EQ(remove("/clusters/of-the-file").status, 409);
}

TEST_F(AdminRoutes, AClusterWithJobsLeavesAtOnceOnlyByForce) {
  submit("j", "q");
  tell(model::Placed{"j", 1, "a", "", {{0, "n1", "", 0, 0}}});
  EXPECT_EQ(remove("/clusters/a?fourc=true").status, 400);
  EXPECT_TRUE(left.empty());
  EXPECT_EQ(remove("/clusters/a?force=perhaps").status, 400);
  EXPECT_EQ(remove("/clusters/a?force=true").status, 204);
  EXPECT_EQ(left, std::vector<std::string>{"a"});
  EXPECT_EQ(remove("/clusters/a?force=true").status, 404);
}

TEST_F(AdminRoutes, AClusterJoins) {
  const auto answer =
      post("/clusters", R"({"name":"sim","type":"simulated","nodes":[{"count":2}],"grace":"1m"})");
  ASSERT_EQ(answer.status, 201) << answer.text;
  EXPECT_EQ(answer.at("name"), "sim");
  EXPECT_EQ(joined, std::vector<std::string>{"sim"});
  EXPECT_EQ(world.fleet.cluster(world.fleet.find_cluster("sim")).spec.grace, minutes(1));
  EXPECT_EQ(post("/clusters", R"({"name":"a","type":"simulated","nodes":[{}]})").status, 409);
  for (const std::string bad : {R"({"name":"b","type":"moon"})", R"({"name":"b","tipe":"local"})",
                                "", "7", R"({"name":"b"}], "queues": [{"name":"z"})"})
    EXPECT_EQ(post("/clusters", bad).status, 400) << bad;
  EXPECT_EQ(joined.size(), 1u);
}

constexpr const char* kubernetes_cluster =
    R"({"name":"k","type":"kubernetes","namespace":"n","kubeconfig_inline":
"{clusters: [{name: k, cluster: {server: 'https://h'}}], current-context: c, contexts: [{name: c,)"
    R"( context: {cluster: k, user: u}}], users: [{name: u, user: {token: s3cret}}]}"})";

TEST_F(AdminRoutes, WhatIsFoundOfAClusterIsSaidBeforeItIsJoined) {
  check = {.version = "v1.34.4",
           .user = "jane",
           .missing = {"create jobs.batch in namespace n"},
           .wanted = {"get pods/log in namespace n"},
           .rbac = "kind: Role"};
  const auto answer = post("/clusters/check", kubernetes_cluster);
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.at("reachable"), true);
  EXPECT_EQ(answer.at("reason"), nullptr);
  EXPECT_EQ(answer.at("user"), "jane");
  EXPECT_EQ(answer.at("missing"), (json::array{"create jobs.batch in namespace n"}));
  EXPECT_EQ(answer.at("rbac"), "kind: Role");
  EXPECT_TRUE(joined.empty());
  EXPECT_TRUE(audit.empty());
}

TEST_F(AdminRoutes, TheCheckOfAClusterMayBeForListsOfObjects) {
  ASSERT_EQ(post("/clusters/check", kubernetes_cluster).status, 200);
  EXPECT_FALSE(asked_use.has_objects);
  EXPECT_TRUE(asked_use.kinds.empty());
  ASSERT_EQ(post("/clusters/check?objects=true&kinds=Job,x.example.com", kubernetes_cluster).status,
            200);
  EXPECT_TRUE(asked_use.has_objects);
  EXPECT_EQ(asked_use.kinds, (std::vector<std::string>{"Job", "x.example.com"}));
  EXPECT_EQ(post("/clusters/check?objects=perhaps", kubernetes_cluster).status, 400);
}

TEST_F(AdminRoutes, AClusterThatCannotBeUsedIsJoinedOnlyUnchecked) {
  check.missing = {"create jobs.batch in namespace n"};
  const auto refused = post("/clusters", kubernetes_cluster);
  EXPECT_EQ(refused.status, 409);
  EXPECT_NE(refused.message().find("create jobs.batch"), std::string::npos);
  check = {.problem = "connection refused"};
  EXPECT_NE(post("/clusters", kubernetes_cluster).message().find("connection refused"),
            std::string::npos);
  EXPECT_TRUE(joined.empty());
  const auto answer = post("/clusters?unchecked=true", kubernetes_cluster);
  ASSERT_EQ(answer.status, 201) << answer.text;
  EXPECT_EQ(joined, std::vector<std::string>{"k"});
  EXPECT_EQ(answer.text.find("s3cret"), std::string::npos);
  for (const ports::AuditRow& row : audit) EXPECT_EQ(row.detail.find("s3cret"), std::string::npos);
}

TEST_F(AdminRoutes, AClusterThatIsJoinedIsNotJoinedAgainUnderAnotherName) {
  check.same_as = "east";
  for (const std::string how : {"", "?unchecked=true"}) {
    const auto refused = post("/clusters" + how, kubernetes_cluster);
    EXPECT_EQ(refused.status, 409);
    EXPECT_NE(refused.message().find("is joined as east (its namespace kube-system has the same"),
              std::string::npos);
  }
  check.is_same_address = true;
  EXPECT_NE(post("/clusters", kubernetes_cluster).message().find("the same address"),
            std::string::npos);
  check.same_as = "";
  notes["k"] = {};
  EXPECT_EQ(post("/clusters", kubernetes_cluster).status, 409);
  EXPECT_TRUE(joined.empty());
}

TEST_F(AdminRoutes, AKubeconfigIsSentAndNotNamed) {
  const auto refused =
      post("/clusters", R"({"name":"k","type":"kubernetes","kubeconfig":"/etc/passwd"})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.message().find("kubeconfig_inline"), std::string::npos);
  EXPECT_EQ(post("/clusters", R"({"name":"k","type":"kubernetes","kubeconfig_secret":
                     {"cluster":"k2","namespace":"n","name":"s"}})")
                .status,
            400);
  EXPECT_EQ(post("/clusters", R"({"name":"k","type":"kubernetes","in_cluster":true})").status, 400);
}

TEST_F(AdminRoutes, ATokenIsShownOnceAndWorksUntilRevoked) {
  const auto made = post("/tokens", R"({"name":"ci","user":"bob","expires_ms":99999999})");
  ASSERT_EQ(made.status, 201) << made.text;
  const auto secret = json::value_to<std::string>(made.at("token"));
  EXPECT_EQ(made.headers.get("Cache-Control"), "no-store");
  EXPECT_EQ(made.at("user"), "bob");
  EXPECT_EQ(made.at("expires_ms"), 99999999);
  EXPECT_EQ(tokens->user_of(secret, now), "bob");
  const auto list = get("/tokens");
  ASSERT_EQ(list.at("tokens").as_array().size(), 1u);
  EXPECT_FALSE(list.at("tokens").as_array()[0].as_object().contains("token"));
  EXPECT_EQ(list.text.find(secret), std::string::npos);
  EXPECT_EQ(list.at("tokens").as_array()[0].at("last_used_ms"), now.ms);
  const auto id = json::value_to<std::string>(made.at("id"));
  EXPECT_EQ(remove("/tokens/" + id).status, 204);
  EXPECT_EQ(tokens->user_of(secret, now), std::nullopt);
  EXPECT_EQ(remove("/tokens/" + id).status, 404);
  turn();
  ASSERT_EQ(audit.size(), 2u);
  EXPECT_EQ(audit[0].verb, "create");
  EXPECT_EQ(audit[0].object, "token/" + id);
  EXPECT_EQ(audit[1].verb, "revoke");
  for (const ports::AuditRow& row : audit) EXPECT_EQ(row.detail.find(secret), std::string::npos);
}

TEST_F(AdminRoutes, ATokenIsTheCallersUnlessSaidOtherwise) {
  EXPECT_EQ(post("/tokens", R"({"name":"mine"})").at("user"), "ann");
  EXPECT_EQ(post("/tokens", R"({"name":"mine"})").status, 409);
  for (const std::string bad :
       {"", "[]", "{}", R"({"name":7})", R"({"name":"a b"})", R"({"name":"x","role":"y"})",
        R"({"name":"x","expires_ms":"1"})", R"({"name":"x","expires_ms":1})"})
    EXPECT_EQ(post("/tokens", bad).status, 400) << bad;
  busy = true;
  EXPECT_EQ(post("/tokens", R"({"name":"x"})").status, 429);
}

TEST_F(AdminRoutes, AConfigurationIsShownWithItsDefaults) {
  const auto answer = get("/config");
  EXPECT_EQ(answer.at("path"), "m.yaml");
  EXPECT_EQ(answer.at("loaded_ms"), 5);
  EXPECT_NE(answer.at("yaml").as_string().find("reservation_depth"), std::string::npos);
}

TEST_F(AdminRoutes, APreviewSaysWhoseJobsAreAffected) {
  submit("waits", "q");
  submit("runs", "q");
  tell(model::Placed{"runs", 1, "a", "", {{0, "n1", "", 0, 0}}});
  const auto answer = post("/config/check", R"({"yaml":"queues: [{name: q, weight: 2}]"})");
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.at("ok"), true);
  EXPECT_EQ(answer.at("applied"), false);
  EXPECT_EQ(answer.at("queues"), (json::array{"q"}));
  EXPECT_EQ(answer.at("jobs_affected"), 2);
  EXPECT_EQ(answer.at("users_affected"), (json::array{"bob"}));
  ASSERT_EQ(answer.at("changes").as_array().size(), 1u);
  const auto wrong = post("/config/check", R"({"yaml":"quues: []"})");
  EXPECT_EQ(wrong.at("ok"), false);
  EXPECT_EQ(wrong.at("problems").as_array()[0].at("severity"), "error");
  EXPECT_EQ(post("/config/check", "{}").status, 400);
  EXPECT_EQ(world.quota[world.quota.find("q")].weight, 1u);
}

TEST_F(AdminRoutes, WhoWaitsWithoutStandingInALineIsAffectedToo) {
  ASSERT_EQ(post("/queues", R"({"name":"below","parent":"q"})").status, 201);
  submit("waits", "q", [](model::JobSpec& job) { job.user = "ada"; });
  submit("is_below", "below", [](model::JobSpec& job) { job.user = "cyd"; });
  submit("held", "q", [](model::JobSpec& job) {
    job.user = "dan";
    job.held = true;
  });
  submit("depends", "q", [](model::JobSpec& job) {
    job.user = "eve";
    job.depends_on = {"waits"};
  });
  submit("later", "q", [this](model::JobSpec& job) {
    job.user = "fay";
    job.start_after = now + hours(1);
  });
  submit("of_another", "other", [](model::JobSpec& job) { job.user = "zoe"; });
  const auto answer = post("/config/check", R"({"yaml":"queues: [{name: q, weight: 2}]"})");
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.at("jobs_affected"), 5);
  EXPECT_EQ(answer.at("users_affected"), (json::array{"ada", "cyd", "dan", "eve", "fay"}));
}

TEST_F(AdminRoutes, WhoIsSentToAClusterOrAPoolThatChangesIsAffected) {
  config = std::make_shared<config::Config>(
      config::check("queues: [{name: q}]\n"
                    "clusters: [{name: a, type: simulated, nodes: [{}]}]\n"
                    "pools: [{name: p, cluster: a}, {name: r, cluster: a}]\n"
                    "fleet_pools: [{name: f, pools: [p, r]}]")
          .config);
  tell(model::PoolSet{{"p", "a", {}, {}}});
  tell(model::PoolSet{{"r", "a", {}, {}}});
  tell(model::FleetPoolSet{{"f", {"p", "r"}}});
  const auto as = [](std::string user, std::vector<std::string> clusters, std::string pool) {
    return [=](model::JobSpec& job) {
      job.user = user;
      job.gang.clusters = clusters;
      job.gang.pool = pool;
    };
  };
  submit("free", "q", as("zoe", {}, ""));
  submit("pinned", "q", as("ada", {"a", "b"}, ""));
  submit("of_p", "q", as("bob", {}, "p"));
  submit("of_r", "q", as("cyd", {}, "r"));
  submit("of_f", "q", as("dan", {}, "f"));
  submit("runs", "q", as("eve", {"a"}, ""));
  tell(model::Placed{"runs", 1, "a", "", {{0, "n1", "", 0, 0}}});
  const auto users = [this](const std::string& clusters, const std::string& pools) {
    const json::object body{{"yaml", "queues: [{name: q}]\n" + clusters + pools}};
    return post("/config/check", json::serialize(body)).at("users_affected");
  };
  const std::string a = "clusters: [{name: a, type: simulated, nodes: [{}]}]\n";
  const std::string more = "clusters: [{name: a, type: simulated, nodes: [{count: 2}]}]\n";
  const std::string all =
      "pools: [{name: p, cluster: a}, {name: r, cluster: a}]\n"
      "fleet_pools: [{name: f, pools: [p, r]}]\n";
  EXPECT_EQ(users(a, all), json::array{});
  EXPECT_EQ(users(more, all), (json::array{"ada", "bob", "cyd", "dan", "eve"}));
  EXPECT_EQ(users("", ""), (json::array{"ada", "bob", "cyd", "dan", "eve"}));
  EXPECT_EQ(users(a,
                  "pools: [{name: p, cluster: a, node_selector: {x: y}}, {name: r, cluster: a}]\n"
                  "fleet_pools: [{name: f, pools: [p, r]}]\n"),
            (json::array{"bob", "dan"}));
  EXPECT_EQ(users(a, "pools: [{name: p, cluster: a}, {name: r, cluster: a}]\n"),
            (json::array{"dan"}));
}

TEST_F(AdminRoutes, AReloadChangesTheBooksAndKeepsACordon) {
  file = "queues: [{name: q, weight: 3}]\nclusters: [{name: a, type: simulated, nodes: [{}]}]";
  ASSERT_EQ(post("/clusters/a/cordon").status, 200);
  EXPECT_EQ(post("/config/reload?dry_run=true").at("applied"), false);
  EXPECT_EQ(post("/config/reload?preview=true").status, 400);  // not taken for a plain reload
  EXPECT_EQ(world.quota[world.quota.find("q")].weight, 1u);
  const auto answer = post("/config/reload");
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.at("applied"), true);
  EXPECT_EQ(world.quota[world.quota.find("q")].weight, 3u);
  EXPECT_EQ(cluster().admission, model::Admission::Cordoned);
  EXPECT_EQ(audit.back().verb, "reload");
  file = "queues: 7";
  EXPECT_EQ(post("/config/reload").status, 400);
}

TEST_F(AdminRoutes, WhatTheRunningServerMayNotTakeOverDoesNotReachTheBooks) {
  objection = "listen: can be reached from other machines";
  EXPECT_EQ(post("/config/reload?dry_run=true").at("ok"), false);
  const auto refused = post("/config/reload");
  EXPECT_EQ(refused.status, 400) << refused.text;
  EXPECT_NE(refused.text.find(objection), std::string::npos) << refused.text;
  EXPECT_EQ(world.quota[world.quota.find("q")].weight, 1u);
  EXPECT_TRUE(audit.empty());
}

TEST_F(AdminRoutes, WhileTheStoreRefusesChangesAreToldToComeAgain) {
  requests.set_store_refusal(Error{Fault::Unavailable, "the disk is full"});
  const auto answer = post("/clusters/a/cordon");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.headers.get("Retry-After"), "1");
  EXPECT_NE(answer.text.find("the disk is full"), std::string::npos) << answer.text;
  EXPECT_EQ(cluster().admission, model::Admission::Open);
  requests.close();
  EXPECT_EQ(post("/clusters/a/cordon").status, 503);
}

}  // namespace
}  // namespace muster::api
