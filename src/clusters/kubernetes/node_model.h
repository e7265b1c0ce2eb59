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

#include "manifest/pod_use.h"
#include "model/node.h"

namespace muster::clusters {

using manifest::GpuNaming;
using manifest::pod_use_of;
using manifest::PodUse;

/// The type of a label's value: an alias, or the value.
std::string gpu_type_of(const std::string& label_value, const GpuNaming& naming);

model::NodeSpec node_spec_of(const boost::json::value& node, const GpuNaming& naming);

/// Whether it takes room on its node: bound, and not ended.
bool takes_room(const boost::json::value& pod);

/// A pod that Muster did not make, if it takes room.
std::optional<model::ForeignPod> foreign_pod_of(const boost::json::value& pod,
                                                const GpuNaming& naming);

}  // namespace muster::clusters
