#include "api/rest/read_routes.h"

#include <gtest/gtest.h>

#include "api/testing/desk.h"

namespace muster::api {
namespace {

namespace json = boost::json;

/// Cluster a with two nodes of eight GPUs. "runs" holds both, "waits" wants one, "held" is held.
struct ReadRoutes : ::testing::Test, testing::Desk {
  PlacementScores scores{2};
  std::shared_ptr<config::Config> config = std::make_shared<config::Config>();
  view::ClusterNotes notes{{"a", {.type = "local"}}};
  ReadParts parts{reads,
                  scores,
                  [this] { return config; },
                  [this](const std::string& id, std::function<void(Result<std::string>)> then) {
                    if (world.find_job(id).is_none() && id != "forgotten") {
                      then(Error{Fault::NotFound, "job: there is no job " + id});
                    } else {
                      then(fmt::format(R"({{"id":"{}"}})", id));
                    }
                  },
                  [this] { return now; },
                  [this] { return notes; }};

  ReadRoutes() {
    config->clusters.push_back({});
    config->clusters[0].name = "a";
    config->pools.push_back({"all", "a", {}, {}});
    config->fleet_pools.push_back({"wide", {"all"}});
    tell(model::ClusterSet{{"a", {}, {}, minutes(5)}});
    for (const std::string name : {"n1", "n2"}) {
      model::NodeSpec node;
      node.name = name;
      node.allocatable.cpu = {64'000};
      node.allocatable.memory = {std::int64_t{1} << 38};
      node.gpu_count = 8;
      node.gpu_type = "A100";
      tell(model::NodeSeen{"a", node});
    }
    tell(model::PoolSet{{"all", "a", {}, {}}});
    tell(model::FleetPoolSet{{"wide", {"all"}}});
    model::QueueSpec queue;
    queue.name = "q";
    queue.limits["gpu"].maximum = 64'000;
    tell(model::QueueSet{queue});
    submit("runs", 2);
    plan();
    submit("waits", 1);
    submit("held", 1);
    tell(model::JobHeld{"held"});
    plan();
    add_read_routes(router, parts);
  }
  void submit(const std::string& id, int pods) {
    model::JobSpec job;
    job.id = id;
    job.user = "ann";
    job.queue = "q";
    job.run_limit = hours(2);
    model::PodSet set;
    set.count = pods;
    set.pod.requests.cpu = {1000};
    set.pod.gpu.count = 8;
    job.gang.sets.push_back(set);
    tell(model::JobSubmitted{job, world.job_count() + 1});
  }
  void plan() {
    const sched::Plan made = sched::plan(world, agenda, policy, now);
    scores.remember(made.scores);
    for (const model::Decision& decision : made.decisions) {
      tell(model::to_event(decision));
      if (const auto* placed = std::get_if<model::Placed>(&decision))
        tell(model::Started{placed->job, placed->attempt});
    }
  }
};

TEST_F(ReadRoutes, AWaitingJobIsExplained) {
  const auto answer = get("/jobs/waits/explain");
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.at("job").at("id"), "waits");
  EXPECT_TRUE(answer.at("verdict").is_object());
  EXPECT_FALSE(answer.at("verdict").at("text").as_string().empty());
  EXPECT_EQ(answer.at("estimate").at("expected_ms"), (now + hours(2)).ms);
  ASSERT_FALSE(answer.at("changes").as_array().empty());
  EXPECT_NE(answer.at("text").as_string().find("waits is waiting"), std::string::npos);
}

TEST_F(ReadRoutes, ARunningJobShowsTheTableThatPlacedIt) {
  const auto answer = get("/jobs/runs/explain");
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_TRUE(answer.at("verdict").is_null());
  ASSERT_EQ(answer.at("scores").as_array().size(), 1u);
  EXPECT_EQ(answer.at("scores").as_array()[0].at("cluster"), "a");
}

TEST_F(ReadRoutes, HeldForgottenAndUnknownJobsAreExplainedToo) {
  const auto held = get("/jobs/held/explain");
  EXPECT_EQ(held.at("verdict").at("kind"), "on-hold");
  EXPECT_TRUE(held.at("estimate").is_null());
  const auto forgotten = get("/jobs/forgotten/explain");
  EXPECT_EQ(forgotten.status, 200);
  EXPECT_TRUE(forgotten.at("verdict").is_null());
  EXPECT_EQ(get("/jobs/nobody/explain").status, 404);
}

TEST_F(ReadRoutes, QuestionsLeaveTheWorldAsItWas) {
  const std::uint64_t before = world.hash();
  for (const std::string path : {"/jobs/waits/explain", "/jobs/waits/when", "/queues", "/clusters",
                                 "/nodes", "/pools", "/queues/q/usage"})
    EXPECT_EQ(get(path).status, 200) << path;
  EXPECT_EQ(post("/whatif/job", R"({"queue":"q","command":["x"],"gpus":1})").status, 200);
  EXPECT_EQ(post("/whatif/queue", R"({"queue":"q","extra":"8"})").status, 200);
  EXPECT_EQ(world.hash(), before);
}

TEST_F(ReadRoutes, When) {
  const auto waits = get("/jobs/waits/when");
  EXPECT_EQ(waits.at("estimate").at("expected_ms"), (now + hours(2)).ms);
  const auto runs = get("/jobs/runs/when");
  EXPECT_TRUE(runs.at("estimate").is_null());
  EXPECT_EQ(runs.at("state"), "Running");
  EXPECT_EQ(get("/jobs/nobody/when").status, 404);
}

TEST_F(ReadRoutes, AJobIsTriedWithoutBeingSubmitted) {
  const auto no = post("/whatif/job", R"({"queue":"q","command":["x"],"gpus":8})");
  ASSERT_EQ(no.status, 200) << no.text;
  EXPECT_EQ(no.at("starts_now"), false);
  EXPECT_TRUE(no.at("verdict").is_object());
  const auto yes = post("/whatif/job", R"({"queue":"q","command":["x"],"cpu":1})");
  ASSERT_EQ(yes.status, 200) << yes.text;
  EXPECT_EQ(yes.at("starts_now"), true);
  EXPECT_EQ(yes.at("cluster"), "a");
}

TEST_F(ReadRoutes, AJobThatIsNoneIsRefusedWithItsProblems) {
  const auto wrong = post("/whatif/job", R"({"quee":"q","command":["x"]})");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_FALSE(wrong.at("error").at("problems").as_array().empty());
  EXPECT_EQ(post("/whatif/job", "{").status, 400);
  EXPECT_EQ(post("/whatif/job", R"([{"command":["x"]},{"command":["x"]}])").status, 400);
  EXPECT_EQ(post("/whatif/job", std::string(300'000, ' ')).status, 413);
}

TEST_F(ReadRoutes, WhatMoreQuotaWouldDo) {
  const auto answer = post("/whatif/queue", R"({"queue":"q","extra":"8"})");
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.at("count"), 0);  // there is no room, whatever the quota
  const std::vector<std::pair<std::string, int>> wrong = {
      {R"({"queue":"nobody","extra":"8"})", 404},
      {R"({"queue":"q"})", 400},
      {R"({"queue":"q","extra":8})", 400},
      {R"({"queue":"q","extra":"x"})", 400},
      {R"({"queue":"q","extra":"0"})", 400},
      {R"({"queue":"q","extra":"1","more":1})", 400},
      {"[]", 400},
      {"", 400},
  };
  for (const auto& [body, status] : wrong)
    EXPECT_EQ(post("/whatif/queue", body).status, status) << body;
}

TEST_F(ReadRoutes, QueuesClustersNodesAndPools) {
  EXPECT_EQ(get("/queues").at("queues").as_array().size(), 1u);
  EXPECT_EQ(get("/queues/q").at("waiting"), 1);
  EXPECT_EQ(get("/queues/q").at("running"), 1);
  EXPECT_EQ(get("/queues/q").at("use").at("gpu"), "16");
  EXPECT_EQ(get("/queues/q/usage").at("capacity").at("gpu"), "16");
  EXPECT_EQ(get("/queues/nobody").status, 404);
  EXPECT_EQ(get("/clusters").at("clusters").as_array().size(), 1u);
  EXPECT_EQ(get("/clusters/a").at("type"), "local");
  EXPECT_EQ(get("/clusters/a").at("health_since_ms"), now.ms) << "ready since it joined";
  EXPECT_EQ(get("/clusters/b").status, 404);
  const auto first = get("/nodes?limit=1");
  ASSERT_EQ(first.at("nodes").as_array().size(), 1u);
  const auto second = get("/nodes?limit=1&cursor=a%2Fn1");
  EXPECT_EQ(second.at("nodes").as_array()[0].at("name"), "n2");
  EXPECT_TRUE(second.at("next").is_null());
  EXPECT_EQ(get("/nodes?limit=0").status, 400);
  EXPECT_EQ(get("/nodes?pool=nobody").status, 404);
  EXPECT_EQ(get("/nodes/a/n1").at("jobs"), (json::array{"runs"}));
  EXPECT_EQ(get("/nodes/a/n9").status, 404);
  EXPECT_EQ(get("/pools").at("pools").as_array()[0].at("nodes"), 2);
  EXPECT_EQ(get("/pools/all").at("cluster"), "a");
  EXPECT_EQ(get("/pools/wide").status, 404);
  EXPECT_EQ(get("/fleet-pools").at("fleet_pools").as_array()[0].at("name"), "wide");
  EXPECT_EQ(get("/fleet-pools/wide").at("nodes"), 2);
}

TEST_F(ReadRoutes, WhenTooManyAskOneIsToldToComeAgain) {
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(reads.put({[](sched::World&, sched::Agenda&, const sched::Policy&,
                              Time) -> Result<std::string> { return std::string(); },
                           [](const Result<std::string>&) {}}));
  const auto refused = get("/queues");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.get("Retry-After"), "1");
  turn();
  EXPECT_EQ(get("/queues").status, 200);
}

TEST_F(ReadRoutes, AClusterThatCannotBeReachedSaysWhyAndListsWarnOfIt) {
  EXPECT_EQ(get("/clusters").at("warnings"), json::array());
  EXPECT_EQ(get("/clusters/a").at("reason"), nullptr);
  tell(model::ClusterHealth{"a", model::Health::Unreachable});
  now = now + minutes(3);
  notes["a"].problem = "connection refused";
  EXPECT_EQ(get("/clusters/a").at("reason"), "connection refused");
  EXPECT_EQ(get("/clusters").at("clusters").as_array()[0].at("reason"), "connection refused");
  for (const std::string list : {"/clusters", "/nodes", "/pools", "/fleet-pools"}) {
    const auto warnings = get(list).at("warnings").as_array();
    ASSERT_EQ(warnings.size(), 1u) << list;
    EXPECT_EQ(warnings[0],
              "cluster a cannot be reached since 3m: connection refused; what is shown of it was "
              "seen before");
  }
}

TEST(PlacementScoresTest, TheNewestAreKept) {
  sched::World world;
  sched::apply(world, {Time{0}, model::ClusterSet{{"a", {}, {}, minutes(5)}}}, {});
  const auto table = [](const std::string& job, std::int64_t total) {
    sched::ClusterScore row;
    row.cluster = sched::ClusterId{0};
    row.total = total;
    return std::vector<sched::PlacementScore>{{job, {row}}};
  };
  PlacementScores scores(2);
  scores.remember(table("a", 1));
  scores.remember(table("a", 2));
  scores.remember(table("b", 3));  // pushes out the first table of a, not its second
  ASSERT_EQ(scores.of(world, "a").size(), 1u);
  EXPECT_EQ(scores.of(world, "a")[0].total, 2);
  scores.remember(table("c", 4));
  EXPECT_TRUE(scores.of(world, "a").empty());
  EXPECT_EQ(scores.size(), 2u);
  EXPECT_TRUE(scores.of(sched::World(), "c").empty()) << "that world has no such cluster";
}

}  // namespace
}  // namespace muster::api
