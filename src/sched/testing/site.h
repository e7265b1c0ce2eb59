// A small world and the engine that steps it, for the tests of sched.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sched/plan.h"
#include "sched/world.h"

namespace muster::sched::testing {

inline model::NodeSpec node_spec(const std::string& name, int gpus,
                                 const std::string& type = "A100") {
  model::NodeSpec node;
  node.name = name;
  node.allocatable.cpu = {64'000};
  node.allocatable.memory = {std::int64_t{256} << 30};
  node.gpu_count = gpus;
  node.gpu_type = gpus > 0 ? type : "";
  return node;
}

/// `pods` pods of `gpus` devices and one core each.
inline model::JobSpec job_spec(const std::string& id, const std::string& queue, int pods,
                               int gpus) {
  model::JobSpec spec;
  spec.id = id;
  spec.user = "ann";
  spec.name = id;
  spec.queue = queue;
  model::PodSet set;
  set.count = pods;
  set.pod.requests.cpu = {1000};
  set.pod.gpu.count = gpus;
  spec.gang.sets.push_back(set);
  return spec;
}

struct Site {
  World world;
  Agenda agenda;
  Policy policy;
  Time now{0};
  std::uint64_t seq = 0;

  Site() { policy.half_life = Duration{0}; }

  bool apply(model::EventBody body) { return sched::apply(world, {now, std::move(body)}, policy); }
  void cluster(const std::string& name) {
    model::ClusterSpec spec;
    spec.name = name;
    apply(model::ClusterSet{spec});
  }
  void node(const std::string& cluster, const model::NodeSpec& spec) {
    apply(model::NodeSeen{cluster, spec});
  }
  /// GPU limits in whole devices.
  void queue(const std::string& name, std::optional<std::int64_t> guaranteed = {},
             const std::string& parent = "") {
    model::QueueSpec spec;
    spec.name = name;
    spec.parent = parent;
    if (guaranteed) spec.limits["gpu"].guaranteed = *guaranteed * 1000;
    apply(model::QueueSet{spec});
  }
  JobSlot submit(const model::JobSpec& spec) {
    apply(model::JobSubmitted{spec, ++seq});
    return world.find_job(spec.id);
  }
  /// Plans, applies, and says that what was placed runs.
  Plan plan() {
    Plan made = sched::plan(world, agenda, policy, now);
    for (const model::Decision& decision : made.decisions) {
      apply(model::to_event(decision));
      if (const auto* placed = std::get_if<model::Placed>(&decision))
        apply(model::Started{placed->job, placed->attempt});
    }
    return made;
  }
  const Job& job(const std::string& id) const { return world.job(world.find_job(id)); }
  ClusterId cluster_id(const std::string& name) const { return world.fleet.find_cluster(name); }
  const Node& node_of(const std::string& cluster, const std::string& name) const {
    return world.fleet.node(world.fleet.find_node(cluster_id(cluster), name));
  }
};

}  // namespace muster::sched::testing
