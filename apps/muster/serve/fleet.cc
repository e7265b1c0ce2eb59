#include "apps/muster/serve/fleet.h"

#include <algorithm>
#include <utility>

#include "apps/muster/serve/pod_defaults.h"
#include "clusters/kubernetes/kubernetes_cluster.h"
#include "clusters/local/local_cluster.h"
#include "clusters/local/this_machine.h"
#include "clusters/simulated/simulated_cluster.h"
#include "kube/kubeconfig.h"

namespace muster::app {
namespace {

sched::NodeChoice choice_of(config::NodeChoice choice) {
  switch (choice) {
    case config::NodeChoice::Fgd:
      return sched::NodeChoice::Fgd;
    case config::NodeChoice::BestFit:
      return sched::NodeChoice::BestFit;
    case config::NodeChoice::Spread:
      return sched::NodeChoice::Spread;
    case config::NodeChoice::Worth:
      break;
  }
  return sched::NodeChoice::Worth;
}

/// Takes a kind of cluster as a cluster.
template <typename Kind>
Result<std::unique_ptr<ports::Cluster>> as_cluster(Result<std::unique_ptr<Kind>> opened) {
  if (!opened) return opened.error();
  return std::unique_ptr<ports::Cluster>(std::move(*opened));
}

Result<clusters::KubernetesOptions> kubernetes_options(const config::Config& config,
                                                       const config::Cluster& cluster) {
  const auto file = kube::load_kubeconfig(cluster.kubeconfig.value_or(""));
  if (!file) return Error{file.error().fault, "kubeconfig: " + file.error().message};
  auto access = kube::access_of(*file, cluster.context.value_or(""));
  if (!access) return Error{access.error().fault, "context: " + access.error().message};
  clusters::KubernetesOptions options;
  options.name = cluster.name;
  options.book.ready_within = cluster.ready_within.value_or(config::ready_within_default);
  options.book.start_retry_pause = config.scheduling.start_retry_pause;
  put_pod_defaults(config, cluster, cluster.kube_namespace.value_or(access->ns), options);
  options.access = std::move(*access);
  return options;
}

}  // namespace

sched::Policy policy_of(const config::Config& config) {
  const config::Scheduling& s = config.scheduling;
  sched::Policy policy;
  policy.node_choice = choice_of(s.node_choice);
  const config::ScoreWeights& w = s.cluster_weights;
  policy.cluster_weights = {w.fit, w.fragmentation, w.price, w.wait, w.data, w.spread, w.damage};
  for (const auto& [type, weight] : s.gpu_weights) policy.gpu_weight_milli[type] = weight.v;
  policy.half_life = s.half_life;
  policy.reservation_depth = s.reservation_depth;
  policy.default_run_time = s.default_run_time;
  policy.evictions_per_round = s.evictions_per_round;
  policy.start_retry_pause = s.start_retry_pause;
  return policy;
}

Duration ready_limit_of(const config::Config& config) {
  constexpr Duration to_make_and_to_say = minutes(1);
  Duration longest = config::ready_within_default;
  for (const config::Cluster& cluster : config.clusters)
    longest = std::max(longest, cluster.ready_within.value_or(longest));
  return longest + to_make_and_to_say;
}

Status Fleet::open(const config::Config& config) {
  for (const config::Cluster& cluster : config.clusters) {
    if (clusters_.contains(cluster.name)) continue;
    auto opened = open_one(config, cluster);
    if (!opened)
      return Error{opened.error().fault,
                   fmt::format("cluster {}: {}", cluster.name, opened.error().message)};
    {
      const std::lock_guard lock(commands_mutex_);
      commands_[cluster.name] = dynamic_cast<ports::PodCommands*>(opened->get());
    }
    clusters_[cluster.name] = std::move(*opened);
  }
  return Ok{};
}

std::vector<std::unique_ptr<ports::Cluster>> Fleet::take_gone(const config::Config& config) {
  std::vector<std::unique_ptr<ports::Cluster>> gone;
  for (auto it = clusters_.begin(); it != clusters_.end();) {
    const bool stays = std::any_of(config.clusters.begin(), config.clusters.end(),
                                   [&](const auto& cluster) { return cluster.name == it->first; });
    if (!stays) {
      const std::lock_guard lock(commands_mutex_);
      commands_.erase(it->first);
      gone.push_back(std::move(it->second));
    }
    it = stays ? std::next(it) : clusters_.erase(it);
  }
  return gone;
}

std::map<std::string, ports::Cluster*> Fleet::clusters() const {
  std::map<std::string, ports::Cluster*> all;
  for (const auto& [name, cluster] : clusters_) all[name] = cluster.get();
  return all;
}

/// Under the lock all the while: a cluster that leaves is there until the command has begun.
Result<std::shared_ptr<ports::PodCommandSession>> Fleet::run_in_pod(
    const std::string& cluster, const ports::PodCommand& command,
    ports::PodCommandCallbacks callbacks) {
  const std::lock_guard lock(commands_mutex_);
  const auto it = commands_.find(cluster);
  if (it == commands_.end())
    return Error{Fault::Conflict, fmt::format("cluster {} has left", cluster)};
  if (it->second == nullptr)
    return Error{Fault::Conflict,
                 fmt::format("cluster {} is simulated: no programs run in its pods", cluster)};
  return it->second->run(command, std::move(callbacks));
}

Result<std::unique_ptr<ports::Cluster>> Fleet::open_one(const config::Config& config,
                                                        const config::Cluster& cluster) const {
  const std::string place = data_dir_ + "/clusters/" + cluster.name;
  switch (cluster.type) {
    case config::ClusterType::Local: {
      clusters::MachineOptions machine;
      machine.slots = cluster.slots.value_or(0);
      machine.gpu_type = cluster.gpu_type.value_or("slot");
      machine.cpu = cluster.cpu.value_or(model::MilliCpu{0});
      machine.memory = cluster.memory.value_or(model::Bytes{0});
      auto node = clusters::this_machine(machine);
      if (!node) return node.error();
      clusters::LocalOptions options;
      options.name = cluster.name;
      options.directory = place;
      options.node = std::move(*node);
      options.pod_descriptors = self_.pod_descriptors;
      options.start_retry_pause = config.scheduling.start_retry_pause;
      return as_cluster(clusters::LocalCluster::open(std::move(options),
                                                     {ports_.inbox, ports_.payloads, ports_.logs}));
    }
    case config::ClusterType::Simulated: {
      clusters::SimulatedOptions options;
      options.name = cluster.name;
      options.nodes = config::node_specs(cluster);
      options.file = place + ".runs";
      options.run_time = cluster.run_time.value_or(minutes(1));
      options.start_retry_pause = config.scheduling.start_retry_pause;
      return as_cluster(
          clusters::SimulatedCluster::open(std::move(options), {ports_.inbox, ports_.payloads}));
    }
    case config::ClusterType::Kubernetes:
      break;
  }
  auto options = kubernetes_options(config, cluster);
  if (!options) return options.error();
  options->objects.server = self_.server;
  options->objects.epoch = self_.epoch;
  return as_cluster(clusters::KubernetesCluster::open(
      std::move(*options), {ports_.inbox, ports_.payloads, ports_.logs, &ports_.notes}));
}

}  // namespace muster::app
