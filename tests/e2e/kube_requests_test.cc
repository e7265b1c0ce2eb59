// Requests of src/kube to a real API server: what comes back is what the server means.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <set>

#include "kube/access_review.h"
#include "kube/discovery.h"
#include "kube/lease.h"
#include "kube/list.h"
#include "tests/e2e/kube_cluster.h"

namespace muster::e2e {
namespace {

using kube::Patch;
using ::testing::HasSubstr;

class KubeRequests : public Cluster {};

TEST_F(KubeRequests, AListInPagesHasEverythingOnce) {
  for (int i = 0; i < 25; ++i) create_config_map(fmt::format("m-{:02}", i));
  const auto first =
      client->send(kube::list_request(kube::resources::config_maps(), ns, {.limit = 7}));
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(kube::items_at(*first, {"items"}).size(), 7U);
  EXPECT_FALSE(kube::text_at(*first, {"metadata", "continue"}).empty());
  const auto all =
      kube::list_all(*client, kube::resources::config_maps(), ns,
                     {.field_selector = "metadata.name!=kube-root-ca.crt", .limit = 7});
  ASSERT_TRUE(all.ok());
  std::set<std::string> names;
  for (const json::value& item : all->items) names.emplace(kube::name_of(item));
  EXPECT_EQ(all->items.size(), 25U);
  EXPECT_EQ(names.size(), 25U);
}

TEST_F(KubeRequests, RefusalsAreTyped) {
  create_config_map("a");
  const auto again =
      client->send(kube::create_request(kube::resources::config_maps(), ns, config_map("a")));
  ASSERT_FALSE(again.ok());
  EXPECT_TRUE(again.error().is_already_exists());
  EXPECT_EQ(again.error().name, "a");
  const auto none = client->send(kube::get_request(kube::resources::config_maps(), ns, "none"));
  ASSERT_FALSE(none.ok());
  EXPECT_TRUE(none.error().is_not_found());
  EXPECT_EQ(none.error().reason, "NotFound");
  const auto wrong = client->send(
      kube::create_request(kube::resources::config_maps(), ns, config_map("Not_A_Name")));
  ASSERT_FALSE(wrong.ok());
  EXPECT_TRUE(wrong.error().is_invalid());
  ASSERT_FALSE(wrong.error().causes.empty());
  EXPECT_EQ(wrong.error().causes[0].field, "metadata.name");
}

TEST_F(KubeRequests, AllThreeKindsOfPatchesAreTaken) {
  create_config_map("a");
  const auto patch = [&](Patch kind, std::string_view text) {
    const auto done = client->send(
        kube::patch_request(kube::resources::config_maps(), ns, "a", kind, json::parse(text)));
    EXPECT_TRUE(done.ok()) << done.error().message;
    return done ? std::string(kube::text_at(*done, {"data", "key"})) : "";
  };
  EXPECT_EQ(patch(Patch::Merge, R"({"data":{"key":"2"}})"), "2");
  EXPECT_EQ(patch(Patch::Json, R"([{"op":"replace","path":"/data/key","value":"3"}])"), "3");
  EXPECT_EQ(patch(Patch::Strategic, R"({"data":{"key":"4"}})"), "4");
}

TEST_F(KubeRequests, AnOldStateCannotReplaceANewerOne) {
  const json::value old = create_config_map("a");
  json::value newer = old;
  kube::set_at(newer, {"data", "key"}, "2");
  ASSERT_TRUE(
      client->send(kube::replace_request(kube::resources::config_maps(), ns, "a", newer)).ok());
  const auto late =
      client->send(kube::replace_request(kube::resources::config_maps(), ns, "a", old));
  ASSERT_FALSE(late.ok());
  EXPECT_TRUE(late.error().is_conflict());
}

TEST_F(KubeRequests, ServerSideApplyNamesTheFieldOfAnother) {
  const auto resource = kube::resources::config_maps();
  ASSERT_TRUE(client->send(kube::apply_request(resource, config_map("a", "1"), "first")).ok());
  const auto second = client->send(kube::apply_request(resource, config_map("a", "2"), "second"));
  ASSERT_FALSE(second.ok());
  EXPECT_TRUE(second.error().is_conflict());
  EXPECT_TRUE(second.error().has_cause("FieldManagerConflict"));
  ASSERT_FALSE(second.error().causes.empty());
  EXPECT_EQ(second.error().causes[0].field, ".data.key");
  const auto forced =
      client->send(kube::apply_request(resource, config_map("a", "2"), "second", true));
  ASSERT_TRUE(forced.ok()) << forced.error().message;
  EXPECT_EQ(kube::text_at(*forced, {"data", "key"}), "2");
}

TEST_F(KubeRequests, ADeleteMeansThisVeryObject) {
  const json::value made = create_config_map("a");
  const auto resource = kube::resources::config_maps();
  const auto other = client->send(kube::delete_request(resource, ns, "a", {.uid = "another"}));
  ASSERT_FALSE(other.ok());
  EXPECT_TRUE(other.error().is_conflict());
  const auto old = client->send(kube::delete_request(resource, ns, "a", {.resource_version = "1"}));
  ASSERT_FALSE(old.ok());
  EXPECT_TRUE(old.error().is_conflict());
  const auto done = client->send(kube::delete_request(
      resource, ns, "a", {.uid = std::string(kube::uid_of(made)), .propagation = "Background"}));
  EXPECT_TRUE(done.ok()) << done.error().message;
}

TEST_F(KubeRequests, DiscoveryKnowsBuiltInKinds) {
  kube::RestMapper mapper(*client);
  const auto job = mapper.find("batch/v1", "Job");
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(job->plural, "jobs");
  EXPECT_TRUE(job->is_namespaced);
  EXPECT_TRUE(job->has_verb("watch"));
  EXPECT_TRUE(job->has_subresource("status"));
  const auto known = mapper.known();
  for (const char* name : {"po", "pods", "Pod", "pod"}) {
    ASSERT_NE(known->of_name(name), nullptr) << name;
    EXPECT_EQ(known->of_name(name)->plural, "pods");
  }
  EXPECT_EQ(known->of_name("deploy")->api_version(), "apps/v1");
  EXPECT_EQ(known->of_name("jobs.batch")->kind, "Job");
  EXPECT_FALSE(known->of_kind("v1", "Node")->is_namespaced);
}

TEST_F(KubeRequests, ACrdThatIsNewIsFoundAndItsObjectsAreUsed) {
  kube::RestMapper mapper(*client, milliseconds(200));
  const auto unknown = mapper.find("test.muster.dev/v1", "Gang");
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message, HasSubstr("is its CRD installed?"));
  const auto crd = json::parse(R"({"apiVersion":"apiextensions.k8s.io/v1",
    "kind":"CustomResourceDefinition","metadata":{"name":"gangs.test.muster.dev"},
    "spec":{"group":"test.muster.dev","scope":"Namespaced",
      "names":{"kind":"Gang","plural":"gangs","singular":"gang"},
      "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":
        {"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})");
  const auto made =
      client->send(kube::create_request(kube::resources::custom_resource_definitions(), "", crd));
  ASSERT_TRUE(made.ok()) << made.error().message;
  auto found = mapper.find("test.muster.dev/v1", "Gang");
  for (int tries = 0; !found && tries < 50; ++tries) {
    found = mapper.find("test.muster.dev/v1", "Gang");
  }
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->plural, "gangs");
  const auto gang =
      json::parse(R"({"apiVersion":"test.muster.dev/v1","kind":"Gang","metadata":{"name":"g"},)"
                  R"("spec":{"a":1}})");
  EXPECT_TRUE(client->send(kube::create_request(*found, ns, gang)).ok());
  const auto got = client->send(kube::get_request(*found, ns, "g"));
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(kube::integer_at(*got, {"spec", "a"}), 1);
}

TEST_F(KubeRequests, ALeaseHasOneHolderAndIsPassedOn) {
  kube::Lease first(*client, {.ns = ns, .name = "lead", .identity = "a", .duration = seconds(2)});
  kube::Lease second(*client, {.ns = ns, .name = "lead", .identity = "b", .duration = seconds(2)});
  const auto attempt = [](kube::Lease& lease, std::int64_t ms) {
    return lease.try_once(Time{ms}, Time{1'800'000'000'000 + ms});
  };
  auto view = attempt(first, 0);
  ASSERT_TRUE(view.ok()) << view.error().message;
  EXPECT_TRUE(view->is_held);
  view = attempt(second, 0);
  ASSERT_TRUE(view.ok());
  EXPECT_FALSE(view->is_held);
  EXPECT_EQ(view->holder, "a");
  EXPECT_TRUE(attempt(first, 1000)->is_held) << "renewed";
  EXPECT_FALSE(attempt(second, 1900)->is_held);
  EXPECT_FALSE(attempt(second, 3800)->is_held) << "seen renewed at 1900";
  view = attempt(second, 3901);
  EXPECT_TRUE(view->is_held) << "unchanged for its whole duration";
  EXPECT_EQ(view->transitions, 1);
  EXPECT_FALSE(attempt(first, 3902)->is_held);
  EXPECT_TRUE(second.release().ok());
  EXPECT_TRUE(attempt(first, 3903)->is_held) << "given up: nobody waits";
}

TEST_F(KubeRequests, PermissionsThatAreMissingAreListed) {
  const std::vector<kube::Permission> wanted = {
      {.verb = "create", .group = "batch", .resource = "jobs", .ns = ns},
      {.verb = "list", .resource = "nodes"}};
  auto missing = kube::missing_permissions(*client, wanted);
  ASSERT_TRUE(missing.ok()) << missing.error().message;
  EXPECT_TRUE(missing->empty());
  kube::Access nobody = admin();
  nobody.user = {.token = "token-of-nobody"};
  const auto stranger = connect(nobody);
  missing = kube::missing_permissions(*stranger, wanted);
  ASSERT_TRUE(missing.ok()) << missing.error().message;
  EXPECT_EQ(*missing, wanted);
  EXPECT_EQ(missing->front().to_text(), "create jobs.batch in namespace " + ns);
}

TEST_F(KubeRequests, ManyCreatesAtOnceAreAllMadeOnce) {
  constexpr int count = 300;
  std::promise<void> all_done;
  std::atomic<int> left = count;
  std::atomic<int> failed = 0;
  for (int i = 0; i < count; ++i) {
    client->send_later(kube::create_request(kube::resources::config_maps(), ns,
                                            config_map(fmt::format("many-{}", i))),
                       [&](const kube::Reply<json::value>& reply) {
                         if (!reply) ++failed;
                         if (--left == 0) all_done.set_value();
                       });
  }
  all_done.get_future().wait();
  EXPECT_EQ(failed, 0);
  const auto all = kube::list_all(*client, kube::resources::config_maps(), ns, {.limit = 100});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(std::count_if(
                all->items.begin(), all->items.end(),
                [](const json::value& item) { return kube::name_of(item).starts_with("many-"); }),
            count);
}

TEST_F(KubeRequests, APodOnANodeOfKwokRuns) {
  const auto pod = json::parse(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},
    "spec":{"nodeName":"node-0","containers":[{"name":"c","image":"none","resources":
      {"limits":{"nvidia.com/gpu":"1"}}}]}})");
  const auto made = client->send(kube::create_request(kube::resources::pods(), ns, pod));
  ASSERT_TRUE(made.ok()) << made.error().message;
  std::string phase;
  kube::ApiRequest watch = kube::watch_request(
      kube::resources::pods(), ns,
      {.resource_version = std::string(kube::version_of(*made)), .timeout = seconds(60)});
  std::string bytes;
  const auto end = client->stream(watch, [&](std::string_view piece) {
    bytes += piece;
    return bytes.find(R"("phase":"Running")") == std::string::npos;
  });
  EXPECT_TRUE(end.ok());
  EXPECT_THAT(bytes, HasSubstr(R"("phase":"Running")"));
}

}  // namespace
}  // namespace muster::e2e
