#include "config/cluster_part.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace muster::config {
namespace {

const Pool* find_pool(const std::vector<Pool>& pools, std::string_view name) {
  const auto found =
      std::find_if(pools.begin(), pools.end(), [&](const Pool& pool) { return pool.name == name; });
  return found == pools.end() ? nullptr : &*found;
}

}  // namespace

ClusterPart part_of(const Config& config, const Cluster& cluster) {
  ClusterPart part{.cluster = cluster};
  part.gpu_aliases = config.gpu_aliases;
  part.appwrappers = config.appwrappers;
  part.start_retry_pause = config.scheduling.start_retry_pause;
  for (const Pool& pool : config.pools) {
    if (pool.cluster == cluster.name) part.pools.emplace_back(pool).node_selector.clear();
  }
  for (const FleetPool& fleet : config.fleet_pools) {
    FleetPool here{fleet.name, {}};
    std::copy_if(fleet.pools.begin(), fleet.pools.end(), std::back_inserter(here.pools),
                 [&](const std::string& pool) { return find_pool(part.pools, pool) != nullptr; });
    if (!here.pools.empty()) part.fleet_pools.push_back(std::move(here));
  }
  return part;
}

ClusterPart following(const ClusterPart& before, ClusterPart now) {
  if (before.cluster.type != now.cluster.type) return now;  // it had no namespaces
  now.cluster.kube_namespace = before.cluster.kube_namespace;
  now.cluster.namespaces = before.cluster.namespaces;
  for (Pool& pool : now.pools) {
    if (const Pool* known = find_pool(before.pools, pool.name))
      pool.kube_namespace = known->kube_namespace;
  }
  for (const Pool& pool : before.pools) {  // its jobs may run on
    if (pool.kube_namespace && find_pool(now.pools, pool.name) == nullptr)
      now.pools.push_back(pool);
  }
  now.gpu_aliases = before.gpu_aliases;
  now.appwrappers = before.appwrappers;
  now.start_retry_pause = before.start_retry_pause;
  return now;
}

bool makes_pods_alike(const ClusterPart& a, const ClusterPart& b) {
  return a.cluster.image == b.cluster.image && a.cluster.node_binding == b.cluster.node_binding &&
         a.cluster.ready_within == b.cluster.ready_within && a.cluster.pod == b.cluster.pod &&
         a.pools == b.pools && a.fleet_pools == b.fleet_pools;
}

}  // namespace muster::config
