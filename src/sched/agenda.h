// Who is next. Lines of equal jobs wait in queues; a tournament over the quota tree (tournament.h)
// says whose turn it is, inside a queue the user's priority and submit order do.
//
// Work follows what changed. A line is a candidate if it was never tried, if the quota or time it
// waited for has come, or if room that came free could matter to it (gains.h). When nothing of that
// is left the plan is done, however many jobs wait.
//
// Room that opens in the middle of a plan (a reservation used or given up) starts a new epoch: what
// was tried in vain before may be tried again if that room could matter to it.
//
// The agenda is derived from World and can be dropped at any time: a fresh one tries every line and
// comes to the same plan, but for the choice among nodes that fit where prices are learned (fit.h).
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/chunked.h"
#include "sched/fit.h"
#include "sched/gains.h"
#include "sched/ids.h"
#include "sched/policy.h"
#include "sched/route.h"
#include "sched/tournament.h"
#include "sched/verdict.h"
#include "sched/world.h"

namespace muster::sched {

struct LineState {
  JobSlot current;  // the job the verdict is about, or the one to try next in this plan
  Why why = NotTried{};
  Time recheck = Time::never();
  QueueId parked_at;         // quota that said no
  bool may_evict = true;     // it is worth to look for victims in this plan
  bool inside = false;       // of guaranteed amounts when it was tried
  bool due = false;          // to be tried whether or not nodes gained room
  bool follows = false;      // due only because an equal job, tried in vain before, has started
  bool listed = false;       // among those that others' starts or given-back nodes may help
  std::uint64_t moved = 0;   // plan in which `current` is not the first any more
  std::uint64_t tried = 0;   // plan in which it was looked at
  std::uint64_t failed = 0;  // epoch in which it was tried in vain
  std::uint64_t lent = 0;    // epoch in which it has a place, but not inside its guarantee
};

class Agenda {
 public:
  FitCache cache;
  Capacity capacity;  // of this plan
  /// When lines will have room and quota, as found out on request since the last plan.
  std::map<LineId, Time> soonest;

  /// Takes in what changed since the last plan.
  void absorb(World& world, const Policy& policy, Time now);
  /// The best line to try; none() when nothing is left.
  LineId next(World& world);
  JobSlot current(LineId line) const { return lines_[line.index()].current; }
  /// It is its turn because it is inside its guarantee.
  bool is_turn_inside(const World& world, LineId line) const;
  /// Its place is outside its guarantee: its turn comes with all others.
  void defer(World& world, LineId line);
  /// The line's current job was placed or given up: go on to its next job. Shares of its queues
  /// have changed.
  void advance(World& world, LineId line);
  /// A job of this queue was placed that is not the current one of its line.
  void started_out_of_turn(World& world, QueueId queue);
  /// More jobs stand behind the current one.
  bool has_next(const World& world, LineId line) const;
  /// Not now, because of this. Looked at again when what it waits for changes, at the latest at
  /// `recheck`.
  void park(World& world, LineId line, Why why, Time recheck = Time::never());
  /// It found no nodes to reserve although it may: it is tried again when others give theirs back.
  void wants_nodes(LineId line) { list(line, wanting_); }
  /// What others start may change the answer: it is tried again after that.
  void watches_others(LineId line) { list(line, relational_); }
  /// To be tried (again) in this plan: it has lost its reservation, or its first job is given up.
  void retry(World& world, LineId line);
  /// Room or quota came free in the middle of a plan: if it may help this job, its line, which went
  /// on to jobs behind it, goes back to it.
  void go_back(World& world, JobSlot job);
  /// All lines: pods that kept any others away do so no more.
  void retry_all(World& world);
  /// Where others will be is not settled as it was: those who look at them are tried again.
  void looks_at_others_again() { placed_since_ = true; }

  /// Somebody may stand lower than the first job of this line: worth a search for victims.
  bool may_evict(const World& world, LineId line) const {
    return may_evict(world, entry_of(world, line));
  }
  /// Reservations were made or dropped in this plan, or the right to evict used up. `opened`: nodes
  /// of those dropped; `freed`: queues they held quota in.
  void rights_changed(World& world, bool may_evict, const std::vector<NodeId>& opened,
                      const std::vector<QueueId>& freed);

  const LineState& state(LineId line) const;
  const Venues& venues(World& world, const Policy& policy, ShapeId shape);
  /// In this epoch a job of its shape was found to have no room, or none that does not delay a
  /// reservation; placements only make that worse. Why, if that holds for this job too.
  const Why* known_failure(const World& world, ShapeId shape, JobSlot job) const;
  void set_failed(const World& world, JobSlot job, Why why, const std::vector<VenueRoom>& rooms);
  /// Not even with everybody gone who stands lower than its class: true of the other lines of the
  /// shape as well.
  void set_no_victims(const World& world, JobSlot job);
  Time next_recheck() const { return rechecks_.empty() ? Time::never() : rechecks_.begin()->first; }

 private:
  /// A line's job in its queue's order. With it most lines are refused without a look at the job.
  struct Entry {
    int priority = 0;
    std::uint64_t seq = 0;
    LineId line;
    JobSlot job;
    QueueId queue;
    ShapeId shape;
  };
  /// The lines of one queue that this plan may have to look at.
  struct QueueState {
    std::uint64_t marked = 0;    // marking in which the rest is right
    bool all = false;            // every line of the queue, looked through up to `scan`
    bool open = false;           // `list` is in order, `scan` is set
    bool exact = false;          // `candidate` is right
    std::uint64_t exact_at = 0;  // narrowed_ when it was found
    LineId candidate;
    int offered_depth = 0;  // of the guarantor that the candidate is inside of
    SortedChunks<LineRank>::const_iterator scan;
    std::vector<LineId> listed;  // else these, not looked at before the queue's turn comes;
    int top = std::numeric_limits<int>::min();  // the highest class among them
    std::vector<Entry> list;  // they in order once it has come, looked through up to `at`
    std::size_t at = 0;
    std::vector<Entry> later;      // in order: lines that went on to their next job, or are retried
    std::uint64_t moving = 0;      // plan in which the first of a fifo queue started
    std::uint64_t blocked = 0;     // epoch in which it did not
    std::uint64_t new_holder = 0;  // plan in which a job of it got a reservation
    std::uint64_t rising = 0;      // plan in which more of its guarantee was left to it
    std::uint64_t none_inside = 0;  // guarantees_state() in which no line is inside of them
    bool least_known = false;
    std::vector<std::pair<int, Charges>> least;  // that any line of a priority asks for
  };
  struct Failure {
    std::uint64_t epoch = 0;
    Why why = NotTried{};
    Time closed;              // a job that does not leave before this
    int priority = 0;         // and is of no higher class
    bool inside = false;      // nor alone inside its guarantee fails too
    std::uint64_t alone = 0;  // epoch in which nobody of
    int without_victims = 0;  // this class or below finds victims
  };

  // ---- candidates
  LineId best_candidate(World& world);
  void mark_candidates(World& world, bool closer = false);
  void mark_all(World& world);
  QueueState& state_of(QueueId queue);
  QueueState& mark(QueueId queue);
  void mark_whole(const World& world, QueueId queue);
  Offer bound_of(World& world, QueueId queue);
  void offer(const World& world, QueueId queue, std::optional<Offer> own);
  Tournament& tournament() { return dense_ ? everybody_ : listed_; }
  void open(World& world, QueueId queue);
  void find_candidate(World& world, QueueId queue);
  std::optional<Entry> first_candidate(World& world, QueueId queue, bool fifo);
  template <typename Wanted>
  std::optional<Entry> first_listed(World& world, QueueId queue, const Wanted& wanted, bool drop);
  LineId first_inside_guarantee(World& world, QueueId queue);
  bool is_candidate(const World& world, const Entry& entry);
  bool refuse_at_once(const World& world, const Entry& entry);
  bool next_only_follows(const World& world, const LineState& state, const Line& line) const;
  bool may_reserve(const World& world, const Entry& entry) const;
  bool may_evict(const World& world, const Entry& entry) const;
  bool inside_guaranteed(const World& world, const Claim& claim, ShapeId shape) const;
  bool inside_guaranteed(const World& world, const Entry& entry) const;
  bool inside_guaranteed(const World& world, JobSlot job) const;
  bool holds_reservation(const World& world, JobSlot job) const;
  bool before_a_holder(const World& world, const Job& job) const;
  void look_before_new_holders(World& world, const std::vector<std::pair<QueueId, JobSlot>>& old);
  void look_at_holders(World& world);
  bool in_order(const World& world, const Entry& a, const Entry& b) const;
  Entry entry_of(const World& world, LineId line) const;
  void add_later(const World& world, QueueId queue, LineId line);
  void room_used_up(World& world);

  // ---- what changed
  void rebuild(World& world);
  void make_due(LineId line);
  void unpark(LineId line);
  void list(LineId line, std::set<LineId>& among);
  void take_changes(World& world, const Guarantees::News& news);
  void set_inside(LineId line, ShapeId shape, bool inside);
  std::vector<QueueId> rise(World& world, QueueId guarantor);
  void look_inside_guarantees(World& world);
  bool may_be_inside(World& world, QueueId queue);
  int depth_inside(const World& world, LineId line) const;
  std::vector<LineId> who_may_push(const World& world, const std::set<QueueId>& guarantors) const;
  std::vector<std::pair<int, Charges>> least_of_lines(World& world, QueueId queue);
  void list_promised(const World& world);
  std::uint64_t guarantees_state(const World& world) const {
    return rights_ + world.guarantees.growths();
  }
  bool may_find_victims(const World& world, LineId line) const;
  std::vector<LineId> wake_for_quota(const World& world, QueueId queue);
  void wake_above(const World& world, JobSlot started);
  bool depends_on_others(const World& world, ShapeId shape, const Why& why) const;
  Gains::Moment moment(const World& world) { return {world, *policy_, cache, now_, may_evict_}; }

  const Policy* policy_ = nullptr;
  Time now_;
  std::uint64_t plan_ = 0;
  std::uint64_t epoch_ = 0;
  std::uint64_t marking_ = 0;
  std::uint64_t rights_ = 0;
  bool fresh_ = true;
  bool planning_ = false;  // changes have been taken in
  bool try_all_ = true;    // in this plan every line is a candidate
  bool dense_ = true;      // whole queues are marked, not lines
  bool gains_stale_ = false;
  bool room_taken_ = false;     // somebody started since gains were made
  std::uint64_t narrowed_ = 0;  // counts how often fewer came to have a chance
  std::size_t looked_ = 0;      // times since the epoch began that lines with a chance were listed
  std::size_t scanned_ = 0;     // lines looked at in vain since queues were marked
  bool may_evict_ = true;
  bool reserve_open_ = false;  // a reservation was given up: another job may take its place
  int reservations_ = 0;
  int reserve_above_ = 0;  // only jobs above this class can still get a reservation
  std::vector<std::pair<QueueId, JobSlot>> has_reservation_;  // and who holds it
  std::vector<JobSlot> inside_holders_;  // of those, inside their guarantees when last looked at
  std::uint64_t holders_seen_ = 0;       // rights and guarantees then
  std::vector<QueueId> new_holders_;     // queues that got one in this plan, with guarantees
  std::vector<QueueId> rising_;          // queues with more of their guarantee left, in this plan
  std::vector<QueueId> promised_;        // queues of jobs whose victims leave or have left
  std::vector<JobSlot> holders_;  // of any reservation, also of those whose victims are leaving
  std::uint64_t version_seen_ = 0;
  std::size_t types_seen_ = 0;
  bool placed_since_ = false;    // a placement since relational lines were last tried
  std::set<LineId> relational_;  // parked lines that others' starts may help
  std::set<LineId> wanting_;     // that found no nodes to reserve
  Chunked<LineState> lines_;
  std::vector<QueueState> queues_;
  Shares shares_;
  Tournament listed_;     // of the queues whose lines this plan lists
  Tournament everybody_;  // of all queues with lines: kept, and put right where something changed
  std::uint64_t everybody_at_ = 0;  // moment of its shares; 0: to be made anew
  std::vector<QueueId> touched_;    // may stand wrongly in it
  Gains gains_;
  std::size_t due_ = 0;                              // lines with `due`
  std::vector<LineId> moved_;                        // in this plan
  std::vector<LineId> due_list_;                     // among others
  std::vector<std::set<LineId>> waiting_for_quota_;  // by queue
  std::set<std::pair<Time, LineId>> rechecks_;
  std::deque<Venues> venues_;  // by shape; references stay good while others are added
  std::vector<bool> venues_known_;
  std::vector<Failure> failures_;  // by shape
};

}  // namespace muster::sched
