// The jobs that have not ended, in whatever way they wait: in lines, on hold, for others, for a
// time; and those that are placed. All jobs are looked at: for what administrators do now and then,
// not for what every request does.
//
// Thread contract: on the loop's thread.
#pragma once

#include <cstdint>

#include "model/state.h"
#include "sched/world.h"

namespace muster::api {

template <typename Look>
void each_unfinished(const sched::World& world, Look look) {
  for (std::uint32_t i = 0; i < world.job_count(); ++i) {
    const sched::Job& job = world.job(sched::JobSlot{i});
    if (!job.id.empty() && !model::is_final(job.state)) look(job);
  }
}

}  // namespace muster::api
