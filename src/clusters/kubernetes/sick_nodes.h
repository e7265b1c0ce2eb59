// Which attempts have pods on nodes that are no place for them any more, because a label says so.
// Pure.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "clusters/kubernetes/gang_state.h"
#include "model/node_health.h"

namespace muster::clusters {

/// Names of the nodes with a label.
using NodesWith =
    std::function<const std::set<std::string>&(const std::string& label, const std::string& value)>;

/// Nodes on which pods run that ask for the resource of a mark which the node has.
std::set<std::string> sick_nodes_of(const std::vector<model::NodeMark>& marks,
                                    const std::vector<PodSight>& pods, const NodesWith& nodes_with);

/// For people, and for those who know the words of v1beta2.
std::string sick_reason(const std::set<std::string>& nodes);

}  // namespace muster::clusters
