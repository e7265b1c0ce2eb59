#include "config/example_jobs.h"

#include <fmt/format.h>

#include <algorithm>

namespace muster::config {
namespace {

constexpr int gpus_most = 8;
constexpr int pods_most = 4;

const Cluster* first_of(const Config& config, ClusterType type) {
  const auto it = std::find_if(config.clusters.begin(), config.clusters.end(),
                               [&](const Cluster& cluster) { return cluster.type == type; });
  return it == config.clusters.end() ? nullptr : &*it;
}

/// Nodes with the most GPUs that simulated clusters have; none if they have none.
struct GpuNodes {
  int gpus = 0;
  int count = 0;
};
GpuNodes largest_gpu_nodes(const Config& config) {
  GpuNodes largest;
  for (const Cluster& cluster : config.clusters) {
    if (cluster.type != ClusterType::Simulated) continue;
    for (const NodeGroup& group : cluster.nodes) {
      for (const auto& [type, gpus] : group.gpu) {
        if (gpus > largest.gpus) largest = {gpus, group.count};
      }
    }
  }
  return largest;
}

std::string train_on(const Cluster& local) {
  const int slots = local.slots.value_or(0);
  return fmt::format(
      "muster submit --name train --cluster {}{}{} -- sh -c 'echo $RANK of $WORLD_SIZE'",
      local.name, slots == 1 ? "" : " --pods 2", slots > 0 ? " --gpus 1" : "");
}

}  // namespace

std::vector<std::string> example_jobs(const Config& config) {
  const Cluster* local = first_of(config, ClusterType::Local);
  std::vector<std::string> jobs;
  jobs.emplace_back("muster run -- sh -c 'echo hello; exit 3'");
  const GpuNodes nodes = largest_gpu_nodes(config);
  if (nodes.gpus > 0) {
    jobs.push_back(fmt::format("muster submit --name train --gpus {} --pods {} -- sleep 60",
                               std::min(nodes.gpus, gpus_most), std::min(nodes.count, pods_most)));
  } else {
    jobs.push_back(local != nullptr ? train_on(*local)
                                    : "muster submit --name train -- sh -c 'echo hello'");
  }
  return jobs;
}

}  // namespace muster::config
