// The rights of lines in a plan: who may still reserve nodes or evict, and who has to be looked at
// because that changed.
#include <algorithm>
#include <limits>
#include <utility>

#include "sched/agenda.h"
#include "sched/preempt.h"

namespace muster::sched {

bool Agenda::may_reserve(const World& world, const Entry& entry) const {
  if (world.quota[entry.queue].strategy == model::Strategy::SkipAhead) return false;
  if (std::holds_alternative<Infeasible>(lines_[entry.line.index()].why)) return false;
  if (entry.shape.index() < failures_.size()) {
    const Failure& failure = failures_[entry.shape.index()];
    if (failure.epoch == epoch_ && std::holds_alternative<Infeasible>(failure.why)) return false;
  }
  if (!policy_->rules.has(Rule::Reservation)) return false;
  for (const auto& [queue, holder] : has_reservation_) {
    if (queue != entry.queue) continue;
    // It keeps it unless the line comes first in the queue.
    return comes_before(world.job(entry.job), world.job(holder));
  }
  return std::min(entry.priority, world.quota.cap(entry.queue)) > reserve_above_;
}

bool Agenda::may_evict(const World& world, const Entry& entry) const {
  if (!may_evict_ || !lines_[entry.line.index()].may_evict) return false;
  const int priority = std::min(entry.priority, world.quota.cap(entry.queue));
  if (inside_guaranteed(world, entry)) return true;
  if (world.lowest_running_priority() >= priority) return false;
  if (entry.shape.index() >= failures_.size()) return true;
  const Failure& failure = failures_[entry.shape.index()];
  return failure.alone != epoch_ || priority > failure.without_victims ||
         before_a_holder(world, world.job(entry.job));
}

/// Few hold one: looked up in their list the job itself need not be read.
bool Agenda::holds_reservation(const World& world, JobSlot job) const {
  constexpr std::size_t few = 64;
  if (holders_.size() > few) return !world.job(job).reservation.is_none();
  return std::find(holders_.begin(), holders_.end(), job) != holders_.end();
}

/// Nodes kept for a job behind it in its own queue are open to it.
bool Agenda::before_a_holder(const World& world, const Job& job) const {
  return std::any_of(has_reservation_.begin(), has_reservation_.end(), [&](const auto& held) {
    return held.first == job.queue && comes_before(job, world.job(held.second));
  });
}

void Agenda::rights_changed(World& world, bool may_evict, const std::vector<NodeId>& opened,
                            const std::vector<QueueId>& freed) {
  may_evict_ = may_evict;
  ++rights_;
  list_promised(world);
  const auto had_reservation = std::exchange(has_reservation_, {});
  holders_.clear();
  int lowest = std::numeric_limits<int>::max();
  int taken = 0;
  for (const Reservation& r : world.reservations()) {
    if (r.job.is_none()) continue;
    holders_.push_back(r.job);
    if (r.preempting) continue;
    const Job& holder = world.job(r.job);
    has_reservation_.emplace_back(holder.queue, r.job);
    lowest = std::min(lowest, priority_class(world, holder, *policy_));
    ++taken;
  }
  const bool full = taken >= policy_->reservation_depth;
  reserve_above_ = full ? lowest : std::numeric_limits<int>::min();
  // A place among the reservations has become free: somebody else may take it.
  const bool place_free = taken < reservations_ && !full;
  reserve_open_ = !full && (reserve_open_ || place_free);
  reservations_ = taken;
  std::vector<LineId> woken;
  for (const QueueId queue : freed) {
    for (const LineId line : wake_for_quota(world, queue)) woken.push_back(line);
  }
  if (!opened.empty()) {
    gains_.add(moment(world), opened);
    const std::set<LineId> wanting = wanting_;
    for (const LineId line : wanting) {
      lines_[line.index()].failed = 0;
      make_due(line);
    }
  }
  if (!opened.empty() || place_free) {
    ++epoch_;
    looked_ = 0;
    mark_candidates(world);
    gains_stale_ = dense_;
  } else {
    for (const LineId line : woken) retry(world, line);
  }
  if (planning_ && world.quota.any_guarantee()) look_before_new_holders(world, had_reservation);
}

/// Who is inside a guarantee is looked at first and may get a reservation before others that come
/// before it in its queue: those may take its place, whether or not anything changed for them.
void Agenda::look_before_new_holders(World& world,
                                     const std::vector<std::pair<QueueId, JobSlot>>& old) {
  for (const auto& held : has_reservation_) {
    if (std::find(old.begin(), old.end(), held) != old.end()) continue;
    QueueState& q = queues_[held.first.index()];
    if (q.new_holder != plan_) new_holders_.push_back(held.first);
    q.new_holder = plan_;
    mark_whole(world, held.first);
    offer(world, held.first, bound_of(world, held.first));
  }
}

/// What is kept for one inside its guarantee is open to others who are inside theirs as soon as it
/// is not any more: somebody who has started, or pods that are elsewhere than planned, have filled
/// it.
void Agenda::look_at_holders(World& world) {
  const std::uint64_t state = rights_ + world.guarantees.moves();
  if (!world.quota.any_guarantee() || state == holders_seen_) return;
  holders_seen_ = state;
  const std::vector<JobSlot> were_inside = std::exchange(inside_holders_, {});
  std::vector<NodeId> opened;
  std::vector<QueueId> freed;
  for (const auto& [queue, holder] : has_reservation_) {
    const Job& job = world.job(holder);
    const Reservation& kept = world.reservation(job.reservation);
    const Claim claim = claim_of(world, holder, *policy_);
    if (world.guarantees.would_be_inside(world, claim, kept.charges)) {
      inside_holders_.push_back(holder);
    } else if (std::find(were_inside.begin(), were_inside.end(), holder) != were_inside.end()) {
      opened.insert(opened.end(), kept.nodes.begin(), kept.nodes.end());
      freed.push_back(queue);
      freed.insert(freed.end(), job.extra_queues.begin(), job.extra_queues.end());
    }
  }
  if (!freed.empty()) rights_changed(world, may_evict_, opened, freed);
}

}  // namespace muster::sched
