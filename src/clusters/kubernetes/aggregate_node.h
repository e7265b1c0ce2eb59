// A cluster as one node: what all its usable nodes have together. For the profile that fits jobs
// against sums, as MCAD does, and leaves the nodes to the cluster's own scheduler. GPUs are an
// amount like any other there. Pure.
#pragma once

#include <map>
#include <string>

#include "model/node.h"

namespace muster::clusters {

/// What GPUs are called among the amounts of the one node, and in jobs of that profile.
inline constexpr const char* aggregate_gpu = "nvidia.com/gpu";
inline constexpr const char* aggregate_name = "all-nodes";

class AggregateNode {
 public:
  /// One that is not ready, is cordoned, or keeps pods away by a taint counts for nothing.
  void put(const model::NodeSpec& node);
  void remove(const std::string& name);
  model::NodeSpec sum() const;

 private:
  struct Part {
    model::Resources allocatable;
    int pods = 0;
  };
  std::map<std::string, Part> parts_;
};

/// A pod of somebody else, as it counts there.
model::ForeignPod aggregate_pod(model::ForeignPod pod);

}  // namespace muster::clusters
