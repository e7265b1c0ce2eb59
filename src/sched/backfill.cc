#include "sched/backfill.h"

#include <algorithm>

#include "sched/estimate.h"

namespace muster::sched {
namespace {

struct Ending {
  Time end;
  JobSlot job;
};

std::vector<Ending> endings(const World& world, const Policy& policy, ClusterId cluster, Time now) {
  std::vector<Ending> list;
  for (const JobSlot slot : world.active_in(cluster)) {
    list.push_back({expected_end(world, world.job(slot), policy, now), slot});
  }
  std::sort(list.begin(), list.end(), [&](const Ending& a, const Ending& b) {
    if (a.end != b.end) return a.end < b.end;
    return world.job(a.job).id < world.job(b.job).id;
  });
  return list;
}

/// Takes running jobs off their nodes in order of their ends, as far as asked; puts them back when
/// it goes out of scope.
class Future {
 public:
  Future(World& world, const std::vector<Ending>& list) : world_(world), list_(list) {}
  ~Future() { advance_to(0); }
  Future(const Future&) = delete;
  Future& operator=(const Future&) = delete;

  void advance_to(std::size_t ended) {
    for (; ended_ < ended; ++ended_) {
      for (const PodOn& pod : world_.job(list_[ended_].job).active->pods)
        world_.fleet.vacate(pod, world_.shapes);
    }
    while (ended_ > ended) {
      --ended_;
      for (const PodOn& pod : world_.job(list_[ended_].job).active->pods)
        world_.fleet.occupy(pod, world_.shapes);
    }
  }

 private:
  World& world_;
  const std::vector<Ending>& list_;
  std::size_t ended_ = 0;
};

}  // namespace

std::optional<FutureFit> earliest_fit(World& world, Placer& placer, const Policy& policy,
                                      const Venues& venues, const Shape& shape, const Asker& asker,
                                      Time now) {
  std::vector<int> counts;
  for (const SetRec& set : shape.sets) counts.push_back(set.least);
  std::optional<FutureFit> best;
  std::vector<Ending> list;
  ClusterId listed;
  for (const Venue& venue : venues.all) {
    if (venue.cluster != listed) list = endings(world, policy, venue.cluster, now);
    listed = venue.cluster;
    Future future(world, list);
    std::vector<NodeId> nodes;
    const auto fits_after = [&](std::size_t ended) {
      future.advance_to(ended);
      if (!placer.view(venue, shape, counts, asker).enough) return false;
      const auto pods = placer.place(venue, shape, counts, asker);
      if (!pods) return false;
      nodes.clear();
      for (const PodOn& pod : *pods) nodes.push_back(pod.node);
      placer.take_back(*pods);
      return true;
    };
    // Ends only add room: search the shortest sufficient prefix, first by doubling, then by
    // halving.
    std::size_t worth_trying = list.size();
    if (best) {
      while (worth_trying > 0 && list[worth_trying - 1].end >= best->start) --worth_trying;
    }
    std::size_t too_few = 0;
    std::size_t enough = std::min<std::size_t>(1, worth_trying);
    while (enough < worth_trying && !fits_after(enough)) {
      too_few = enough;
      enough = std::min(enough * 2, worth_trying);
    }
    if (worth_trying == 0 || !fits_after(enough)) continue;
    while (enough - too_few > 1) {
      const std::size_t middle = too_few + (enough - too_few) / 2;
      (fits_after(middle) ? enough : too_few) = middle;
    }
    fits_after(enough);
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    best = FutureFit{venue.cluster, list[enough - 1].end, nodes};
  }
  return best;
}

}  // namespace muster::sched
