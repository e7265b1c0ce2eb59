// What a pod takes from its node, from its manifest. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <vector>

#include "manifest/amounts.h"

namespace muster::manifest {

struct PodUse {
  model::Resources requests = {};
  int gpus = 0;
  friend bool operator==(const PodUse&, const PodUse&) = default;
};

/// As the Kubernetes scheduler counts it: the sum of containers and sidecars, or the highest of the
/// init containers with the sidecars started before it, whichever is more; pod-level requests where
/// they are given; and the overhead of the runtime class. While a resize is under way, the largest
/// of what is asked, what the node has allocated and what the container still has. A pod template
/// is counted as its pod.
Amounts pod_requests_of(const boost::json::value& pod);
/// The same of limits, as quotas count them: resources without a limit are left out.
Amounts pod_limits_of(const boost::json::value& pod);
PodUse pod_use_of(const boost::json::value& pod, const GpuNaming& naming);

/// The RuntimeClass that a pod, or template, names; "": none.
struct PodRuntime {
  std::string name = {};
  bool has_overhead = false;  // it is counted already: the pod says it
  friend bool operator==(const PodRuntime&, const PodRuntime&) = default;
};
PodRuntime runtime_of(const boost::json::value& pod);

/// Ports of the node that it takes.
std::vector<int> host_ports_of(const boost::json::value& pod);

}  // namespace muster::manifest
