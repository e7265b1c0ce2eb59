// Nodes and pods of Kubernetes as the model sees them. Pure: JSON in, values out.
//
// What cannot be read (an amount of a resource nobody knows) counts as nothing and never stops the
// rest: a cluster is somebody else's, and one strange node must not hide the others.
#pragma once

#include <boost/json/value.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/node.h"

namespace muster::clusters {

/// How GPUs are named in a cluster.
struct GpuNaming {
  /// Resources that are whole GPUs.
  std::vector<std::string> resources = {"nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915"};
  /// Labels of nodes whose value is the type of their GPUs, the first that is there.
  std::vector<std::string> type_labels = {
      "nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "k8s.amazonaws.com/accelerator",
      "amd.com/gpu.product-name", "accelerator"};
  /// What people call a type: "NVIDIA-A100-SXM4-80GB" is "A100". The longest key that begins the
  /// value wins; a value without one stays as it is.
  std::map<std::string, std::string> aliases = {};
  /// Label with the memory of one device in MiB.
  std::string memory_label = "nvidia.com/gpu.memory";
};

/// The type of a label's value: an alias, or the value.
std::string gpu_type_of(const std::string& label_value, const GpuNaming& naming);

model::NodeSpec node_spec_of(const boost::json::value& node, const GpuNaming& naming);

/// What a pod takes from its node.
struct PodUse {
  model::Resources requests = {};
  int gpus = 0;
  friend bool operator==(const PodUse&, const PodUse&) = default;
};

/// As the Kubernetes scheduler counts it: the sum of containers and sidecars, or the highest of the
/// init containers with the sidecars started before it, whichever is more; pod-level requests where
/// they are given; and the overhead of the runtime class. While a resize is under way, the larger
/// of what is asked and what the node has allocated.
PodUse pod_use_of(const boost::json::value& pod, const GpuNaming& naming);

/// Whether it takes room on its node: bound, and not ended.
bool takes_room(const boost::json::value& pod);

/// A pod that Muster did not make, if it takes room.
std::optional<model::ForeignPod> foreign_pod_of(const boost::json::value& pod,
                                                const GpuNaming& naming);

}  // namespace muster::clusters
