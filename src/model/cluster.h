// Clusters, their health, and the pools that slice them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/selector.h"

namespace muster::model {

/// Ready takes new jobs. Degraded too, but scores lower. Cordoned takes none and leaves running
/// ones alone. Draining takes none and its jobs are moved away. Unreachable takes none; after
/// `grace` its jobs wait or are rerun, as each chose.
enum class Health { Ready, Degraded, Unreachable, Draining, Cordoned };

/// What people allow a cluster, whatever it says of itself: kept in the books, so that it holds
/// after a restart and when the cluster was away and comes back.
enum class Admission { Open, Cordoned, Draining };

/// What counts for the planner. A cluster that cannot be reached cannot be drained either.
constexpr Health health_under(Admission admission, Health reported) {
  if (admission == Admission::Open || reported == Health::Unreachable) return reported;
  return admission == Admission::Cordoned ? Health::Cordoned : Health::Draining;
}

struct ClusterSpec {
  std::string name;
  Labels labels;  // data locality and the like
  std::map<std::string, std::int64_t>
      gpu_price_milli;  // per GPU-hour and type, in thousandths; missing: 0
  Duration grace = minutes(5);
  Admission admission = Admission::Open;
};

/// A named slice of exactly one cluster. Pools are filters over nodes and may overlap; they are
/// never summed.
struct PoolSpec {
  std::string name;
  std::string cluster;
  Labels node_selector;
  std::vector<Toleration> tolerations;  // added to those of the pods sent here
};

/// A job sent to a fleet pool runs, whole, in the best of its pools.
struct FleetPoolSpec {
  std::string name;
  std::vector<std::string> pools;
};

}  // namespace muster::model
