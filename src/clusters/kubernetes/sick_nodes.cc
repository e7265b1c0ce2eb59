#include "clusters/kubernetes/sick_nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace muster::clusters {

std::set<std::string> sick_nodes_of(const std::vector<model::NodeMark>& marks,
                                    const std::vector<PodSight>& pods,
                                    const NodesWith& nodes_with) {
  std::set<std::string> sick;
  for (const model::NodeMark& mark : marks) {
    const std::set<std::string>& marked = nodes_with(mark.label, mark.value);
    if (marked.empty()) continue;
    for (const PodSight& pod : pods) {
      const bool asks =
          std::find(pod.devices.begin(), pod.devices.end(), mark.resource) != pod.devices.end();
      const bool runs = pod.phase == "Running" && !pod.is_deleting;
      if (asks && runs && marked.contains(pod.node)) sick.insert(pod.node);
    }
  }
  return sick;
}

std::string sick_reason(const std::set<std::string>& nodes) {
  return fmt::format("Workload contains pods using NoExecute resources on Nodes: {}",
                     fmt::join(nodes, ", "));
}

}  // namespace muster::clusters
