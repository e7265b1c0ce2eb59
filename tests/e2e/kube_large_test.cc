// One informer of many objects on a real API server: thousands of pods and nodes, changed while its
// connections are cut and its revisions compacted away. MUSTER_E2E_NODES and MUSTER_E2E_PODS are
// the sizes. The cluster is bare: nobody but this test changes anything.
#include <gmock/gmock.h>

#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "base/text.h"
#include "clusters/kubernetes/sight.h"
#include "kube/informer.h"
#include "kube/list.h"
#include "ports/memory_inbox.h"
#include "tests/e2e/kube_cluster.h"

namespace muster::e2e {
namespace {

using Clock = std::chrono::steady_clock;
using Versions = std::map<std::string, std::string>;  // name -> resourceVersion

int number(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  if (value == nullptr) return otherwise;
  const auto read = parse_int(value, name, 1, 1'000'000);
  MUSTER_CHECK(read.ok(), "{}", read.error().message);
  return static_cast<int>(*read);
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool eventually(const std::function<bool()>& condition) {
  const auto end = Clock::now() + std::chrono::seconds(120);
  while (!condition()) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

/// As many at once as the client allows.
void send_all(kube::Client& client, const std::vector<kube::ApiRequest>& requests) {
  std::mutex mutex;
  std::size_t left = requests.size();
  std::string wrong;
  std::promise<void> all;
  for (const kube::ApiRequest& request : requests) {
    client.send_later(request, [&](const kube::Reply<json::value>& reply) {
      const std::lock_guard lock(mutex);
      if (!reply) wrong = reply.error().message;
      if (--left == 0) all.set_value();
    });
  }
  if (!requests.empty()) all.get_future().wait();
  const std::lock_guard lock(mutex);  // the last answer may still hold it
  ASSERT_EQ(wrong, "");
}

class KubeLarge : public Cluster {
 protected:
  KubeLarge() {
    const auto account = client->send(kube::create_request(
        kube::resources::service_accounts(), ns,
        json::parse(
            R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}})")));
    MUSTER_CHECK(account.ok(), "{}", account.error().message);
  }
  ~KubeLarge() override { command("pass"); }

  static std::string node_name(int index) { return fmt::format("node-{}", index); }
  static std::string pod_name(int index) { return fmt::format("pod-{}", index); }

  void make_everything() const {
    const auto start = Clock::now();
    std::vector<kube::ApiRequest> requests;
    for (int i = 0; i < nodes; ++i) requests.push_back(node_request(i));
    for (int i = 0; i < pods; ++i) requests.push_back(pod_request(i));
    send_all(*client, requests);
    fmt::print("{} nodes and {} pods made in {:.1f} s\n", nodes, pods, seconds_since(start));
  }
  static kube::ApiRequest node_request(int index) {
    json::value node = json::parse(R"({"apiVersion":"v1","kind":"Node","status":{
      "conditions":[{"type":"Ready","status":"True"}],
      "capacity":{"cpu":"32","memory":"64Gi","pods":"110"},
      "allocatable":{"cpu":"32","memory":"64Gi","pods":"110"}}})");
    kube::set_at(node, {"metadata", "name"}, json::string(node_name(index)));
    return kube::create_request(kube::resources::nodes(), "", node);
  }
  kube::ApiRequest pod_request(int index) const {
    json::value pod = json::parse(R"({"apiVersion":"v1","kind":"Pod","spec":{"containers":[
      {"name":"main","image":"none","resources":{"requests":{"cpu":"1","memory":"1Gi"}}}]}})");
    kube::set_at(pod, {"metadata", "name"}, json::string(pod_name(index)));
    kube::set_at(pod, {"spec", "nodeName"}, json::string(node_name(index % nodes)));
    return kube::create_request(kube::resources::pods(), ns, pod);
  }

  /// Every fifth pod goes, every seventh changes of those that stay in both rounds, 0 and 1.
  void change_much(int round) const {
    json::value label = json::object();
    kube::set_at(label, {"metadata", "labels", "round"}, json::string(std::to_string(round)));
    kube::DeleteOptions at_once;
    at_once.grace_seconds = 0;
    std::vector<kube::ApiRequest> requests;
    for (int i = round; i < pods; i += 5) {
      requests.push_back(kube::delete_request(kube::resources::pods(), ns, pod_name(i), at_once));
    }
    for (int i = 0; i < pods; i += 7) {
      if (i % 5 <= 1) continue;
      requests.push_back(
          kube::patch_request(kube::resources::pods(), ns, pod_name(i), kube::Patch::Merge, label));
    }
    send_all(*client, requests);
  }

  Versions in_cluster() const {
    const auto found = kube::list_all(*client, kube::resources::pods(), ns);
    MUSTER_CHECK(found.ok(), "{}", found.error().message);
    Versions versions;
    for (const json::value& pod : found->items)
      versions[std::string(kube::name_of(pod))] = kube::version_of(pod);
    return versions;
  }

  /// What Muster makes of it: every node, and every pod as somebody else's.
  static bool sees(std::int64_t nodes_there, std::int64_t pods_there) {
    const auto own = connect(admin());
    ports::MemoryInbox inbox{1'000'000};
    clusters::KubernetesSight sight(*own, {.cluster = "large"});
    std::int64_t nodes_seen = 0;
    std::int64_t pods_seen = 0;
    return eventually([&] {
      sight.changes().drain(inbox);
      for (const model::Event& event : inbox.take(1'000'000)) {
        nodes_seen += std::holds_alternative<model::NodeSeen>(event.body) ? 1 : 0;
        pods_seen += std::holds_alternative<model::ForeignPodSeen>(event.body) ? 1 : 0;
      }
      return nodes_seen == nodes_there && pods_seen == pods_there;
    });
  }

  const int nodes = number("MUSTER_E2E_NODES", 500);
  const int pods = number("MUSTER_E2E_PODS", 2000);
};

struct Kept {
  std::string name;
  std::string version;
  std::string node;
};

/// The pods, through the proxy, as an informer has them and as its handlers told them.
class Informed {
 public:
  explicit Informed(const std::string& ns)
      : client_(connect(through_proxy(), {.connect_timeout = seconds(3)})),
        informer_(
            *client_,
            {.resource = kube::resources::pods(),
             .ns = ns,
             .backoff_min = milliseconds(100),
             .backoff_max = seconds(1)},
            [](const json::value& pod) {
              return Kept{std::string(kube::name_of(pod)), std::string(kube::version_of(pod)),
                          std::string(kube::text_at(pod, {"spec", "nodeName"}))};
            },
            handlers(), by_node()) {}
  ~Informed() { informer_.stop(); }

  kube::Informer<Kept>& informer() { return informer_; }
  Versions in_store() {
    Versions versions;
    for (const auto& pod : informer_.store().all()) versions[pod->name] = pod->version;
    return versions;
  }
  Versions told() {
    const std::lock_guard lock(mutex_);
    return told_;
  }
  std::size_t failures() {
    const std::lock_guard lock(mutex_);
    return failures_;
  }

 private:
  using Value = std::shared_ptr<const Kept>;
  static kube::ObjectStore<Kept>::Indexes by_node() {
    kube::ObjectStore<Kept>::Indexes indexes;
    indexes["node"] = [](const Kept& pod) { return std::vector<std::string>{pod.node}; };
    return indexes;
  }
  kube::InformerHandlers<Kept> handlers() {
    kube::InformerHandlers<Kept> on;
    on.on_add = [this](const std::string&, const Value& pod) { tell(*pod); };
    on.on_update = [this](const std::string&, const Value&, const Value& pod) { tell(*pod); };
    on.on_delete = [this](const std::string&, const Value& pod) {
      const std::lock_guard lock(mutex_);
      told_.erase(pod->name);
    };
    on.on_failure = [this](const kube::ApiError&, int) {
      const std::lock_guard lock(mutex_);
      ++failures_;
    };
    return on;
  }
  void tell(const Kept& pod) {
    const std::lock_guard lock(mutex_);
    told_[pod.name] = pod.version;
  }

  std::mutex mutex_;
  Versions told_;  // guarded by mutex_, as the next
  std::size_t failures_ = 0;
  std::unique_ptr<kube::Client> client_;
  kube::Informer<Kept> informer_;
};

TEST_F(KubeLarge, AnInformerOfThousandsOfPodsIsWhatTheClusterHasWhateverHappens) {
  make_everything();
  auto start = Clock::now();
  Informed informed(ns);
  ASSERT_TRUE(informed.informer().wait_for_sync(seconds(120)));
  fmt::print("an informer has {} pods after {:.2f} s\n", informed.informer().store().size(),
             seconds_since(start));
  ASSERT_EQ(informed.in_store(), in_cluster());
  EXPECT_EQ(informed.informer().store().by_index("node", node_name(0)).size(),
            static_cast<std::size_t>((pods + nodes - 1) / nodes));

  // Changed while its connection is cut again and again.
  auto changing = std::async(std::launch::async, [&] { change_much(0); });
  while (changing.wait_for(std::chrono::milliseconds(200)) != std::future_status::ready)
    command("cut");
  command("cut");
  ASSERT_TRUE(eventually([&] { return informed.in_store() == in_cluster(); }));
  EXPECT_EQ(informed.told(), in_cluster());
  EXPECT_EQ(informed.informer().stats().lists, 1U) << "a cut is no reason to read all again";

  // Changed while it cannot look, and what it missed is forgotten by the server.
  command("refuse");
  ASSERT_TRUE(eventually([&] { return informed.failures() > 0; }));
  change_much(1);
  command("compact");
  command("restart");
  command("pass");
  start = Clock::now();
  ASSERT_TRUE(eventually([&] { return informed.in_store() == in_cluster(); }));
  EXPECT_EQ(informed.told(), in_cluster());
  EXPECT_EQ(informed.informer().stats().lists, 2U);
  fmt::print("{} pods are left; up to date {:.2f} s after the server\n", informed.told().size(),
             seconds_since(start));

  const auto left = static_cast<std::int64_t>(informed.told().size());
  EXPECT_TRUE(sees(nodes, left));
}

}  // namespace
}  // namespace muster::e2e
