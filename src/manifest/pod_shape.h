// What the pods of a template need, as the planner takes it. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "manifest/amounts.h"
#include "manifest/pod_sets.h"
#include "manifest/pod_use.h"
#include "model/job.h"

namespace muster::manifest {

/// Requests as the scheduler counts them, selectors, affinity, tolerations, spread and host ports.
/// Errors name the field of the template. Terms over namespaces, and preferred affinity between
/// pods, are left to the cluster's own scheduler.
Result<model::PodShape> pod_shape_of(const boost::json::value& pod, const GpuNaming& naming);

/// The gang that a list of objects is: a set a template.
Result<std::vector<model::PodSet>> pod_sets_of(const ObjectList& list, const GpuNaming& naming);

/// The RuntimeClass of each set's pods. Its overhead counts as said where it was said what such a
/// pod needs, whatever is in it.
std::vector<PodRuntime> runtimes_of(const ObjectList& list);

/// Wishes of the pods that Muster does not weigh when it chooses nodes, one sentence each. The
/// cluster's own scheduler still does.
std::vector<std::string> unweighed_wishes(const ObjectList& list);

}  // namespace muster::manifest
