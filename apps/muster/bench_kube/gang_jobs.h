// The gangs of the benchmarks: as documents that are submitted to a server, and as the very Jobs
// that a server makes of them, for whoever creates those without one.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "kube/requests.h"

namespace muster::app {

/// The body of a submit of gangs `first` to `first + count - 1`.
std::string gang_submit_body(int first, int count, int pods);

/// Creates of their Jobs, spread over nodes node-0 to node-<nodes - 1>.
Result<std::vector<kube::ApiRequest>> gang_job_requests(int first, int count, int pods, int nodes);

/// What pods of those Jobs need to be admitted.
kube::ApiRequest priority_class_request();

}  // namespace muster::app
