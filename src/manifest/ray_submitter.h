// The pod that submits a RayJob. KubeRay makes it of a template of its own unless the RayJob has
// one: so that it is counted, and carries the labels of its job, that template is written down. As
// of KubeRay 1.4.2. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>

namespace muster::manifest {

/// Writes spec.submitterPodTemplate into a RayJob that gets a submitter and says nothing of it.
/// True: it did.
bool write_submitter(boost::json::value& object);
/// Takes it out again, if it is as it would be written.
void drop_written_submitter(boost::json::value& object);
/// The one object of a list, as JSON, as its author wrote it: without a submitter that was written
/// into it. Null: it is no list of one.
boost::json::value only_object(std::string_view list);

}  // namespace muster::manifest
