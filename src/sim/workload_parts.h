// What generated workloads are made of: machines, pods, queues of the usual sizes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "sim/workload.h"

namespace muster::sim {

constexpr std::int64_t gib = std::int64_t{1} << 30;

inline model::NodeSpec gpu_node(std::string name, int gpus, std::string type) {
  model::NodeSpec node;
  node.name = std::move(name);
  node.allocatable.cpu = {gpus * 12'000};
  node.allocatable.memory = {gpus * 128 * gib};
  node.gpu_count = gpus;
  node.gpu_type = std::move(type);
  node.gpu_memory = {80 * gib};
  return node;
}

inline model::NodeSpec cpu_node(std::string name, int cores) {
  model::NodeSpec node;
  node.name = std::move(name);
  node.allocatable.cpu = {cores * 1000};
  node.allocatable.memory = {cores * 4 * gib};
  return node;
}

/// `count` pods with `gpus` whole GPUs each.
inline model::PodSet gpu_pods(int count, int gpus) {
  model::PodSet set;
  set.name = "worker";
  set.count = count;
  set.pod.requests.cpu = {std::max(1, gpus) * 8'000};
  set.pod.requests.memory = {std::max(1, gpus) * 64 * gib};
  set.pod.gpu.count = gpus;
  return set;
}

inline model::QueueSpec queue(std::string name, std::uint32_t weight, int guaranteed_gpus) {
  model::QueueSpec spec;
  spec.name = std::move(name);
  spec.weight = weight;
  if (guaranteed_gpus > 0) spec.limits["gpu"].guaranteed = guaranteed_gpus * 1000;
  return spec;
}

inline void sort_jobs(Workload& workload) {
  std::sort(workload.jobs.begin(), workload.jobs.end(), [](const SimJob& a, const SimJob& b) {
    if (a.submit != b.submit) return a.submit < b.submit;
    return a.spec.id < b.spec.id;
  });
}

}  // namespace muster::sim
