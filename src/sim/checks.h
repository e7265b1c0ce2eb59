// The rules of safety, counted from outside where that is possible.
#pragma once

#include <cstddef>
#include <string>

#include "control/loop.h"
#include "ports/store.h"
#include "sim/record.h"
#include "sim/workload.h"

namespace muster::sim {

/// What must hold after every step; empty, or the first rule found broken. `accepted`: distinct
/// jobs whose submit was committed.
std::string check_step(const control::Loop& loop, const Record& record, std::size_t accepted);

/// What must hold when all is over: the world of the journal, shown the same nodes, is the live
/// world; and each job's last state is what the clusters saw of it.
std::string check_end(const control::Loop& loop, const ports::Store& store, const Record& record,
                      const Workload& workload);

}  // namespace muster::sim
