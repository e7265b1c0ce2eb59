// A server's side of a real cluster, and objects to make there: what several files of tests need.
#pragma once

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "clusters/kubernetes/kubernetes_cluster.h"
#include "ports/attempt_sights.h"
#include "ports/memory_inbox.h"
#include "ports/memory_log_sink.h"
#include "ports/memory_payloads.h"
#include "tests/e2e/kube_cluster.h"

namespace muster::e2e {

inline constexpr Duration patience = seconds(90);

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
  using Change = std::function<void(clusters::KubernetesOptions&)>;
  Desk(const std::string& ns, const std::string& server, ports::MemoryPayloads& payloads,
       const Change& change = {}) {
    clusters::KubernetesOptions options;
    options.name = "c1";
    options.access = admin();
    options.objects.pod.ns = ns;
    options.objects.pod.image = "example.com/tool:1";
    options.objects.server = server;
    options.objects.epoch = "1";
    options.book.look_again = milliseconds(200);
    if (change) change(options);
    auto opened = clusters::KubernetesCluster::open(std::move(options),
                                                    {inbox_, payloads, logs_, nullptr, &sights_});
    MUSTER_CHECK(opened.ok(), "{}", opened.error().message);
    cluster_ = std::move(*opened);
    EXPECT_EQ(hears("ready"), "ready");
  }

  void create(const std::string& job, int pods = 1, std::uint32_t sets = 1,
              const std::string& node = "node-0", std::uint32_t attempt = 1,
              std::uint32_t requeues = 0) {
    ports::Action action{ports::Verb::Create, {job, attempt}, "c1", {}, requeues};
    for (std::uint32_t set = 0; set < sets; ++set) {
      for (int i = 0; i < pods; ++i) action.pods.push_back({set, node, "", 0, 0});
    }
    cluster_->apply(action);
    unanswered_[job] = {action, Clock::now() + say_again};
  }
  void remove(const std::string& job) {
    unanswered_.erase(job);
    cluster_->apply({ports::Verb::Delete, {job, 1}, "c1", {}});
  }
  void relist(const std::vector<ports::Expected>& expected) { cluster_->relist(expected); }

  /// The newest that was told of an attempt for somebody on a hub.
  ports::AttemptSight sight(const ports::Attempt& attempt) { return sights_.newest(attempt); }

  /// The first word about a job that begins so; what was heard if there is none.
  std::string hears(const std::string& wanted) {
    std::string all;
    std::string found;
    eventually([&] {
      for (const model::Event& event : inbox_.take(100'000)) {
        const std::string said = words(event.body);
        if (said.empty()) continue;
        all += said + "\n";
        unanswered_.erase(said.substr(0, said.find(' ')));
        if (found.empty() && said.starts_with(wanted)) found = said;
      }
      repeat_creates();
      return !found.empty();
    });
    return found.empty() ? "only heard:\n" + all : found;
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// As the outbox does: an API server that could not be reached just then is no answer.
  void repeat_creates() {
    for (auto& [job, create] : unanswered_) {
      if (Clock::now() < create.again) continue;
      create.again = Clock::now() + say_again;
      cluster_->apply(create.action);
    }
  }

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

  class Sights : public ports::AttemptSights {
   public:
    void seen(const ports::AttemptSight& sight) override {
      const std::lock_guard lock(mutex_);
      newest_[sight.attempt] = sight;
    }
    ports::AttemptSight newest(const ports::Attempt& attempt) {
      const std::lock_guard lock(mutex_);
      return newest_[attempt];
    }

   private:
    std::mutex mutex_;
    std::map<ports::Attempt, ports::AttemptSight> newest_;  // guarded by mutex_
  };

  struct Create {
    ports::Action action;
    Clock::time_point again;
  };
  static constexpr std::chrono::seconds say_again{5};
  std::map<std::string, Create> unanswered_;  // by job
  ports::MemoryInbox inbox_{100'000};
  ports::MemoryLogSink logs_;
  Sights sights_;
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

inline kube::Resource deployments() {
  kube::Resource resource;
  resource.group = "apps";
  resource.version = "v1";
  resource.plural = "deployments";
  resource.kind = "Deployment";
  return resource;
}

}  // namespace muster::e2e
