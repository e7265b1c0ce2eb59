// Who of the waiting is inside guaranteed amounts, and which queues need a look because more of
// theirs is left.
#include <algorithm>

#include "sched/agenda.h"
#include "sched/preempt.h"

namespace muster::sched {

/// With one of the GPU types it may use, the smallest gang stays inside its queue's guaranteed
/// amounts.
bool Agenda::inside_guaranteed(const World& world, const Claim& claim, ShapeId shape) const {
  if (world.quota.guarantor(claim.queue).is_none()) return false;
  if (shape.index() >= venues_known_.size() || !venues_known_[shape.index()]) return true;
  const auto& least = venues_[shape.index()].least;
  return std::any_of(least.begin(), least.end(), [&](const Charges& charges) {
    return world.guarantees.would_be_inside(world, claim, charges);
  });
}

bool Agenda::inside_guaranteed(const World& world, const Entry& entry) const {
  const bool capped = policy_->rules.has(Rule::PriorityCap);
  const int cap = capped ? world.quota.cap(entry.queue) : model::priority_max;
  return inside_guaranteed(world, {entry.job, entry.queue, std::min(entry.priority, cap)},
                           entry.shape);
}

bool Agenda::inside_guaranteed(const World& world, JobSlot job) const {
  return inside_guaranteed(world, claim_of(world, job, *policy_), world.job(job).shape);
}

/// With the GPU types with which it is inside furthest down.
int Agenda::depth_inside(const World& world, LineId line) const {
  const Claim claim = claim_of(world, lines_[line.index()].current, *policy_);
  int deepest = 0;
  for (const Charges& charges : venues_[world.line(line).shape.index()].least) {
    const QueueId guarantor = world.guarantees.inside_of(world, claim, charges);
    if (!guarantor.is_none()) deepest = std::max(deepest, world.quota.guarantors_above(guarantor));
  }
  return deepest;
}

bool Agenda::is_turn_inside(const World& world, LineId line) const {
  return policy_->rules.has(Rule::GuaranteedFirst) && lines_[line.index()].lent != epoch_ &&
         inside_guaranteed(world, entry_of(world, line));
}

/// A bound for all lines of the queue: whoever is inside asks for no less than the least of those
/// of its priority. So most queues of a full guarantee need no look.
bool Agenda::may_be_inside(World& world, QueueId id) {
  const QueueId guarantor = world.quota.guarantor(id);
  if (guarantor.is_none() || world.lines_of(id).empty()) return false;
  // Who is promised nodes uses its guarantee already, and keeps its place there.
  if (std::binary_search(promised_.begin(), promised_.end(), id)) return true;
  QueueState& q = queues_[id.index()];
  if (!q.least_known) {
    q.least_known = true;
    q.least = least_of_lines(world, id);
  }
  const bool capped = policy_->rules.has(Rule::PriorityCap);
  const int cap = capped ? world.quota.cap(id) : model::priority_max;
  return std::any_of(q.least.begin(), q.least.end(), [&](const auto& least) {
    return world.guarantees.may_be_inside(world, guarantor, std::min(least.first, cap),
                                          least.second);
  });
}

/// By priority, highest first: of each resource what any of them asks for at least; nothing of
/// those that some do not ask for.
std::vector<std::pair<int, Charges>> Agenda::least_of_lines(World& world, QueueId queue) {
  std::vector<std::pair<int, Charges>> least;
  for (const LineRank& rank : world.lines_of(queue)) {
    for (const Charges& charges : venues(world, *policy_, rank.shape).least) {
      if (least.empty() || least.back().first != rank.priority)
        least.emplace_back(rank.priority, charges);
      std::erase_if(least.back().second, [&](Charge& known) {
        const auto same = [&](const Charge& c) { return c.resource == known.resource; };
        const auto it = std::find_if(charges.begin(), charges.end(), same);
        if (it != charges.end()) known.amount = std::min(known.amount, it->amount);
        return it == charges.end();
      });
    }
  }
  return least;
}

void Agenda::list_promised(const World& world) {
  promised_.clear();
  for (const Reservation& r : world.reservations()) {
    if (!r.job.is_none() && r.preempting) promised_.push_back(world.job(r.job).queue);
  }
  touched_.insert(touched_.end(), promised_.begin(), promised_.end());
  std::sort(promised_.begin(), promised_.end());
}

void Agenda::set_inside(LineId id, ShapeId shape, bool inside) {
  LineState& s = lines_[id.index()];
  if (s.inside == inside) return;
  s.inside = inside;
  gains_.set_inside(shape, id, inside);
}

/// More is left to some class of those below the guarantor: lines of theirs that were not inside
/// when they were tried may be now, which gives them the right to evict. Who is, is looked at when
/// the turn of its queue comes: the first of them to start may leave nothing to the others.
std::vector<QueueId> Agenda::rise(World& world, QueueId guarantor) {
  std::vector<QueueId> below = {guarantor};
  std::vector<QueueId> risen;
  while (!below.empty()) {
    const QueueId id = below.back();
    below.pop_back();
    if (world.quota.guarantor(id) != guarantor) continue;
    const auto& children = world.quota[id].children;
    below.insert(below.end(), children.begin(), children.end());
    if (!may_be_inside(world, id)) continue;
    QueueState& q = queues_[id.index()];
    if (q.rising != plan_) {
      rising_.push_back(id);
      touched_.push_back(id);
    }
    q.rising = plan_;
    q.blocked = 0;
    risen.push_back(id);
  }
  return risen;
}

/// Lines that are inside below these guarantors: whoever starts among them pushes others out.
std::vector<LineId> Agenda::who_may_push(const World& world,
                                         const std::set<QueueId>& guarantors) const {
  if (guarantors.empty()) return {};
  std::vector<LineId> lines = gains_.lines_inside();
  std::erase_if(lines, [&](LineId line) {
    const QueueId queue = world.line(line).queue;
    return world.line(line).jobs.empty() ||
           std::none_of(guarantors.begin(), guarantors.end(),
                        [&](QueueId guarantor) { return world.quota.is_below(queue, guarantor); });
  });
  return lines;
}

/// What was started or evicted in this plan may have left more to others, and may have pushed some
/// out of their guarantee, whom others may evict now.
void Agenda::look_inside_guarantees(World& world) {
  const Guarantees::News news = world.guarantees.take_news();
  for (const QueueId guarantor : news.grown) {
    for (const QueueId queue : rise(world, guarantor)) {
      mark_whole(world, queue);
      offer(world, queue, bound_of(world, queue));
    }
  }
  for (const LineId line : who_may_push(world, news.pressed)) retry(world, line);
  if (!gains_.stand_lower(moment(world), news.fallen)) return;
  ++epoch_;  // what was tried in vain may have victims now
  ++rights_;
  looked_ = 0;
  mark_candidates(world);
  gains_stale_ = dense_;
}

}  // namespace muster::sched
