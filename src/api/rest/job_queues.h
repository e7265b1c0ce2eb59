// Which queues a job may be in: its own is of the main tree, which orders jobs; beside it a job may
// charge one queue of each further tree.
#pragma once

#include <string>

#include "base/result.h"
#include "model/job.h"
#include "sched/world.h"

namespace muster::api {

/// Of a job that is submitted. The error names the field, and what to do.
Status check_queues(const sched::World& world, const model::JobSpec& spec);
/// Of a job that is to be moved there.
Status check_queue(const sched::World& world, const std::string& queue);

}  // namespace muster::api
