// Try it, and leave no trace: what a plan puts on nodes, quota and reservations is taken back when
// the trial ends.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "sched/world.h"

namespace muster::sched {

class Trial {
 public:
  explicit Trial(World& world) : world_(world), news_(world.guarantees.take_news()) {
    world_.fleet.log_gains(false);
  }
  ~Trial() {
    for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) take_back(*undo);
    world_.told_to_leave.clear();
    world_.fleet.log_gains(true);
    world_.guarantees.set_news(std::move(news_));
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  /// The pods stand on their nodes already (Placer put them there).
  /// Returns them; they stay where they are until the trial ends.
  struct Kept {
    const std::vector<PodOn>& pods;
    const Charges& charges;
  };
  Kept placed(JobSlot job, std::vector<PodOn> pods, Charges charges) {
    charge(job, charges, +1);
    world_.guarantees.join(world_, job, charges);
    undo_.push_back({job, std::move(pods), std::move(charges), {}, {}, {}});
    return {undo_.back().pods, undo_.back().charges};
  }
  void reserve(const Reservation& reservation) {
    const ReservationId id = world_.add_reservation(reservation);
    undo_.push_back({JobSlot::none(), {}, {}, id, {}, {}});
  }
  void unreserve(ReservationId id) {
    undo_.push_back({JobSlot::none(), {}, {}, id, world_.reservation(id), {}});
    world_.drop_reservation(id);
  }
  /// Its pods will not stay: nobody starts to be near them.
  void told_to_leave(JobSlot job) { world_.told_to_leave.insert(job); }
  /// It will leave for another's sake: what it has of its guarantee is not its own any more.
  void leaves(JobSlot victim) {
    world_.guarantees.leave(world_, victim);
    undo_.push_back({JobSlot::none(), {}, {}, {}, {}, victim});
  }

 private:
  struct Undo {
    JobSlot placed;
    std::vector<PodOn> pods;
    Charges charges;
    ReservationId reservation;
    Reservation dropped;
    JobSlot leaving;
  };
  void charge(JobSlot slot, const Charges& charges, int sign) {
    const Job& job = world_.job(slot);
    world_.quota.charge_for_now(job.queue, charges, sign);
    for (const QueueId extra : job.extra_queues) world_.quota.charge_for_now(extra, charges, sign);
  }
  void take_back(const Undo& undo) {
    if (!undo.leaving.is_none()) {
      world_.settle_guarantee(undo.leaving);
    } else if (!undo.placed.is_none()) {
      for (const PodOn& pod : undo.pods) world_.fleet.vacate(pod, world_.shapes);
      charge(undo.placed, undo.charges, -1);
      world_.guarantees.leave(world_, undo.placed);
    } else if (undo.dropped.job.is_none()) {
      world_.drop_reservation(undo.reservation);
    } else {
      world_.restore_reservation(undo.reservation, undo.dropped);
    }
  }

  World& world_;
  Guarantees::News news_;  // of what happened before
  std::deque<Undo> undo_;
};

}  // namespace muster::sched
