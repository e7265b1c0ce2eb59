// When and where a gang that does not fit now will fit, if jobs end when expected.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "sched/gang.h"
#include "sched/route.h"

namespace muster::sched {

/// A job that holds nodes and when it is expected to leave them.
struct Departure {
  Time end;
  JobSlot job;
  const std::vector<PodOn>* pods = nullptr;
};

/// Expected ends per cluster, soonest first, ties by id: of running jobs and of those placed in
/// this plan. Looked up when first asked for.
class Calendar {
 public:
  Calendar(const World& world, const Policy& policy, Time now)
      : world_(world), policy_(policy), now_(now) {}
  const std::vector<Departure>& of(ClusterId cluster);
  /// `pods` must stay where it is as long as the calendar is used.
  void placed(ClusterId cluster, JobSlot job, const std::vector<PodOn>& pods);

 private:
  struct Sheet {
    bool read = false;
    bool sorted = false;
    std::vector<Departure> endings;
  };
  Sheet& sheet(ClusterId cluster);

  const World& world_;
  const Policy& policy_;
  Time now_;
  std::vector<Sheet> sheets_;
};

struct FutureFit {
  ClusterId cluster;
  Time start;
  std::vector<NodeId> nodes;  // in the order of their names
  std::uint32_t charges = 0;  // position in Venues::least
};

/// The earliest start over all venues, ties by their order. Nothing if the gang never fits beside
/// what does not end. Nodes reserved for others are not counted on. Leaves the world as it was.
std::optional<FutureFit> earliest_fit(World& world, Placer& placer, const Venues& venues,
                                      const Shape& shape, const Asker& asker, Calendar& calendar);

}  // namespace muster::sched
