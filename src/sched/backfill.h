// When and where a gang that does not fit now will fit, if jobs end when expected.
#pragma once

#include <cstdint>
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
  const std::vector<PodOn>* placed = nullptr;  // in this plan; else the job knows its pods
  std::uint64_t types = 0;  // GPU types of its nodes, a bit for each; 0 if not known
};

/// The expected ends in one cluster, soonest first, ties by id. Put in order as far as asked for:
/// most who ask want the first few of thousands.
class Departures {
 public:
  std::size_t size() const { return all_.size(); }
  const Departure& at(const World& world, std::size_t index);
  const std::vector<PodOn>& pods(const World& world, std::size_t index);
  /// There is one at `index`, and it is before `limit`. All later ones may stay without an order.
  bool is_before(const World& world, std::size_t index, Time limit);
  /// Soon asked for: jobs are scattered, so they are on their way while others are looked at.
  void fetch_behind(const World& world, std::size_t index) const;
  const std::vector<Departure>& unordered() const { return all_; }
  void reserve(std::size_t count) { all_.reserve(count); }
  void add(const Departure& departure);
  void set_end(JobSlot job, Time end);

 private:
  using Place = std::vector<Departure>::iterator;
  void put_in_order(const World& world, std::size_t index, Place until);

  std::vector<Departure> all_;
  std::size_t in_order_ = 0;  // so many at the front
};

/// Of running jobs and of those placed in this plan. Read when first asked for.
class Calendar {
 public:
  Calendar(const World& world, const Policy& policy, Time now)
      : world_(world), policy_(policy), now_(now) {}
  Departures& of(ClusterId cluster);
  /// `pods` must stay where it is as long as the calendar is used.
  void placed(ClusterId cluster, JobSlot job, const std::vector<PodOn>& pods);
  /// It is told to leave in this plan.
  void leaves(JobSlot job);

 private:
  struct Sheet {
    bool read = false;
    Departures endings;
    std::vector<JobSlot> leaving;  // told so before it was read
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
  std::size_t venue = 0;      // position in Venues::all
};

/// The earliest start over all venues, ties by their order. Nothing if the gang never fits beside
/// what does not end, or not before `limit`. Nodes reserved for others are not counted on. Leaves
/// the world as it was.
std::optional<FutureFit> earliest_fit(World& world, Placer& placer, const Venues& venues,
                                      const Shape& shape, const Asker& asker, Calendar& calendar,
                                      Time limit = Time::never());

/// The start with the best score: the earliest, unless a cluster that is cheaper, near the data or
/// in better health is free not much later.
std::optional<FutureFit> best_future_fit(World& world, Placer& placer, const Policy& policy,
                                         const Venues& venues, const Shape& shape,
                                         const Asker& asker, Calendar& calendar, Time now);

}  // namespace muster::sched
