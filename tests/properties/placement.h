// Whether a placement keeps what its job asked for, judged from the specs alone: a second opinion
// that shares no code with fit, gang or fleet.
#pragma once

#include <string>

#include "model/event.h"
#include "sched/world.h"

namespace muster::properties {

/// Of a placement that was just applied. Empty, or what is wrong with it. `capacity`: what the
/// fleet has in all.
std::string wrong_placement(const sched::World& world, const model::Placed& placed,
                            const sched::Capacity& capacity);

}  // namespace muster::properties
