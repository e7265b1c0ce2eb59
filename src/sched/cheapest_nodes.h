// Who must go so that there is room, looked at node by node: eight small jobs may each be cheap to
// stop, and the one large job beside them cheaper than all eight.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/preempt.h"
#include "sched/room_walk.h"

namespace muster::sched {

/// Those who leave until `walk` has room for `wanted` pods, if they leave the nodes first where a
/// pod's room costs the least work; of each node the lowest first, and nobody who is not needed
/// there. A gang is counted once, with all its nodes. `list` has the lowest first. Only some nodes
/// more than are needed are looked at closely. Nothing if that does not make the room.
std::vector<const Suspect*> cheapest_by_node(const World& world, RoomWalk walk,
                                             const PodShapeRec& pod,
                                             const std::vector<const Suspect*>& list,
                                             std::int64_t wanted);

}  // namespace muster::sched
