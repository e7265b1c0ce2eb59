// One waiting job, tried on the world as it is at the moment of asking, without a decision: "would
// it start here, with so many pods, if it left by then?" Everything placed is taken back.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sched/agenda.h"
#include "sched/backfill.h"
#include "sched/counts.h"
#include "sched/gang.h"
#include "sched/ids.h"
#include "sched/policy.h"
#include "sched/preempt.h"
#include "sched/route.h"
#include "sched/undo.h"
#include "sched/verdict.h"
#include "sched/whatif.h"
#include "sched/world.h"

namespace muster::sched {

/// The agenda's cache, so that what plan() found out is used; before the first plan, which makes
/// the model of costs, a cache of its own and a choice of nodes that needs no model.
class Kit {
 public:
  Kit(Agenda& agenda, const Policy& policy)
      : agenda_(agenda), policy_(policy), cache_(agenda.cache.model.made ? agenda.cache : own_) {
    if (!agenda.cache.model.made) policy_.node_choice = NodeChoice::BestFit;
  }
  Kit(const Kit&) = delete;
  Kit& operator=(const Kit&) = delete;
  Agenda& agenda() { return agenda_; }
  const Policy& policy() const { return policy_; }
  FitCache& cache() { return cache_; }

 private:
  Agenda& agenda_;
  Policy policy_;
  FitCache own_;
  FitCache& cache_;
};

/// Where it starts; the pods have been taken back.
struct Start {
  const Venue* venue = nullptr;
  std::vector<PodOn> pods;
};

class Tryout {
 public:
  Tryout(World& world, Kit& kit, JobSlot slot, Time now);

  const Job& job() const { return world_.job(slot_); }
  const Shape& shape() const { return shape_; }
  const Venues& venues() const { return venues_; }
  const Asker& asker() const { return asker_; }

  /// Quota in any tree, and what is kept there for jobs with reserved nodes.
  std::optional<OverQuota> over(const Charges& charges) const { return over(charges, asker_); }
  Charges charges(const Venue& venue, const Counts& counts) {
    return world_.charges(shape_, counts, venue.types, policy_);
  }
  /// On real nodes, whatever the quota. The pods stay there until take_back().
  std::optional<std::vector<PodOn>> place(const Venue& venue, const Counts& counts);
  void take_back(const std::vector<PodOn>& pods) { placer_.take_back(pods); }

  /// The first venue in which it starts.
  std::optional<Start> start(const Venues& venues, const Counts& counts, const Asker& asker);
  bool starts(const Counts& counts) { return start(venues_, counts, asker_).has_value(); }
  /// Venues with quota and room by count, best first.
  std::vector<Candidate> ranked(const Venues& venues, const Counts& counts);
  /// The best of them in which it starts.
  std::optional<Start> best(const Venues& venues, const Counts& counts);
  /// The fewest pods less, between `low` and `high`, with which it starts; -1 if none.
  int fewest_less(const Counts& from, const Counts& floor, int low, int high);

  std::optional<WhenJobEnds> when_job_ends();
  /// It lacks room, no job's end makes it, and nothing is kept for others that they might give
  /// back.
  bool is_hopeless(const Why& why, const std::optional<WhenJobEnds>& ends) const;
  /// Whom plan() would stop for it, with the priority it has at the moment.
  std::optional<Preemption> victims(const Venues& venues);
  /// The class above which it is worth to look for victims in this venue, if there is one; not
  /// exact if it is above `cutoff`.
  std::optional<int> highest_needed(const Venue& venue, int cutoff);
  /// From now on searches for victims end after so many pods looked at, all together.
  void limit_looks(std::int64_t pods) { pool().limit_looks(pods); }
  bool cut_short() { return pool().cut_short(); }
  /// What plan() would say about it, as if it were tried now for the first time.
  Why why_not();

 private:
  std::optional<OverQuota> over(const Charges& charges, const Asker& asker) const;
  /// In some venues it may stand inside its guarantee, in others not.
  Asker asker_at(const Venue& venue, const Counts& counts, const Asker& asker);
  VictimPool& pool();
  std::optional<WhenJobEnds> when_room(const Venues& venues, const Asker& patient,
                                       Calendar& calendar, Time limit);
  std::optional<WhenJobEnds> when_allowed(const Charges& charges, Calendar& calendar);
  std::optional<WhenJobEnds> when_allowed(const Charges& charges,
                                          const std::vector<Departure>& ends, QuotaBound& bound);

  World& world_;
  Kit& kit_;
  const Policy& policy_;
  JobSlot slot_;
  Time now_;
  Placer placer_;
  Shape shape_;  // a copy: interning moves the table
  Venues venues_;
  Capacity capacity_;
  Asker asker_;
  std::optional<VictimPool> pool_;  // made when first needed
};

}  // namespace muster::sched
