// What pods ask of their nodes, in Kubernetes' words. Pure.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <set>
#include <string>

#include "model/job.h"
#include "model/selector.h"

namespace muster::clusters {

/// How firmly pods keep to the planned nodes.
enum class NodeBinding { Require, Prefer, None };

/// Into the spec of a pod template, beside what it asks already. A template of many pods takes the
/// set of their nodes, not a node for each: whatever it asks holds on any of them.
void bind_to_nodes(boost::json::value& spec, const std::set<std::string>& nodes,
                   NodeBinding binding);

/// Selectors, affinity and spread of a shape, into the spec of a pod.
void put_asks(boost::json::value& spec, const model::PodShape& pod);

boost::json::object to_json(const model::Toleration& toleration);
/// Ports of a container.
boost::json::array host_ports(const model::PodShape& pod);

}  // namespace muster::clusters
