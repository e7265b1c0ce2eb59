// When and where a gang that does not fit now will fit, if running jobs end when expected.
#pragma once

#include <optional>
#include <vector>

#include "base/time.h"
#include "sched/gang.h"
#include "sched/route.h"

namespace muster::sched {

struct FutureFit {
  ClusterId cluster;
  Time start;
  std::vector<NodeId> nodes;
};

/// The earliest start over all venues, ties by their order. Nothing if the gang never fits beside
/// what does not end. Nodes reserved for others are not counted on. Leaves the world as it was.
std::optional<FutureFit> earliest_fit(World& world, Placer& placer, const Policy& policy,
                                      const Venues& venues, const Shape& shape, const Asker& asker,
                                      Time now);

}  // namespace muster::sched
