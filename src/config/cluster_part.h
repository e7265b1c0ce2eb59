// What a Kubernetes cluster is opened with: its part of a configuration. It is opened again when
// that changes; where its jobs are stays as it was, and so does what the server promised to change
// at a restart only: pods that are looked for elsewhere would be taken for gone, and run twice.
//
// Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "config/config.h"

namespace muster::config {

struct ClusterPart {
  Cluster cluster;
  std::vector<Pool> pools = {};             // its own, without what only the plan asks for
  std::vector<FleetPool> fleet_pools = {};  // those with pools here, of them these
  std::map<std::string, std::string> gpu_aliases = {};
  std::optional<AppWrappers> appwrappers = {};
  Duration start_retry_pause = {};
  friend bool operator==(const ClusterPart&, const ClusterPart&) = default;
};

ClusterPart part_of(const Config& config, const Cluster& cluster);

/// What one that was opened as `before` is to be now. A new pool has its namespace at once; one
/// that is gone keeps it.
ClusterPart following(const ClusterPart& before, ClusterPart now);

/// Of two that are in the same place: whether pods come out alike, so that it can stay open.
bool makes_pods_alike(const ClusterPart& a, const ClusterPart& b);

}  // namespace muster::config
