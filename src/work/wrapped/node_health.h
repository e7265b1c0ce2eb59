// Pods of AppWrappers keep away from nodes whose labels say that their devices are not well, as the
// controller of v1beta2 has it for Autopilot. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <vector>

#include "model/node_health.h"

namespace muster::work {

/// Of GPUs, as Autopilot labels nodes.
std::vector<model::NodeHealth> autopilot_health();

/// Adds affinity to a pod template that asks for one of the resources: required away from nodes
/// that refuse or evict, preferred away from those to avoid.
void keep_from_sick_nodes(boost::json::value& pod, const std::vector<model::NodeHealth>& health);

/// What running pods are taken away from.
std::vector<model::NodeMark> evicting_marks(const std::vector<model::NodeHealth>& health);

}  // namespace muster::work
