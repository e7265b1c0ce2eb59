// What a pod asks about other pods (affinity, anti-affinity both ways, spread) and about ports,
// judged from the specs of all pods in the cluster: a second opinion that shares no code with
// sched/relations.
#pragma once

#include <string>

#include "model/event.h"
#include "sched/world.h"

namespace muster::properties {

/// Of a placement that was just applied. Empty, or what is wrong with it.
std::string wrong_neighbours(const sched::World& world, const model::Placed& placed);

}  // namespace muster::properties
