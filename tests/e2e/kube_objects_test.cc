// What jobs become in a real Kubernetes, and what becomes of them: lists of objects, quotas, names
// that are taken, servers side by side.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <boost/json/serialize.hpp>
#include <chrono>
#include <thread>

#include "tests/e2e/kube_desk.h"

namespace muster::e2e {
namespace {

using ::testing::HasSubstr;

TEST_F(Objects, AJobAndItsConfigRunAndSucceed) {
  Desk desk(ns, "s1", payloads);
  give("a", R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"}},)" +
                batch_job("train", "true", 2));
  desk.create("a", 2);
  EXPECT_THAT(desk.hears("a finished"), HasSubstr("a finished true 0"));
  const auto pods = client->send(kube::list_request(kube::resources::pods(), ns));
  ASSERT_EQ(kube::items_at(*pods, {"items"}).size(), 2U);
  for (const auto& one : kube::items_at(*pods, {"items"})) {
    EXPECT_EQ(kube::text_at(one, {"spec", "nodeName"}), "node-0") << "the planned one";
    EXPECT_EQ(kube::text_at(one, {"spec", "priorityClassName"}), "muster");
  }
  desk.remove("a");
  EXPECT_TRUE(eventually([&] {
    return roots() == 0 && count(kube::resources::pods()) == 0 &&
           count(kube::resources::jobs()) == 0;
  }));
}

TEST_F(Objects, AJobThatFailsSaysWhichPodAndHow) {
  Desk desk(ns, "s1", payloads);
  give("a", batch_job("bad", "false"));
  desk.create("a");
  const std::string end = desk.hears("a finished");
  EXPECT_THAT(end, HasSubstr("a finished false 1 Job bad"));
  EXPECT_THAT(end, HasSubstr("exit code 1"));
}

TEST_F(Objects, ADeploymentRunsUntilItIsDeletedAndLeavesNothing) {
  Desk desk(ns, "s1", payloads);
  give("a", R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":)"
            R"({"selector":{"app":"x"},"ports":[{"port":80}]}},)" +
                deployment("web"));
  desk.create("a", 2);
  EXPECT_EQ(desk.hears("a started"), "a started");
  EXPECT_EQ(count(kube::resources::pods(), "muster.dev/server=s1"), 2U);
  desk.remove("a");
  EXPECT_EQ(desk.hears("a gone"), "a gone");
  EXPECT_EQ(count(kube::resources::pods()), 0U);
  EXPECT_EQ(count(deployments()), 0U);
  EXPECT_EQ(roots(), 0U);
}

TEST_F(Objects, AnotherInstanceOfTheServerFindsThemRunning) {
  give("a", deployment("web"));
  {
    Desk desk(ns, "s1", payloads);
    desk.create("a", 2);
    EXPECT_EQ(desk.hears("a started"), "a started");
  }
  Desk again(ns, "s1", payloads);
  again.relist(std::vector<ports::Expected>{{{"a", 1}, true}});
  EXPECT_EQ(again.hears("a started"), "a started");
  EXPECT_EQ(count(kube::resources::pods()), 2U);
  again.relist({});  // nobody wants it any more
  EXPECT_TRUE(eventually([&] { return roots() == 0 && count(deployments()) == 0; }));
}

TEST_F(Objects, ANameThatIsTakenAndAKindThatIsMissingAreFailuresThatSaySo) {
  Desk desk(ns, "s1", payloads);
  make(kube::resources::jobs(), batch_job("train", "sleep"));
  give("a", batch_job("train", "true"));
  desk.create("a");
  EXPECT_THAT(desk.hears("a finished"),
              HasSubstr("a finished false 126 Job train: there is one in namespace " + ns));
  EXPECT_EQ(count(kube::resources::jobs()), 1U) << "the other one stays";
  give("b", R"({"template":{"apiVersion":"nobody.example.com/v1","kind":"Thing","metadata":)"
            R"({"name":"t"},"spec":{"pod":)" +
                pod("true") + R"(}},"podSets":[{"path":"template.spec.pod"}]})");
  desk.create("b");
  EXPECT_THAT(desk.hears("b finished"), HasSubstr("Thing t: this cluster has no kind Thing"));
}

TEST_F(Objects, AQuotaWithoutRoomIsNamedAndNothingIsMade) {
  make(kube::resources::resource_quotas(),
       R"({"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"team"},)"
       R"("spec":{"hard":{"pods":"1"}}})");
  Desk desk(ns, "s1", payloads);
  give_command("a", "sleep");
  give("b", batch_job("pair", "sleep", 2), 1);
  EXPECT_TRUE(eventually([&] {  // until the quota was seen, the API server alone judges
    const auto quota =
        client->send(kube::get_request(kube::resources::resource_quotas(), ns, "team"));
    return quota.ok() && kube::find(*quota, {"status", "hard"}) != nullptr;
  }));
  std::this_thread::sleep_for(std::chrono::seconds(1));
  desk.create("a", 2);
  EXPECT_THAT(desk.hears("a did not start"), HasSubstr("quota team allows 1 pods in all"));
  desk.create("b", 2);
  EXPECT_THAT(desk.hears("b did not start"), HasSubstr("quota team allows 1 pods in all"));
  EXPECT_EQ(count(kube::resources::jobs()), 0U);
}

TEST_F(Objects, TwoServersLeaveEachOthersWorkAlone) {
  Desk one(ns, "s1", payloads);
  Desk two(ns, "s2", payloads);
  give_command("a", "sleep");
  give_command("b", "sleep");
  one.create("a");
  two.create("b");
  EXPECT_EQ(one.hears("a started"), "a started");
  EXPECT_EQ(two.hears("b started"), "b started");
  two.relist(std::vector<ports::Expected>{{{"b", 1}, true}});
  EXPECT_EQ(two.hears("b started"), "b started");
  two.remove("b");
  EXPECT_EQ(two.hears("b gone"), "b gone");
  EXPECT_EQ(count(kube::resources::pods(), "muster.dev/server=s1"), 1U);
  EXPECT_EQ(count(kube::resources::pods()), 1U);
}

TEST_F(Objects, WhatArrivesAfterItsDeleteIsRemoved) {
  Desk desk(ns, "s1", payloads);
  desk.remove("a");
  EXPECT_EQ(desk.hears("a gone"), "a gone");
  json::value late = json::parse(batch_job("m-a-1-0", "sleep"));
  for (const auto& [label, value] :
       {std::pair("muster.dev/job", "a"), {"muster.dev/attempt", "1"}, {"muster.dev/server", "s1"}})
    kube::set_at(late, {"metadata", "labels", label}, value);
  kube::set_at(late, {"metadata", "annotations", "muster.dev/job-id"}, "a");
  make(kube::resources::jobs(), json::serialize(late));
  EXPECT_TRUE(eventually([&] { return count(kube::resources::jobs()) == 0; }));
}

TEST_F(Objects, APodThatDoesNotGoKeepsItsAttemptAliveUntilItsNodeIsOutOfService) {
  const std::string node = "silent-" + ns;  // ready, and without anybody who runs pods
  make_node(node);
  Desk desk(ns, "s1", payloads);
  give_command("a", "sleep");
  desk.create("a", 1, 1, node);
  const auto pod_has = [&](std::initializer_list<std::string_view> path) {
    const auto pods = client->send(kube::list_request(kube::resources::pods(), ns));
    const json::array& items = kube::items_at(*pods, {"items"});
    return items.size() == 1 && kube::find(items[0], path) != nullptr;
  };
  ASSERT_TRUE(eventually([&] { return pod_has({"spec", "nodeName"}); }));
  desk.remove("a");
  ASSERT_TRUE(eventually([&] { return pod_has({"metadata", "deletionTimestamp"}); }));
  std::this_thread::sleep_for(std::chrono::seconds(3));
  EXPECT_EQ(count(kube::resources::pods()), 1U) << "its node is there: nobody may force it away";
  const auto marked = client->send(kube::patch_request(
      kube::resources::nodes(), "", node, kube::Patch::Merge,
      json::parse(R"({"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service",)"
                  R"("value":"nodeshutdown","effect":"NoExecute"}]}})")));
  ASSERT_TRUE(marked.ok()) << marked.error().message;
  EXPECT_EQ(desk.hears("a gone"), "a gone");
  EXPECT_TRUE(client->send(kube::delete_request(kube::resources::nodes(), "", node)).ok());
}

}  // namespace
}  // namespace muster::e2e
