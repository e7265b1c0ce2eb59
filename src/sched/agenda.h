// Who is next. The agenda keeps, for every queue, the lines worth trying, and a tournament over the
// quota tree that finds the best of them: inside guaranteed amounts first, then the priority class,
// then at each level of the tree the child with the lowest weighted dominant share, then names.
// Lines that were tried in vain are parked with their verdict until something they wait for
// changes, so that the work of a plan follows what changed and not how much waits.
//
// It is derived from World and can be dropped at any time: a fresh agenda tries everything and
// comes to the same plan.
#pragma once

#include <cstdint>
#include <deque>
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
  bool active = false;  // to be tried in this plan
  JobSlot current;      // the job to try next, or the one the verdict is about
  Why why = NotTried{};
  Time recheck = Time::never();
  bool parked_for_room = false;
  QueueId parked_at;  // quota that said no
};

class Agenda {
 public:
  FitCache cache;

  /// Takes in what changed since the last plan and puts lines that may go on now back on the list.
  void absorb(World& world, const Policy& policy, Time now);
  /// The best line to try; none() when nothing is left.
  LineId next() const;
  /// The line's current job was placed: go on to its next job. Shares of its queues have changed.
  void placed(const World& world, LineId line);
  /// Not now, because of this. Wakes when what it waits for changes, at the latest at `recheck`.
  void park(const World& world, LineId line, Why why, Time recheck = Time::never());
  /// Nothing of this queue is tried any more in this plan (fifo: its first job does not start).
  void block(const World& world, QueueId queue);
  /// Recomputes the keys of a queue and its ancestors after use changed.
  void refresh(const World& world, QueueId queue);

  const LineState& state(LineId line) const;
  JobSlot current(LineId line) const { return lines_[line.index()].current; }
  const Venues& venues(World& world, const Policy& policy, ShapeId shape);
  /// In this plan the shape was found not to fit anywhere for lack of room; placements only make
  /// that worse.
  bool known_full(ShapeId shape) const;
  void set_known_full(ShapeId shape, Why why);
  const Why& why_full(ShapeId shape) const { return full_[shape.index()].why; }
  bool is_blocked(QueueId queue) const {
    return queue.index() < queues_.size() && queues_[queue.index()].blocked;
  }
  Time next_recheck() const { return rechecks_.empty() ? Time::never() : rechecks_.begin()->first; }
  /// Lowest priority class of a running, preemptible job; looked up once per plan.
  int lowest_running_class(const World& world, const Policy& policy);
  Capacity capacity;  // of this plan

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
    std::set<LineRank> active;  // of the queue itself
    std::set<Key> children;     // those with something to try
    bool listed = false;        // its key is in the parent's set
    bool blocked = false;
    Key key;
  };
  struct Full {
    std::uint64_t plan = 0;
    Why why = NotTried{};
  };

  void rebuild(World& world);
  void activate(const World& world, LineId line);
  void deactivate(const World& world, LineId line);
  void wake_for_room(World& world);
  void wake_for_quota(const World& world, QueueId queue);
  bool room_for(const World& world, const Line& line, const LineState& state, ClassId cls,
                Time now);
  bool best_of(const World& world, QueueId queue, Key& out) const;
  void unpark(LineId line);
  LineRank rank_of_current(const World& world, LineId line) const;

  const Policy* policy_ = nullptr;
  Time now_;
  Time share_time_;
  std::uint64_t plan_ = 0;
  bool fresh_ = true;
  std::vector<LineState> lines_;
  std::vector<QueueState> queues_;
  std::set<LineId> waiting_for_room_;
  std::vector<std::set<LineId>> waiting_for_quota_;  // by queue
  std::set<std::pair<Time, LineId>> rechecks_;
  std::deque<Venues> venues_;  // by shape; references stay good while others are added
  std::vector<bool> venues_known_;
  std::size_t types_seen_ = 0;
  std::vector<Full> full_;
  std::uint64_t lowest_plan_ = 0;
  int lowest_class_ = 0;
};

}  // namespace muster::sched
