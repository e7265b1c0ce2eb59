// Who must go so that a waiting gang can start.
//
// Every job has a standing: (inside its queue's guaranteed amounts or not, priority class). Inside
// or not is found by filling the guarantee of the lowest queue that has one with its jobs, highest
// priority first, skipping what does not fit any more. A victim's standing is always below its
// beneficiary's. The potential is the multiset of the standings of all running jobs, compared from
// the highest down: every start and every preemption raises it and it is bounded, so no sequence of
// them repeats. Shares and their memory play no part here: half-life use orders admission, never
// eviction.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "model/event.h"
#include "sched/gang.h"
#include "sched/route.h"

namespace muster::sched {

struct Standing {
  bool inside = false;
  int priority = 0;  // class: capped by the queue
  friend auto operator<=>(const Standing&, const Standing&) = default;
};

struct Preemption {
  ClusterId cluster;
  std::vector<JobSlot> victims;
  std::vector<NodeId> nodes;  // where the beneficiary will go
  model::StopWhy why = model::StopWhy::Priority;
  std::int64_t lost_gpu_ms = 0;  // GPU-time since the last checkpoints
  std::vector<int> counts;
};

/// A queue's cap applied.
int priority_class(const World& world, const Job& job, const Policy& policy);

/// What the job would stand at if it ran beside the jobs that run now.
Standing standing(const World& world, JobSlot job, const Charges& charges, const Policy& policy);

struct VictimSearch {
  std::optional<Preemption> found;
  /// When a job now protected by its minimum run time loses that protection; never() if there is
  /// none.
  Time protected_until = Time::never();
};

/// The cheapest set of victims over all venues, or nothing. Leaves the world as it was.
VictimSearch find_victims(World& world, Placer& placer, const Policy& policy, const Venues& venues,
                          JobSlot job, const Capacity& capacity, int limit, Time now);

}  // namespace muster::sched
