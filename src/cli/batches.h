// A job file that is too large for one request, cut into requests: no job stands in the same one as
// a job it depends on, because it needs the id that the server gave that one. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "config/job_file.h"

namespace muster::cli {

/// Indexes of the jobs of each request, in an order that follows the dependencies; each at most
/// `jobs_max` long. The jobs must not depend on each other in a ring (a job file is checked).
std::vector<std::vector<std::size_t>> cut_batches(std::span<const config::Submission> jobs,
                                                  std::size_t jobs_max);

}  // namespace muster::cli
