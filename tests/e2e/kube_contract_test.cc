// The contract of every kind of cluster, held by a real Kubernetes whose pods kwok plays.
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "clusters/kubernetes/kubernetes_cluster.h"
#include "clusters/kubernetes/names.h"
#include "ports/cluster_contract.h"
#include "ports/memory_inbox.h"
#include "ports/memory_log_sink.h"
#include "ports/memory_payloads.h"
#include "tests/e2e/kube_cluster.h"

namespace muster::e2e {
namespace {

constexpr Duration patience = seconds(60);

template <typename Condition>
bool eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience.ms);
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

/// A namespace and a cluster of its own, which is reached through the proxy.
class KubernetesHarness {
 public:
  KubernetesHarness() : client_(connect(admin())) {
    make_node();
    const auto made = client_->send(kube::create_request(
        kube::resources::namespaces(), "",
        json::parse(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"generateName":"t-"}})")));
    MUSTER_CHECK(made.ok(), "{}", made.error().message);
    ns_ = kube::name_of(*made);
    for (const char* job : {"a", "b", "c", "d"}) {
      model::Command command;
      command.name = job;
      command.user = "tester";
      command.argv = {"sleep", "1000"};
      command.sets.resize(1);
      payloads_.set(job, command);
    }
    clusters::KubernetesOptions options;
    options.name = "c1";
    options.access = through_proxy();
    options.objects.pod.ns = ns_;
    options.objects.pod.image = "example.com/tool:1";
    options.book.look_again = milliseconds(200);
    options.silence_max = seconds(1);
    auto opened = clusters::KubernetesCluster::open(std::move(options), {inbox_, payloads_, logs_});
    MUSTER_CHECK(opened.ok(), "{}", opened.error().message);
    cluster_ = std::move(*opened);
    EXPECT_TRUE(hears(model::Health::Ready));
  }
  ~KubernetesHarness() {
    command("pass");
    cluster_.reset();
  }

  ports::Cluster& cluster() { return *cluster_; }
  std::vector<model::Event> heard() {
    EXPECT_TRUE(cluster_->wait_settled(patience));
    return inbox_.take(100'000);
  }
  int creations(const ports::Attempt& attempt) const {
    const auto found = client_->send(kube::list_request(
        kube::resources::pods(), ns_, {.label_selector = clusters::attempt_selector(attempt, "")}));
    EXPECT_TRUE(found.ok());
    return found ? static_cast<int>(kube::items_at(*found, {"items"}).size()) : -1;
  }
  void set_reachable(bool reachable) {
    command(reachable ? "pass" : "refuse");
    EXPECT_TRUE(hears(reachable ? model::Health::Ready : model::Health::Unreachable));
  }

 private:
  /// The node of the contract; it stays.
  void make_node() const {
    const auto made = client_->send(kube::create_request(
        kube::resources::nodes(), "",
        json::parse(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1",
          "annotations":{"kwok.x-k8s.io/node":"fake"},"labels":{"kubernetes.io/hostname":"n1"}},
          "status":{"capacity":{"cpu":"32","memory":"64Gi","pods":"110"},
            "allocatable":{"cpu":"32","memory":"64Gi","pods":"110"}}})")));
    MUSTER_CHECK(made.ok() || made.error().is_already_exists(), "{}", made.error().message);
  }
  bool hears(model::Health health) {
    return eventually([&] {
      for (const model::Event& event : inbox_.take(100'000)) {
        const auto* said = std::get_if<model::ClusterHealth>(&event.body);
        if (said != nullptr && said->health == health) return true;
      }
      return false;
    });
  }

  std::unique_ptr<kube::Client> client_;
  std::string ns_;
  ports::MemoryInbox inbox_{100'000};
  ports::MemoryPayloads payloads_;
  ports::MemoryLogSink logs_;
  std::unique_ptr<clusters::KubernetesCluster> cluster_;
};

}  // namespace
}  // namespace muster::e2e

namespace muster::ports {
INSTANTIATE_TYPED_TEST_SUITE_P(Kubernetes, ClusterContract, e2e::KubernetesHarness);
}  // namespace muster::ports
