#include "sched/agenda.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/sort_unique.h"
#include "sched/estimate.h"
#include "sched/preempt.h"

namespace muster::sched {
namespace {

/// After so many lines looked through in vain it pays to list those that have a chance, if they are
/// not more than that.
struct Listing {
  std::size_t after = 0;
  std::size_t most = 0;
};
constexpr std::array<Listing, 3> listings = {{{0, 512}, {128, 4096}, {4096, 16384}}};
/// After a start and so many lines looked at in vain it pays to ask who still has a chance.
constexpr std::size_t enough_in_vain = 32;

}  // namespace

const LineState& Agenda::state(LineId line) const {
  static const LineState untried;
  return line.index() < lines_.size() ? lines_[line.index()] : untried;
}

Agenda::Entry Agenda::entry_of(const World& world, LineId id) const {
  const JobSlot slot = lines_[id.index()].current;
  const Line& line = world.line(id);
  // Its first job need not be looked at: the line knows.
  const auto& [key, first] = *line.jobs.begin();
  const std::uint64_t seq = slot == first ? key.first : world.job(slot).seq;
  return {line.priority, seq, id, slot, line.queue, line.shape};
}

bool Agenda::in_order(const World& world, const Entry& a, const Entry& b) const {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.seq != b.seq) return a.seq < b.seq;
  return world.job(a.job).id < world.job(b.job).id;
}

// ----------------------------------------------------------------------------------------------
// whose turn it is

LineId Agenda::next(World& world) {
  look_inside_guarantees(world);
  look_at_holders(world);
  LineId line = best_candidate(world);
  // A placement may have opened (or closed) domains for pods that look at other pods: try those
  // again.
  while (line.is_none() && placed_since_) {
    placed_since_ = false;
    const std::set<LineId> again = relational_;
    for (const LineId id : again) {
      const std::size_t shape = world.line(id).shape.index();
      if (shape < failures_.size()) failures_[shape].epoch = 0;  // what was in vain may not be now
      if (!lines_[id.index()].current.is_none()) retry(world, id);
    }
    line = best_candidate(world);
  }
  return line;
}

LineId Agenda::best_candidate(World& world) {
  // Whoever started since it was found may have left nothing of the guarantee to it.
  const bool own_first = policy_->rules.has(Rule::GuaranteedFirst) && world.quota.any_guarantee();
  const auto offer_stands = [&](const QueueState& q) {
    if (!own_first || q.candidate.is_none()) return true;
    return q.none_inside == guarantees_state(world) ||
           (is_turn_inside(world, q.candidate) &&
            depth_inside(world, q.candidate) == q.offered_depth) ||
           world.quota.guarantor(world.line(q.candidate).queue).is_none();
  };
  while (try_all_ || reserve_open_ || due_ > 0 || !gains_.none() || !new_holders_.empty() ||
         !rising_.empty()) {
    const QueueId id = tournament().best();
    if (id.is_none()) break;
    const QueueState& q = state_of(id);
    // Many queues may have been looked through before the room that was free is used up.
    const bool fresh = try_all_ || q.exact_at == narrowed_;
    if (q.exact && fresh && offer_stands(q)) return q.candidate;
    if (room_taken_ && !try_all_ && !reserve_open_ && scanned_ > enough_in_vain) {
      room_used_up(world);
      continue;
    }
    if (dense_ && !try_all_ && !reserve_open_ && looked_ + 1 < listings.size() &&
        scanned_ > listings[looked_ + 1].after) {
      ++looked_;
      mark_candidates(world, true);
      continue;
    }
    find_candidate(world, id);
  }
  return LineId::none();
}

/// In this marking: if whole queues are marked, so is this one.
Agenda::QueueState& Agenda::state_of(QueueId id) {
  QueueState& q = queues_[id.index()];
  if (q.marked != marking_) {
    q.marked = marking_;
    q.all = dense_;
    q.open = q.exact = false;
    q.listed.clear();
    q.top = std::numeric_limits<int>::min();
    q.list.clear();
    q.later.clear();
    q.at = 0;
  }
  return q;
}

Agenda::QueueState& Agenda::mark(QueueId id) {
  QueueState& q = state_of(id);
  q.exact = false;
  return q;
}

void Agenda::offer(const World& world, QueueId id, std::optional<Offer> own) {
  if (dense_) touched_.push_back(id);
  tournament().offer(world.quota, shares_, id, own);
}

/// Lists what this plan may have to look at: whole queues if that is most of what waits, else the
/// lines that are due or have a chance.
void Agenda::mark_candidates(World& world, bool closer) {
  ++marking_;
  scanned_ = 0;
  const std::size_t most = listings[looked_].most;
  std::optional<std::vector<Gains::Outline>> with_chance;
  dense_ = try_all_ || reserve_open_ || due_ > most;
  if (!dense_ && (closer || gains_.lines_at_most(world) <= most)) {
    with_chance = gains_.lines(moment(world), most);
  }
  if (!with_chance) {
    dense_ = true;
    mark_all(world);
    return;
  }
  std::vector<QueueId> marked;
  const auto add = [&](LineId id, QueueId queue, int priority) {
    QueueState& q = mark(queue);
    // Of a fifo queue only the first counts, whoever is due.
    if (world.quota[queue].strategy == model::Strategy::Fifo) {
      q.all = true;
      const LineState& s = lines_[id.index()];
      if (s.moved == plan_ && !s.current.is_none()) add_later(world, queue, id);
    }
    q.listed.push_back(id);
    q.top = std::max(q.top, priority);
    marked.push_back(queue);
  };
  std::erase_if(due_list_, [&](LineId id) { return !lines_[id.index()].due; });
  for (const LineId id : due_list_) {
    const Line& line = world.line(id);
    if (!line.jobs.empty()) add(id, line.queue, line.priority);
  }
  // Lines and their states are scattered: they are read when the turn of their queue comes.
  for (const Gains::Outline& o : *with_chance) add(o.line, o.queue, o.priority);
  std::erase_if(rising_, [&](QueueId id) { return queues_[id.index()].rising != plan_; });
  for (const auto* queues : {&new_holders_, &rising_}) {
    for (const QueueId queue : *queues) {
      mark_whole(world, queue);
      marked.push_back(queue);
    }
  }
  sort_unique(marked);
  std::vector<Tournament::Entrant> entrants;
  for (const QueueId queue : marked) entrants.push_back({queue, bound_of(world, queue)});
  listed_.start(world.quota, shares_, entrants);
}

/// All lines of one queue, from the first.
void Agenda::mark_whole(const World& world, QueueId queue) {
  QueueState& q = mark(queue);
  q.all = true;
  q.open = false;
  q.later.clear();
  for (const LineId id : moved_) {
    const bool here = world.line(id).queue == queue && !lines_[id.index()].current.is_none();
    if (here) add_later(world, queue, id);
  }
}

void Agenda::mark_all(World& world) {
  // Lines that went on to their next job stand elsewhere now.
  for (const LineId id : moved_) {
    if (!lines_[id.index()].current.is_none()) add_later(world, world.line(id).queue, id);
  }
  for (const QueueId queue : world.quota.take_charged()) touched_.push_back(queue);
  const auto bound = [&](QueueId queue) {
    mark(queue);
    return world.lines_of(queue).empty() ? std::nullopt : std::optional(bound_of(world, queue));
  };
  if (everybody_at_ == shares_.moment()) {
    sort_unique(touched_);
    for (const QueueId queue : touched_) {
      everybody_.offer(world.quota, shares_, queue, bound(queue));
    }
  } else {
    everybody_at_ = shares_.moment();
    std::vector<Tournament::Entrant> entrants;
    for (const QueueId queue : world.quota.by_name()) {
      if (const auto own = bound(queue)) entrants.push_back({queue, *own});
    }
    everybody_.start(world.quota, shares_, entrants);
  }
  touched_.clear();
}

/// The best the queue could have, before its lines are looked through.
Offer Agenda::bound_of(World& world, QueueId id) {
  const QueueState& q = queues_[id.index()];
  const Rules& rules = policy_->rules;
  Offer offer;
  if (rules.has(Rule::GuaranteedFirst) && may_be_inside(world, id)) {
    offer.tier = 0;
    offer.negated_depth = -world.quota.guarantors_above(world.quota.guarantor(id));
  }
  if (rules.has(Rule::PriorityClass)) {
    int highest = q.top;
    for (const Entry& e : q.later) highest = std::max(highest, e.priority);
    if (q.all && !world.lines_of(id).empty()) highest = std::max(highest, world.top_priority(id));
    const int cap = rules.has(Rule::PriorityCap) ? world.quota.cap(id) : model::priority_max;
    offer.negated_class = -std::int64_t{std::min(highest, cap)};
  }
  return offer;
}

void Agenda::open(World& world, QueueId id) {
  QueueState& q = queues_[id.index()];
  q.open = true;
  q.at = 0;
  q.scan = world.lines_of(id).begin();
  if (q.all) return;
  q.list.clear();
  for (const LineId line : q.listed) {
    LineState& s = lines_[line.index()];
    if (world.line(line).jobs.empty()) continue;
    if (s.moved != plan_) s.current = world.first_of(line);
    if (!s.current.is_none()) q.list.push_back(entry_of(world, line));
  }
  std::sort(q.list.begin(), q.list.end(),
            [&](const Entry& a, const Entry& b) { return in_order(world, a, b); });
}

/// The first wanted line that is not in `later`; with `drop` those before it are done with.
template <typename Wanted>
std::optional<Agenda::Entry> Agenda::first_listed(World& world, QueueId id, const Wanted& wanted,
                                                  bool drop) {
  QueueState& q = queues_[id.index()];
  const bool fifo = world.quota[id].strategy == model::Strategy::Fifo;
  if (!q.all) {
    std::size_t at = q.at;
    for (; at < q.list.size() && !wanted(q.list[at]); ++at) ++scanned_;
    if (drop) q.at = at;
    return at < q.list.size() ? std::optional(q.list[at]) : std::nullopt;
  }
  auto scan = q.scan;
  std::optional<Entry> found;
  const bool by_chance =
      !try_all_ && !reserve_open_ && !fifo && q.new_holder != plan_ && q.rising != plan_;
  const auto end = world.lines_of(id).end();
  for (auto next = scan; scan != end && !found; scan = next, ++scanned_) {
    // States of lines are scattered: the next one is on its way while this one is looked at.
    if (++next != end) __builtin_prefetch(&lines_[next->line.index()]);
    LineState& s = lines_[scan->line.index()];
    if (s.moved == plan_) continue;
    if (by_chance && !s.due && !gains_.has_chance(moment(world), scan->shape)) continue;
    s.current = scan->job;
    const Entry entry{scan->priority, scan->seq, scan->line, scan->job, id, scan->shape};
    if (wanted(entry)) {
      found = entry;
      break;
    }
  }
  if (drop) q.scan = scan;
  return found;
}

/// The first line of the queue that is worth a try, and what the queue offers by it.
void Agenda::find_candidate(World& world, QueueId id) {
  QueueState& q = mark(id);
  if (!q.open) open(world, id);
  q.exact = true;
  q.exact_at = narrowed_;
  q.candidate = LineId::none();
  // Those who started since may have left nothing of the guarantee to its lines.
  if (q.rising == plan_ && !may_be_inside(world, id)) q.rising = 0;
  const Rules& rules = policy_->rules;
  const QueueNode& node = world.quota[id];
  const bool fifo =
      node.alive && node.strategy == model::Strategy::Fifo && rules.has(Rule::FifoBlocks);
  if (const auto first = first_candidate(world, id, fifo)) q.candidate = first->line;
  if (q.candidate.is_none()) {
    offer(world, id, std::nullopt);
    return;
  }
  // Next in a fifo queue whose first has started: open work, whatever it waited for before.
  if (fifo && !lines_[q.candidate.index()].due) make_due(q.candidate);
  Offer own;
  if (rules.has(Rule::GuaranteedFirst) && !world.quota.guarantor(id).is_none()) {
    if (!fifo && q.none_inside != guarantees_state(world) && may_be_inside(world, id)) {
      const LineId inside = first_inside_guarantee(world, id);
      if (!inside.is_none()) q.candidate = inside;
    }
    venues(world, *policy_, world.line(q.candidate).shape);
    own.tier = is_turn_inside(world, q.candidate) ? 0 : 1;
    if (own.tier > 0) q.none_inside = guarantees_state(world);
    if (own.tier == 0) {
      q.offered_depth = depth_inside(world, q.candidate);
      own.negated_depth = -q.offered_depth;
    }
  }
  const int cap = rules.has(Rule::PriorityCap) ? world.quota.cap(id) : model::priority_max;
  if (rules.has(Rule::PriorityClass)) {
    own.negated_class = -std::int64_t{std::min(world.line(q.candidate).priority, cap)};
  }
  offer(world, id, own);
}

std::optional<Agenda::Entry> Agenda::first_candidate(World& world, QueueId id, bool fifo) {
  QueueState& q = queues_[id.index()];
  if (fifo && q.blocked == epoch_) return std::nullopt;
  // Of a fifo queue the first alone counts: if it does not start, nothing does.
  const auto wanted = [&](const Entry& e) {
    return lines_[e.line.index()].current == e.job && (fifo || is_candidate(world, e));
  };
  std::optional<Entry> first = first_listed(world, id, wanted, true);
  while (!q.later.empty() && !wanted(q.later.front())) q.later.erase(q.later.begin());
  if (!q.later.empty() && (!first || in_order(world, q.later.front(), *first))) {
    first = q.later.front();
  }
  const bool moving = q.moving == plan_;
  if (fifo && first && !moving && !is_candidate(world, *first)) return std::nullopt;
  return first;
}

/// Jobs inside guaranteed amounts come first, before priority, also inside a queue.
LineId Agenda::first_inside_guarantee(World& world, QueueId id) {
  QueueState& q = queues_[id.index()];
  const auto inside = [&](const Entry& e) {
    const LineState& s = lines_[e.line.index()];
    if (s.current != e.job || s.lent == epoch_ || !is_candidate(world, e)) return false;
    venues(world, *policy_, e.shape);
    return inside_guaranteed(world, e);
  };
  const std::optional<Entry> listed = first_listed(world, id, inside, false);
  const auto later = std::find_if(q.later.begin(), q.later.end(), inside);
  if (!listed) return later == q.later.end() ? LineId::none() : later->line;
  if (later == q.later.end() || in_order(world, *listed, *later)) return listed->line;
  return later->line;
}

bool Agenda::is_candidate(const World& world, const Entry& entry) {
  LineState& s = lines_[entry.line.index()];
  s.may_evict = true;
  if (!s.inside && queues_[entry.queue.index()].rising == plan_ && inside_guaranteed(world, entry))
    return true;  // it was not when it was tried
  if (s.failed == epoch_) return false;
  if (s.inside && !inside_guaranteed(world, entry)) set_inside(entry.line, entry.shape, false);
  if (s.due && s.follows) {
    s.may_evict =
        gains_.hope_of(moment(world), world.line(entry.line), entry.job, s.inside).victims;
  } else if (!s.due && !(try_all_ && s.tried != plan_)) {
    if (!s.parked_at.is_none()) return false;
    const bool open = reserve_open_ || queues_[entry.queue.index()].new_holder == plan_;
    const bool reserves = open && !holds_reservation(world, entry.job) && may_reserve(world, entry);
    const Gains::Hope hope =
        gains_.hope_of(moment(world), world.line(entry.line), entry.job, s.inside);
    if (!reserves && !hope.room && !hope.victims) return false;
    s.may_evict = hope.victims;  // else nothing has changed since the last search
  }
  return !refuse_at_once(world, entry);
}

/// Its shape was found to have no room in this epoch, and it can neither reserve nor evict: no need
/// to try.
bool Agenda::refuse_at_once(const World& world, const Entry& entry) {
  const Why* why = known_failure(world, entry.shape, entry.job);
  if (why == nullptr || !world.quota[entry.queue].alive) return false;
  if (may_reserve(world, entry) || may_evict(world, entry)) return false;
  LineState& s = lines_[entry.line.index()];
  unpark(entry.line);
  s.tried = plan_;
  s.failed = epoch_;
  s.why = *why;
  set_inside(entry.line, entry.shape, inside_guaranteed(world, entry));
  if (depends_on_others(world, entry.shape, s.why)) list(entry.line, relational_);
  return true;
}

// ----------------------------------------------------------------------------------------------
// what became of a line

void Agenda::add_later(const World& world, QueueId queue, LineId line) {
  QueueState& q = mark(queue);
  const Entry entry = entry_of(world, line);
  const auto before = [&](const Entry& a, const Entry& b) { return in_order(world, a, b); };
  q.later.insert(std::upper_bound(q.later.begin(), q.later.end(), entry, before), entry);
}

/// The job that now starts was searched victims for in vain, and only room that came free since
/// helped it: for the equal one behind it a search pays only where something changed.
bool Agenda::next_only_follows(const World& world, const LineState& s, const Line& line) const {
  if (s.moved == plan_) return s.follows;
  const bool lacked_room =
      std::holds_alternative<NoRoom>(s.why) || std::holds_alternative<WouldDelay>(s.why);
  return lacked_room && !s.due && !try_all_ && s.tried != plan_ && s.recheck.is_never() &&
         !world.quota[line.queue].limited && !world.quota.any_guarantee() &&
         world.job(s.current).extra_queues.empty();
}

void Agenda::defer(World& world, LineId id) {
  lines_[id.index()].lent = epoch_;
  find_candidate(world, world.line(id).queue);
}

void Agenda::advance(World& world, LineId id) {
  LineState& s = lines_[id.index()];
  const Line& line = world.line(id);
  const bool follows = next_only_follows(world, s, line);
  placed_since_ = true;
  gains_stale_ = room_taken_ = true;
  unpark(id);
  if (s.moved != plan_) moved_.push_back(id);
  s.moved = plan_;
  s.tried = plan_;
  const Job& job = world.job(s.current);
  const auto after = line.jobs.upper_bound({job.seq, job.id});
  if (after != line.jobs.end()) {
    s.current = after->second;
    s.why = NotTried{};
    make_due(id);
    s.follows = follows;
    add_later(world, line.queue, id);
  } else {
    s.current = JobSlot::none();
  }
  queues_[line.queue.index()].moving = plan_;
  find_candidate(world, line.queue);
}

void Agenda::started_out_of_turn(World& world, QueueId queue) {
  placed_since_ = true;
  gains_stale_ = room_taken_ = true;
  find_candidate(world, queue);
}

void Agenda::retry(World& world, LineId id) {
  if (id.is_none() || lines_.size() <= id.index() || world.line(id).jobs.empty()) return;
  LineState& s = lines_[id.index()];
  if (s.moved != plan_) s.current = world.first_of(id);
  if (s.current.is_none()) return;
  s.failed = 0;
  make_due(id);
  const QueueId queue = world.line(id).queue;
  queues_[queue.index()].blocked = 0;
  if (world.quota[queue].strategy == model::Strategy::Fifo) {
    mark(queue).all = true;
    queues_[queue.index()].open = false;
    if (s.moved == plan_) add_later(world, queue, id);
  } else {
    add_later(world, queue, id);
  }
  offer(world, queue, bound_of(world, queue));
}

void Agenda::go_back(World& world, JobSlot job) {
  const LineId id = world.job(job).line;
  LineState& s = lines_[id.index()];
  const bool inside = inside_guaranteed(world, job);
  const bool helps = world.quota[world.job(job).queue].limited ||
                     gains_.hope_of(moment(world), world.line(id), job, inside).room;
  if (!helps || s.moved != plan_) return;
  s.current = job;
  retry(world, id);
}

void Agenda::retry_all(World& world) {
  for (const QueueId queue : world.quota.by_name()) {
    for (const LineRank& rank : world.lines_of(queue)) retry(world, rank.line);
  }
}

bool Agenda::has_next(const World& world, LineId id) const {
  const Job& job = world.job(lines_[id.index()].current);
  const auto& jobs = world.line(id).jobs;
  return jobs.upper_bound({job.seq, job.id}) != jobs.end();
}

/// What others start may change the answer: pods that look at other pods, or amounts promised to
/// others, which those may come to use.
bool Agenda::depends_on_others(const World& world, ShapeId shape, const Why& why) const {
  const auto* over = std::get_if<OverQuota>(&why);
  return (over != nullptr && over->bound == QuotaBound::Held) || world.shapes[shape].relational;
}

void Agenda::park(World& world, LineId id, Why why, Time recheck) {
  LineState& s = lines_[id.index()];
  const Line& line = world.line(id);
  unpark(id);
  queues_[line.queue.index()].blocked = epoch_;
  s.tried = plan_;
  s.failed = epoch_;
  s.why = std::move(why);
  set_inside(id, line.shape, inside_guaranteed(world, s.current));
  if (depends_on_others(world, line.shape, s.why)) list(id, relational_);
  s.recheck = recheck;
  if (!recheck.is_never()) rechecks_.emplace(recheck, id);
  if (const auto* over = std::get_if<OverQuota>(&s.why)) {
    if (waiting_for_quota_.size() <= over->queue.index())
      waiting_for_quota_.resize(over->queue.index() + 1);
    waiting_for_quota_[over->queue.index()].insert(id);
    s.parked_at = over->queue;
  }
  find_candidate(world, line.queue);
  room_used_up(world);
}

/// After placements and a try or looks in vain: with less room left, fewer lines need a look.
void Agenda::room_used_up(World& world) {
  room_taken_ = false;
  if (!gains_stale_ || gains_.none()) return;
  gains_stale_ = false;
  scanned_ = 0;
  gains_.narrow(moment(world));
  ++narrowed_;
  // Of those that were listed nobody is left but who is due.
  if ((dense_ || gains_.none()) && !try_all_ && !reserve_open_) mark_candidates(world, true);
}

// ----------------------------------------------------------------------------------------------
// what changed

void Agenda::make_due(LineId id) {
  LineState& s = lines_[id.index()];
  unpark(id);
  ++due_;
  s.due = true;
  due_list_.push_back(id);
}

void Agenda::list(LineId id, std::set<LineId>& among) {
  among.insert(id);
  lines_[id.index()].listed = true;
}

void Agenda::unpark(LineId id) {
  LineState& s = lines_[id.index()];
  if (s.listed) {
    wanting_.erase(id);
    relational_.erase(id);
    s.listed = false;
  }
  if (!s.parked_at.is_none()) waiting_for_quota_[s.parked_at.index()].erase(id);
  s.parked_at = QueueId::none();
  if (!s.recheck.is_never()) rechecks_.erase({s.recheck, id});
  s.recheck = Time::never();
  if (s.due) --due_;
  s.due = s.follows = false;
}

void Agenda::rebuild(World& world) {
  queues_.assign(world.quota.size(), {});
  lines_.clear();
  lines_.resize(world.line_slots());
  waiting_for_quota_.clear();
  rechecks_.clear();
  venues_.clear();
  venues_known_.clear();
  relational_.clear();
  wanting_.clear();
  due_list_.clear();
  due_ = 0;
  try_all_ = true;
  everybody_at_ = 0;
  touched_.clear();
  rising_.clear();
  gains_.forget_all();
}

/// Those in the way of its quota may have become few enough to go.
bool Agenda::may_find_victims(const World& world, LineId id) const {
  const Line& line = world.line(id);
  return world.lowest_running_priority() < std::min(line.priority, world.quota.cap(line.queue)) ||
         inside_guaranteed(world, world.first_of(id));
}

std::vector<LineId> Agenda::wake_for_quota(const World& world, QueueId queue) {
  std::vector<LineId> woken;
  for (QueueId id = queue; !id.is_none(); id = world.quota[id].parent) {
    if (id.index() >= waiting_for_quota_.size()) continue;
    const QueueNode& node = world.quota[id];
    for (const LineId line : waiting_for_quota_[id.index()]) {
      const auto& over = std::get<OverQuota>(lines_[line.index()].why);
      const std::size_t r = over.resource.index();
      const bool elastic = world.shapes[world.line(line).shape].elastic;
      if (!elastic && over.bound == QuotaBound::Maximum &&
          node.use[r] + over.asked > node.limits[r].maximum && !may_find_victims(world, line))
        continue;
      woken.push_back(line);
    }
  }
  for (const LineId line : woken) make_due(line);
  return woken;
}

/// Those who wait for quota that it uses now, and may evict it.
void Agenda::wake_above(const World& world, JobSlot started) {
  const Job& job = world.job(started);
  if (!job.active || !world.shapes[job.shape].gang.preemptible) return;
  const int cls = priority_class(world, job, *policy_);
  std::vector<LineId> woken;
  const auto look_at = [&](QueueId queue) {
    for (QueueId id = queue; !id.is_none(); id = world.quota[id].parent) {
      if (id.index() >= waiting_for_quota_.size()) continue;
      for (const LineId line : waiting_for_quota_[id.index()]) {
        const JobSlot first = world.first_of(line);
        const bool above = priority_class(world, world.job(first), *policy_) > cls;
        if (above || inside_guaranteed(world, first)) woken.push_back(line);
      }
    }
  };
  look_at(job.queue);
  for (const QueueId queue : job.extra_queues) look_at(queue);
  for (const LineId line : woken) make_due(line);
}

void Agenda::take_changes(World& world, const Guarantees::News& news) {
  lines_.resize(world.line_slots());
  if (queues_.size() < world.quota.size()) {
    queues_.resize(world.quota.size());
    everybody_at_ = 0;  // names stand elsewhere in their order
  }
  for (const LineId id : world.changes.lines) {
    const QueueId in = world.line(id).queue;
    touched_.push_back(in);
    queues_[in.index()].least_known = false;
    if (world.quota[in].strategy == model::Strategy::Fifo && !world.lines_of(in).empty()) {
      make_due(world.lines_of(in).begin()->line);
    }
    LineState& s = lines_[id.index()];
    gains_.line_changed(moment(world), id);
    if (world.line(id).jobs.empty()) {
      unpark(id);
      set_inside(id, world.line(id).shape, false);
      s.current = JobSlot::none();
      continue;
    }
    const JobSlot first = world.first_of(id);
    if (s.current == first && !std::holds_alternative<NotTried>(s.why))
      continue;  // tried in the last plan
    s.current = first;
    s.why = NotTried{};
    make_due(id);
  }
  if (touched_.size() > queues_.size()) everybody_at_ = 0;
  if (everybody_at_ == 0) touched_.clear();
  for (const LineId id : world.changes.again) {
    gains_.line_changed(moment(world), id);
    if (!world.line(id).jobs.empty()) make_due(id);
  }
  for (const QueueId queue : world.changes.freed) {
    wake_for_quota(world, queue);
  }
  for (const JobSlot started : world.changes.started) wake_above(world, started);
  for (const QueueId guarantor : news.grown) rise(world, guarantor);
  for (const LineId line : who_may_push(world, news.pressed)) make_due(line);
  if (world.changes.released) {
    const std::set<LineId> wanting = wanting_;
    for (const LineId id : wanting) make_due(id);
  }
  if (world.version != version_seen_) {
    const std::set<LineId> others = relational_;
    for (const LineId id : others) make_due(id);
  }
  while (!rechecks_.empty() && rechecks_.begin()->first <= now_) {
    make_due(rechecks_.begin()->second);
  }
}

void Agenda::absorb(World& world, const Policy& policy, Time now) {
  policy_ = &policy;
  now_ = now;
  ++plan_;
  ++epoch_;
  moved_.clear();
  soonest.clear();
  world.fleet.settle(world.shapes);
  if (world.changes.renumbered) cache.forget_pods();
  if (needs_model(cache.model, world, now)) cache.renew_model(now);
  if (world.changes.node_types) world.recount_running();
  capacity = world.capacity(policy);
  const std::int64_t tick = std::max<std::int64_t>(policy.share_tick.ms, 1);
  shares_.begin(capacity, Time{now.ms / tick * tick}, policy);
  if (world.fleet.type_count() != types_seen_) world.changes.everything = true;
  types_seen_ = world.fleet.type_count();
  if (world.fleet.take_repeller_left()) world.changes.everything = true;
  const Guarantees::News news = world.guarantees.take_news();
  list_promised(world);
  try_all_ = false;
  const bool cut_short = !may_evict_;  // the last plan: who might have evicted then may now
  if (!cut_short) rising_.clear();
  for (const QueueId queue : rising_) queues_[queue.index()].rising = plan_;
  if (fresh_ || world.changes.everything) {
    rebuild(world);
  } else {
    take_changes(world, news);
  }
  reserve_open_ = false;
  new_holders_.clear();
  planning_ = false;
  rights_changed(world, true, {}, {});
  planning_ = true;
  std::vector<JobSlot> lower = world.changes.started;
  lower.insert(lower.end(), news.fallen.begin(), news.fallen.end());
  gains_.begin(moment(world), try_all_ ? std::vector<NodeId>{} : world.fleet.gained(),
               try_all_ ? std::vector<JobSlot>{} : lower, cut_short);
  world.fleet.gained().clear();
  looked_ = 0;
  mark_candidates(world);
  gains_stale_ = dense_;  // whole queues: after the first try in vain a closer look pays
  room_taken_ = false;
  version_seen_ = world.version;
  placed_since_ = false;
  fresh_ = false;
  world.changes = Changes{};
  world.changes.everything = false;
}

// ----------------------------------------------------------------------------------------------
// caches

const Venues& Agenda::venues(World& world, const Policy& policy, ShapeId shape) {
  if (venues_.size() < world.shapes.size()) {
    venues_.resize(world.shapes.size());
    venues_known_.resize(world.shapes.size(), false);
  }
  if (!venues_known_[shape.index()]) {
    venues_[shape.index()] = venues_of(world, policy, world.shapes[shape]);
    venues_known_[shape.index()] = true;
  }
  return venues_[shape.index()];
}

const Why* Agenda::known_failure(const World& world, ShapeId shape, JobSlot slot) const {
  if (shape.index() >= failures_.size()) return nullptr;
  const Failure& failure = failures_[shape.index()];
  if (failure.epoch != epoch_ || holds_reservation(world, slot)) return nullptr;
  if (std::holds_alternative<WouldDelay>(failure.why)) {
    const Job& job = world.job(slot);
    const bool worse = now_ + expected_run_time(world, job, *policy_) > failure.closed &&
                       priority_class(world, job, *policy_) <= failure.priority &&
                       (failure.inside || !inside_guaranteed(world, slot));
    if (!worse || before_a_holder(world, job)) return nullptr;
  }
  return &failure.why;
}

void Agenda::set_failed(const World& world, JobSlot slot, Why why,
                        const std::vector<VenueRoom>& rooms) {
  const Job& job = world.job(slot);
  const bool delays = std::holds_alternative<WouldDelay>(why);
  if (!delays) gains_.rule_out(job.shape);
  ++narrowed_;
  gains_.remember_rooms(world, job.shape, rooms);
  if (failures_.size() <= job.shape.index()) failures_.resize(job.shape.index() + 1);
  Failure& failure = failures_[job.shape.index()];
  failure.epoch = epoch_;
  failure.why = std::move(why);
  failure.priority = priority_class(world, job, *policy_);
  failure.inside = inside_guaranteed(world, slot);
  failure.closed = Time{0};
  const Time end = now_ + expected_run_time(world, job, *policy_);
  for (const Reservation& r : world.reservations()) {
    if (!r.job.is_none() && r.start < end) failure.closed = std::max(failure.closed, r.start);
  }
}

void Agenda::set_no_victims(const World& world, JobSlot slot) {
  const Job& job = world.job(slot);
  if (failures_.size() <= job.shape.index()) failures_.resize(job.shape.index() + 1);
  Failure& failure = failures_[job.shape.index()];
  const int priority = priority_class(world, job, *policy_);
  failure.without_victims =
      failure.alone == epoch_ ? std::max(failure.without_victims, priority) : priority;
  failure.alone = epoch_;
}

}  // namespace muster::sched
