// What jobs become in a real Kubernetes, and what becomes of them: lists of objects, quotas, names
// that are taken, servers side by side.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <boost/json/serialize.hpp>
#include <chrono>
#include <thread>

#include "clusters/kubernetes/kubernetes_cluster.h"
#include "ports/memory_inbox.h"
#include "ports/memory_log_sink.h"
#include "ports/memory_payloads.h"
#include "tests/e2e/kube_cluster.h"

namespace muster::e2e {
namespace {

using ::testing::HasSubstr;

constexpr Duration patience = seconds(90);

template <typename Condition>
bool eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience.ms);
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

/// A server's side of the cluster.
class Desk {
 public:
  Desk(const std::string& ns, const std::string& server, ports::MemoryPayloads& payloads) {
    clusters::KubernetesOptions options;
    options.name = "c1";
    options.access = admin();
    options.objects.pod.ns = ns;
    options.objects.pod.image = "example.com/tool:1";
    options.objects.server = server;
    options.objects.epoch = "1";
    options.book.look_again = milliseconds(200);
    auto opened = clusters::KubernetesCluster::open(std::move(options), {inbox_, payloads, logs_});
    MUSTER_CHECK(opened.ok(), "{}", opened.error().message);
    cluster_ = std::move(*opened);
    EXPECT_EQ(hears("ready"), "ready");
  }

  void create(const std::string& job, int pods = 1, std::uint32_t sets = 1,
              const std::string& node = "node-0") {
    ports::Action action{ports::Verb::Create, {job, 1}, "c1", {}};
    for (std::uint32_t set = 0; set < sets; ++set) {
      for (int i = 0; i < pods; ++i) action.pods.push_back({set, node, "", 0, 0});
    }
    cluster_->apply(action);
  }
  void remove(const std::string& job) {
    cluster_->apply({ports::Verb::Delete, {job, 1}, "c1", {}});
  }
  void relist(const std::vector<ports::Expected>& expected) { cluster_->relist(expected); }

  /// The first word about a job that begins so; what was heard if there is none.
  std::string hears(const std::string& wanted) {
    std::string all;
    std::string found;
    eventually([&] {
      for (const model::Event& event : inbox_.take(100'000)) {
        const std::string said = words(event.body);
        if (said.empty()) continue;
        all += said + "\n";
        if (found.empty() && said.starts_with(wanted)) found = said;
      }
      return !found.empty();
    });
    return found.empty() ? "only heard:\n" + all : found;
  }

 private:
  static std::string words(const model::EventBody& body) {
    if (const auto* said = std::get_if<model::ClusterHealth>(&body))
      return said->health == model::Health::Ready ? "ready" : "unreachable";
    if (const auto* said = std::get_if<model::Started>(&body)) return said->job + " started";
    if (const auto* said = std::get_if<model::Gone>(&body)) return said->job + " gone";
    if (const auto* said = std::get_if<model::Finished>(&body))
      return fmt::format("{} finished {} {} {}", said->job, said->success, said->exit_code,
                         said->reason);
    if (const auto* said = std::get_if<model::StartFailed>(&body))
      return fmt::format("{} did not start: {}", said->job, said->reason);
    return "";
  }

  ports::MemoryInbox inbox_{100'000};
  ports::MemoryLogSink logs_;
  std::unique_ptr<clusters::KubernetesCluster> cluster_;
};

class Objects : public Cluster {
 protected:
  static std::string pod(const std::string& command) {
    return R"({"metadata":{"labels":{"app":"x"}},"spec":{"restartPolicy":"Never",)"
           R"("terminationGracePeriodSeconds":1,"containers":[{"name":"main","image":"x",)"
           R"("command":[")" +
           command + R"("]}]}})";
  }
  static std::string batch_job(const std::string& name, const std::string& command,
                               int parallel = 1) {
    return fmt::format(
        R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"{}"}},"spec":)"
        R"({{"parallelism":{},"completions":{},"backoffLimit":0,"template":{}}}}})",
        name, parallel, parallel, pod(command));
  }
  static std::string deployment(const std::string& name) {
    json::value made =
        json::parse(R"({"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":2,)"
                    R"("selector":{"matchLabels":{"app":"x"}}}})");
    json::value one = json::parse(pod("serve"));
    kube::set_at(one, {"spec", "restartPolicy"}, "Always");
    kube::set_at(made, {"metadata", "name"}, json::string(name));
    kube::set_at(made, {"spec", "template"}, one);
    return json::serialize(made);
  }
  void give(const std::string& job, const std::string& objects, std::size_t sets = 1) {
    model::Command command;
    command.name = job;
    command.objects = "[" + objects + "]";
    command.sets.resize(sets);
    payloads.set(job, command);
  }
  void give_command(const std::string& job, const std::string& program) {
    model::Command command;
    command.name = job;
    command.argv = {program};
    command.stop_grace = seconds(1);
    command.sets.resize(1);
    payloads.set(job, command);
  }
  std::size_t count(const kube::Resource& resource, const std::string& selector = "") const {
    const auto found = client->send(kube::list_request(resource, ns, {.label_selector = selector}));
    EXPECT_TRUE(found.ok()) << found.error().message;
    return found ? kube::items_at(*found, {"items"}).size() : 0;
  }
  std::size_t roots() const { return count(kube::resources::config_maps(), "muster.dev/job"); }
  void make(const kube::Resource& resource, const std::string& object) const {
    const auto made = client->send(kube::create_request(resource, ns, json::parse(object)));
    ASSERT_TRUE(made.ok()) << made.error().message;
  }

  void make_node(const std::string& name) const {
    const auto made = client->send(kube::create_request(
        kube::resources::nodes(), "",
        json::parse(fmt::format(R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{0}",)"
                                R"("labels":{{"kubernetes.io/hostname":"{0}"}}}},"status":{{)"
                                R"("conditions":[{{"type":"Ready","status":"True"}}],)"
                                R"("capacity":{{"cpu":"8","memory":"8Gi","pods":"9"}},)"
                                R"("allocatable":{{"cpu":"8","memory":"8Gi","pods":"9"}}}}}})",
                                name))));
    ASSERT_TRUE(made.ok()) << made.error().message;
  }

  ports::MemoryPayloads payloads;
};

kube::Resource deployments() {
  kube::Resource resource;
  resource.group = "apps";
  resource.version = "v1";
  resource.plural = "deployments";
  resource.kind = "Deployment";
  return resource;
}

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
