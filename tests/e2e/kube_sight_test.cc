// What Muster sees of a real cluster: nodes of kwok, pods of others on them, and its silence.
#include <gmock/gmock.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "clusters/kubernetes/sight.h"
#include "ports/memory_inbox.h"
#include "tests/e2e/kube_cluster.h"

namespace muster::e2e {
namespace {

using clusters::KubernetesSight;

/// A sight through the proxy; events are taken until one is what the test waits for.
class Seen {
 public:
  Seen() : client_(connect(through_proxy(), {.connect_timeout = seconds(3)})) {
    sight_.emplace(*client_, clusters::SightOptions{.cluster = "real",
                                                    .silence_max = seconds(1),
                                                    .on_change = [this] { wake(); }});
  }
  KubernetesSight& sight() { return *sight_; }

  template <typename Body, typename Fits>
  std::optional<Body> wait_for(Fits fits) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < end) {
      sight_->changes().drain(inbox_);
      for (const model::Event& event : inbox_.take(10'000)) {
        const Body* body = std::get_if<Body>(&event.body);
        if (body != nullptr && fits(*body)) return *body;
      }
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::milliseconds(200), [this] { return is_changed_; });
      is_changed_ = false;
    }
    return std::nullopt;
  }
  bool hears(model::Health health) {
    return wait_for<model::ClusterHealth>(
               [&](const model::ClusterHealth& said) { return said.health == health; })
        .has_value();
  }

 private:
  void wake() {
    const std::lock_guard lock(mutex_);
    is_changed_ = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_changed_ = false;  // guarded by mutex_
  ports::MemoryInbox inbox_{100'000};
  std::unique_ptr<kube::Client> client_;
  std::optional<KubernetesSight> sight_;
};

class KubeSight : public Cluster {
 protected:
  ~KubeSight() override { command("pass"); }
};

TEST_F(KubeSight, NodesOfKwokBecomeReadyWithTheirGpus) {
  Seen seen;
  const auto node = seen.wait_for<model::NodeSeen>([](const model::NodeSeen& said) {
    return said.node.name == "node-1" && said.node.ready && said.node.taints.empty();
  });
  ASSERT_TRUE(node.has_value());
  EXPECT_EQ(node->cluster, "real");
  EXPECT_EQ(node->node.gpu_count, 4);
  EXPECT_EQ(node->node.allocatable.cpu.v, 32'000);
}

TEST_F(KubeSight, APodOfAnotherComesAndGoes) {
  Seen seen;
  ASSERT_TRUE(seen.hears(model::Health::Ready));
  const json::value made =
      create_pod(json::parse(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},
        "spec":{"nodeName":"node-0","containers":[{"name":"c","image":"none",
          "resources":{"requests":{"cpu":"1500m"},"limits":{"nvidia.com/gpu":"2"}}}]}})"));
  const std::string uid(kube::uid_of(made));
  const auto pod = seen.wait_for<model::ForeignPodSeen>(
      [&](const model::ForeignPodSeen& said) { return said.pod.uid == uid; });
  ASSERT_TRUE(pod.has_value());
  EXPECT_EQ(pod->pod.node, "node-0");
  EXPECT_EQ(pod->pod.requests.cpu.v, 1500);
  EXPECT_EQ(pod->pod.gpus, 2);
  const auto done = client->send(
      kube::delete_request(kube::resources::pods(), ns, "p", {.uid = uid, .grace_seconds = 0}));
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_TRUE(seen.wait_for<model::ForeignPodGone>(
                      [&](const model::ForeignPodGone& said) { return said.uid == uid; })
                  .has_value());
}

TEST_F(KubeSight, ASilentClusterIsSaidToBeUnreachableUntilItComesBack) {
  Seen seen;
  ASSERT_TRUE(seen.hears(model::Health::Ready));
  command("refuse");
  ASSERT_TRUE(seen.hears(model::Health::Unreachable));
  EXPECT_NE(seen.sight().problem(), "");
  command("pass");
  EXPECT_TRUE(seen.hears(model::Health::Ready));
  EXPECT_EQ(seen.sight().problem(), "");
}

}  // namespace
}  // namespace muster::e2e
