// The rules of safety, counted from outside where that is possible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "control/loop.h"
#include "ports/store.h"
#include "sim/record.h"
#include "sim/workload.h"

namespace muster::sim {

/// What must hold after every step; empty, or the first rule found broken. `accepted`: distinct
/// jobs whose submit was committed.
std::string check_step(const control::Loop& loop, const Record& record, std::size_t accepted);

/// What each queue uses now, by queue and resource.
std::map<std::string, std::int64_t> uses(const sched::World& world);

/// A restart now would change nothing in the books, nor in what queues use: what is seen of nodes
/// has no part in either.
std::string check_books(const control::Loop& loop, const ports::Store& store);

/// What must hold when all is over: the world of the journal, shown the same nodes, is the live
/// world; and each job's last state is what the clusters saw of it.
std::string check_end(const control::Loop& loop, const ports::Store& store, const Record& record,
                      const Workload& workload);

}  // namespace muster::sim
