// Slots of World's tables. They are dense, reused never or with a generation, and mean nothing
// outside one World.
#pragma once

#include "base/id.h"

namespace muster::sched {

using ClusterId = Id<struct ClusterTag>;
using NodeId = Id<struct NodeTag>;
using ProfileId = Id<struct ProfileTag>;
using ClassId = Id<struct ClassTag>;
using TypeId = Id<struct GpuTypeTag, std::uint16_t>;
using GpuStateId = Id<struct GpuStateTag>;
using PodShapeId = Id<struct PodShapeTag>;
using ShapeId = Id<struct ShapeTag>;
using PoolId = Id<struct PoolTag>;
using QueueId = Id<struct QueueTag>;
using ResourceId = Id<struct ResourceTag, std::uint16_t>;
using LineId = Id<struct LineTag>;
using JobSlot = Id<struct JobTag>;
using TextId = Id<struct TextTag>;
using HistoryId = Id<struct HistoryTag>;
using ReservationId = Id<struct ReservationTag>;

}  // namespace muster::sched
