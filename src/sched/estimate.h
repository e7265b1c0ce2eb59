// When a waiting job will start: a fluid estimate per line that costs a few divisions, and the
// score of past estimates, which sets the width of the band.
#pragma once

#include "base/time.h"
#include "sched/policy.h"
#include "sched/verdict.h"
#include "sched/world.h"

namespace muster::sched {

/// How long this job is expected to run: what its user's jobs of that name took lately, at most its
/// limit.
Duration expected_run_time(const World& world, const Job& job, const Policy& policy);

/// When an attempt is expected to end, looked at from `now`: always later than now. A job that
/// outlives its expectation is expected to take twice as long, then four times, up to its limit.
Time expected_end(const World& world, const Stay& stay, const Policy& policy, Time now);

/// A start with the band that past estimates suggest.
Estimate with_band(const World& world, Time expected, Time now);

/// Expected start of a waiting job, from its reservation or from the work ahead of it in its queue.
Estimate estimate(const World& world, JobSlot job, const Policy& policy, Time now);

/// Books the outcome of an estimate, if one was given: the job started at `now`.
void score_estimate(EstimateScore& score, const Job& job, Time now);

}  // namespace muster::sched
