// The pod that submits a RayJob. KubeRay makes it of a template of its own unless the RayJob has
// one: so that it is counted, and carries the labels of its job, that template is written down. As
// of KubeRay 1.4.2. Pure.
#pragma once

#include <boost/json/value.hpp>

namespace muster::manifest {

/// Writes spec.submitterPodTemplate into a RayJob that gets a submitter and says nothing of it.
/// True: it did.
bool write_submitter(boost::json::value& object);

}  // namespace muster::manifest
