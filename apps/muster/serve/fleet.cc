#include "apps/muster/serve/fleet.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "apps/muster/serve/pod_defaults.h"
#include "clusters/absent_cluster.h"
#include "clusters/kubernetes/kubernetes_cluster.h"
#include "clusters/local/local_cluster.h"
#include "clusters/local/this_machine.h"
#include "clusters/simulated/simulated_cluster.h"

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

/// "" for kinds that are not reached over the network.
std::string reached_by(const config::Cluster& cluster, const Accesses& accesses) {
  const auto found = accesses.find(cluster.name);
  return found == accesses.end() ? "" : fingerprint(found->second);
}

Result<model::NodeSpec> machine_of(const config::Cluster& cluster) {
  clusters::MachineOptions machine;
  machine.slots = cluster.slots.value_or(0);
  machine.gpu_type = cluster.gpu_type.value_or("slot");
  machine.cpu = cluster.cpu.value_or(model::MilliCpu{0});
  machine.memory = cluster.memory.value_or(model::Bytes{0});
  return clusters::this_machine(machine);
}

Duration stop_grace_of(const config::Cluster& cluster) {
  return cluster.stop_grace.value_or(model::stop_grace_default);
}

Duration run_time_of(const config::Cluster& cluster) {
  return cluster.run_time.value_or(minutes(1));
}

Error about(const config::Cluster& cluster, const Error& error) {
  return {error.fault, fmt::format("cluster {}: {}", cluster.name, error.message)};
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

Status Fleet::open(const config::Config& config, const Accesses& accesses) {
  for (const config::Cluster& cluster : config.clusters) {
    const std::string way = reached_by(cluster, accesses);
    Opened opened{nullptr, part_now(config, cluster), way};
    const auto known = clusters_.find(cluster.name);
    if (is_open_as(opened.made_of, way)) {
      if (Status changed = change_here(known->second, cluster); !changed)
        return about(cluster, changed.error());
      continue;
    }
    const auto access = accesses.find(cluster.name);
    if (access != accesses.end()) {
      // What the context says is asked once: its jobs are there from now on.
      std::optional<std::string>& ns = opened.made_of.cluster.kube_namespace;
      if (access->second && !ns) ns = access->second->ns;
      opened.cluster = open_kubernetes(opened.made_of, access->second);
    } else {
      auto here = open_here(config, cluster);
      if (!here) return about(cluster, here.error());
      opened.cluster = std::move(*here);
    }
    {
      const std::lock_guard lock(asked_mutex_);
      asked_[cluster.name] = {opened.cluster.get(),
                              dynamic_cast<ports::PodCommands*>(opened.cluster.get()),
                              dynamic_cast<ports::KeepsObjects*>(opened.cluster.get())};
    }
    if (known != clusters_.end()) replaced_.push_back(std::move(known->second.cluster));
    clusters_[cluster.name] = std::move(opened);
  }
  return Ok{};
}

bool Fleet::is_up_to_date(const config::Config& config, const Accesses& accesses) const {
  return config.clusters.size() == clusters_.size() &&
         std::all_of(config.clusters.begin(), config.clusters.end(), [&](const auto& cluster) {
           return is_open_as(part_now(config, cluster), reached_by(cluster, accesses));
         });
}

/// As it is to be open now.
config::ClusterPart Fleet::part_now(const config::Config& config,
                                    const config::Cluster& cluster) const {
  config::ClusterPart part = config::part_of(config, cluster);
  const auto known = clusters_.find(cluster.name);
  if (known == clusters_.end()) return part;
  return config::following(known->second.made_of, std::move(part));
}

bool Fleet::is_open_as(const config::ClusterPart& part, const std::string& way) const {
  const auto known = clusters_.find(part.cluster.name);
  return known != clusters_.end() && known->second.reached_by == way &&
         (way.empty() || config::makes_pods_alike(known->second.made_of, part));
}

void Fleet::Gone::drop() {
  for (const auto& cluster : left) cluster->leave();
  left.clear();
  replaced.clear();
}

Fleet::Gone Fleet::take_gone(const config::Config& config) {
  Gone gone{.replaced = std::exchange(replaced_, {})};
  for (auto it = clusters_.begin(); it != clusters_.end();) {
    const bool stays = std::any_of(config.clusters.begin(), config.clusters.end(),
                                   [&](const auto& cluster) { return cluster.name == it->first; });
    if (!stays) {
      const std::lock_guard lock(asked_mutex_);
      asked_.erase(it->first);
      gone.left.push_back(std::move(it->second.cluster));
    }
    it = stays ? std::next(it) : clusters_.erase(it);
  }
  return gone;
}

std::map<std::string, ports::Cluster*> Fleet::clusters() const {
  std::map<std::string, ports::Cluster*> all;
  for (const auto& [name, cluster] : clusters_) all[name] = cluster.cluster.get();
  return all;
}

/// Under the lock all the while: a cluster that leaves is there until the command has begun.
Result<std::shared_ptr<ports::PodCommandSession>> Fleet::run_in_pod(
    const std::string& cluster, const ports::PodCommand& command,
    ports::PodCommandCallbacks callbacks) {
  const std::lock_guard lock(asked_mutex_);
  const auto it = asked_.find(cluster);
  if (it == asked_.end())
    return Error{Fault::Conflict, fmt::format("cluster {} has left", cluster)};
  if (it->second.commands == nullptr)
    return Error{Fault::Conflict,
                 fmt::format("cluster {} is simulated: no programs run in its pods", cluster)};
  return it->second.commands->run(command, std::move(callbacks));
}

model::RuntimeClasses Fleet::runtime_classes() const {
  model::RuntimeClasses all;
  const std::lock_guard lock(asked_mutex_);
  for (const auto& [name, asked] : asked_) model::add(all, asked.cluster->runtime_classes());
  return all;
}

Result<std::string> Fleet::problem_of(const std::string& cluster) const {
  const std::lock_guard lock(asked_mutex_);
  const auto it = asked_.find(cluster);
  if (it == asked_.end())
    return Error{Fault::NotFound, fmt::format("cluster {} has left", cluster)};
  return it->second.cluster->problem();
}

void Fleet::remove(const std::string& cluster, const std::string& ns, const std::string& job,
                   std::function<void(bool is_gone)> done) {
  const std::lock_guard lock(asked_mutex_);
  const auto it = asked_.find(cluster);
  if (it == asked_.end() || !it->second.cluster->problem().empty()) return done(false);
  if (it->second.keeper == nullptr) return done(true);
  it->second.keeper->remove_kept(ns, job, std::move(done));
}

Result<std::unique_ptr<ports::Cluster>> Fleet::open_here(const config::Config& config,
                                                         const config::Cluster& cluster) const {
  const std::string place = data_dir_ + "/clusters/" + cluster.name;
  switch (cluster.type) {
    case config::ClusterType::Local: {
      auto node = machine_of(cluster);
      if (!node) return node.error();
      clusters::LocalOptions options;
      options.name = cluster.name;
      options.directory = place;
      options.node = std::move(*node);
      options.stop_grace = stop_grace_of(cluster);
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
      options.run_time = run_time_of(cluster);
      options.start_retry_pause = config.scheduling.start_retry_pause;
      return as_cluster(
          clusters::SimulatedCluster::open(std::move(options), {ports_.inbox, ports_.payloads}));
    }
    case config::ClusterType::Kubernetes:
      break;
  }
  return invalid("nobody said how it is reached");
}

/// Of another type it is after a restart.
Status Fleet::change_here(Opened& opened, const config::Cluster& cluster) {
  if (opened.made_of.cluster == cluster) return Ok{};
  if (auto* local = dynamic_cast<clusters::LocalCluster*>(opened.cluster.get());
      local != nullptr && cluster.type == config::ClusterType::Local) {
    auto node = machine_of(cluster);
    if (!node) return node.error();
    local->change(std::move(*node), stop_grace_of(cluster));
    opened.made_of.cluster = cluster;
  }
  if (auto* simulated = dynamic_cast<clusters::SimulatedCluster*>(opened.cluster.get());
      simulated != nullptr && cluster.type == config::ClusterType::Simulated) {
    simulated->change(config::node_specs(cluster), run_time_of(cluster));
    opened.made_of.cluster = cluster;
  }
  return Ok{};
}

std::unique_ptr<ports::Cluster> Fleet::open_kubernetes(const config::ClusterPart& part,
                                                       const Result<kube::Access>& access) const {
  const config::Cluster& cluster = part.cluster;
  const auto absent = [&](const Error& why) {
    return std::make_unique<clusters::AbsentCluster>(cluster.name, why.message, ports_.inbox);
  };
  if (!access) return absent(access.error());
  clusters::KubernetesOptions options;
  options.name = cluster.name;
  options.access = *access;
  options.book.ready_within = cluster.ready_within.value_or(config::ready_within_default);
  options.book.start_retry_pause = part.start_retry_pause;
  options.gpus.aliases = part.gpu_aliases;
  put_pod_defaults(part, cluster.kube_namespace.value_or(access->ns), options);
  if (part.appwrappers && part.appwrappers->cluster == cluster.name) {
    const std::string& only = part.appwrappers->kube_namespace;
    // What they wrap is made where they stand.
    options.objects.namespaces.push_back(only.empty() ? "*" : only);
  }
  if (part.appwrappers && part.appwrappers->profile == config::WrapperProfile::Mcad) {
    options.is_aggregate = true;
    options.objects.binding = clusters::NodeBinding::None;
  }
  options.objects.server = self_.server;
  options.objects.epoch = self_.epoch;
  auto opened = clusters::KubernetesCluster::open(
      std::move(options), {ports_.inbox, ports_.payloads, ports_.logs, &ports_.notes, ports_.sights,
                           ports_.departures});
  if (!opened) return absent(opened.error());
  return std::move(*opened);
}

}  // namespace muster::app
