// Who is next. A tournament over the quota tree finds the best line to try: inside guaranteed
// amounts first, then the priority class, then at each level of the tree the child with the lowest
// weighted dominant share, then names; inside a queue the user's priority, then submit order.
//
// Work follows what changed. A line is a candidate if it was never tried, if the quota or time it
// waited for has come, or if some node that gained room since the last plan could matter to it.
// When nothing of that is left the plan is done, however many jobs wait. Keys of queues are kept
// between plans; a queue's key is only a bound until the queue comes to the top, then its lines are
// looked through for a real candidate and the key made exact.
//
// The agenda is derived from World and can be dropped at any time: a fresh one tries every line and
// comes to the same plan.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "sched/fit.h"
#include "sched/ids.h"
#include "sched/policy.h"
#include "sched/route.h"
#include "sched/verdict.h"
#include "sched/world.h"

namespace muster::sched {

struct LineState {
  JobSlot current;  // the job the verdict is about, or the one to try next in this plan
  Why why = NotTried{};
  Time recheck = Time::never();
  QueueId parked_at;  // quota that said no
  bool due = false;   // to be tried whether or not nodes gained room
  std::uint64_t moved =
      0;  // plan in which a job of the line was placed: `current` is not the first any more
  std::uint64_t failed = 0;  // plan in which it was tried in vain
};

class Agenda {
 public:
  FitCache cache;
  Capacity capacity;  // of this plan

  /// Takes in what changed since the last plan.
  void absorb(World& world, const Policy& policy, Time now);
  /// The best line to try; none() when nothing is left.
  LineId next(World& world);
  JobSlot current(LineId line) const { return lines_[line.index()].current; }
  /// The line's current job was placed or given up: go on to its next job. Shares of its queues
  /// have changed.
  void advance(World& world, LineId line);
  /// More jobs stand behind the current one.
  bool has_next(const World& world, LineId line) const;
  /// A job with reserved nodes was placed: what it did not take is open to those it kept waiting.
  void reservation_used(const World& world);
  /// Not now, because of this. Looked at again when what it waits for changes, at the latest at
  /// `recheck`.
  void park(World& world, LineId line, Why why, Time recheck = Time::never());
  /// To be tried (again) in this plan: it has lost its reservation, or its first job is given up.
  void retry(const World& world, LineId line);

  /// Somebody may stand lower than the first job of this line: worth a search for victims.
  bool may_evict(const World& world, const Line& line) const;
  /// Reservations were made or dropped in this plan, or the right to evict used up.
  void rights_changed(const World& world, bool may_evict);

  const LineState& state(LineId line) const;
  const Venues& venues(World& world, const Policy& policy, ShapeId shape);
  /// In this plan the shape was found not to fit anywhere for lack of room; placements only make
  /// that worse.
  bool known_full(ShapeId shape) const;
  void set_known_full(ShapeId shape, Why why);
  const Why& why_full(ShapeId shape) const { return full_[shape.index()].why; }
  Time next_recheck() const { return rechecks_.empty() ? Time::never() : rechecks_.begin()->first; }

 private:
  struct Key {
    int tier = 1;
    std::int64_t negated_class = 0;
    std::uint64_t share = 0;
    std::uint32_t name_rank = 0;
    QueueId queue;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct QueueState {
    std::set<Key> children;  // those with something to offer
    bool listed = false;     // its key is in the parent's set
    Key key;
    std::uint64_t exact = 0;    // plan in which `candidate` is right
    LineId candidate;           // best line of the queue itself
    std::set<LineRank> moved;   // lines that placed a job in this plan, by their next job
    std::uint64_t blocked = 0;  // plan in which the first of a fifo queue did not start
    std::uint64_t scanned = 0;  // plan in which `scan` is right
    std::set<LineRank>::const_iterator scan;  // no candidate stands before it
  };
  struct Full {
    std::uint64_t plan = 0;
    Why why = NotTried{};
  };
  /// What is known of a shape: bounds over its lines, and whether gained room may matter to it.
  struct ShapeState {
    std::int64_t least_run_ms = std::numeric_limits<std::int64_t>::max();
    int highest_class = std::numeric_limits<int>::min();
    bool possible = false;
  };

  LineId best_candidate(World& world);
  void make_relational_due(const World& world);
  bool looks_at_others(const World& world, ShapeId shape) const;
  void rebuild(World& world);
  void make_due(LineId line);
  void unpark(LineId line);
  void take_changes(World& world);
  void wake_for_quota(const World& world, QueueId queue);
  void take_gains(World& world);
  void list_gained_classes(const World& world);
  bool is_candidate(const World& world, LineId line);
  bool refuse_at_once(const World& world, LineId line);
  bool may_reserve(const World& world, LineId line) const;
  bool holds_reservation(const World& world, const LineState& state) const;
  bool inside_guaranteed(const World& world, const Line& line) const;
  void learn_shape(const World& world, LineId line);
  void list_possible_shapes(const World& world);
  bool shape_possible(const World& world, ShapeId shape);
  bool gained_room(const World& world, const Line& line, const LineState& state);
  bool class_may_hold(const World& world, const Shape& shape, ClassId cls, bool leaves_in_time);
  void find_candidate(World& world, QueueId queue);
  LineId first_inside_guarantee(World& world, QueueId queue);
  bool own_key(const World& world, QueueId queue, Key& out) const;
  bool best_of(const World& world, QueueId queue, Key& out) const;
  void refresh(const World& world, QueueId queue);  // key of the queue and its ancestors
  void touch(QueueId queue) { touched_.push_back(queue); }
  LineRank rank_of_current(const World& world, LineId line) const;

  const Policy* policy_ = nullptr;
  Time now_;
  Time share_time_;
  std::uint64_t plan_ = 0;
  bool fresh_ = true;
  std::uint64_t version_seen_ = 0;
  bool placed_since_ = false;    // a placement since relational lines were last tried
  std::set<LineId> delayed_;     // parked lines that would delay a reservation
  std::set<LineId> relational_;  // parked lines whose pods look at other pods
  bool try_all_ = true;          // in this plan every line is a candidate
  std::size_t due_ = 0;          // lines with `due`
  std::vector<LineState> lines_;
  std::vector<QueueState> queues_;
  std::vector<QueueId> touched_;  // queues whose key a plan has changed
  std::vector<NodeId> gained_;    // nodes with more room than at the last plan
  std::vector<ClassId> gained_classes_;
  std::vector<ShapeState> shapes_;
  std::vector<ShapeId> possible_;  // shapes that gained room may matter to
  bool may_evict_ = true;
  int reservations_ = 0;
  bool reserve_open_ = false;  // a reservation was given up: another job may take its place
  int reserve_above_ = 0;      // only jobs above this class can still get a reservation
  std::vector<std::pair<QueueId, JobSlot>> has_reservation_;  // and who holds it
  bool started_since_ = false;  // jobs were placed since the last plan: there may be new victims
  std::vector<std::set<LineId>> waiting_for_quota_;  // by queue
  std::set<std::pair<Time, LineId>> rechecks_;
  std::deque<Venues> venues_;  // by shape; references stay good while others are added
  std::vector<bool> venues_known_;
  std::size_t types_seen_ = 0;
  std::vector<Full> full_;
};

}  // namespace muster::sched
