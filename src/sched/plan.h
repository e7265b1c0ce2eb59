// The decision. plan() looks at the world, tries what changed in the order of DESIGN.md
// ("Scheduling"), and returns what to do as a value; whoever calls it commits the decisions as
// events and applies them. It needs the world mutable because it tries placements on it, but leaves
// it as it found it (a test compares hashes).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/event.h"
#include "sched/agenda.h"
#include "sched/policy.h"
#include "sched/verdict.h"
#include "sched/world.h"

namespace muster::sched {

/// The table that chose a cluster, best first; one row a cluster.
struct PlacementScore {
  std::string job;
  std::vector<ClusterScore> rows;
};

struct Plan {
  std::vector<model::Decision> decisions;
  /// One per Placed and per job that others are stopped for, in the order of the decisions.
  std::vector<PlacementScore> scores;
  std::uint32_t tried = 0;  // lines looked at
  /// Nothing will change before this time without a new event.
  Time next_look = Time::never();
};

Plan plan(World& world, Agenda& agenda, const Policy& policy, Time now);

/// Why a job waits, as of the last plan. Exactly one answer for every job that is held or waiting.
Why verdict(const World& world, const Agenda& agenda, JobSlot job, Time now);

/// The same with the numbers of this moment: what keeps a line waiting for room or quota may have
/// changed since it was last tried without letting it start.
Why fresh_verdict(World& world, Agenda& agenda, const Policy& policy, JobSlot job, Time now);

/// When it is expected to start: not before what keeps it waiting now is over. Never for a job that
/// cannot start as things are: no cluster or no quota could ever hold it, it is on hold, or it
/// depends on such a job. In expected_start.cc.
Estimate expected_start(World& world, Agenda& agenda, const Policy& policy, JobSlot job, Time now);

}  // namespace muster::sched
