#include "sched/agenda.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "sched/estimate.h"
#include "sched/preempt.h"

namespace muster::sched {

LineRank Agenda::rank_of_current(const World& world, LineId id) const {
  const Job& job = world.job(lines_[id.index()].current);
  return {job.priority, job.seq, job.id, id};
}

const LineState& Agenda::state(LineId line) const {
  static const LineState untried;
  return line.index() < lines_.size() ? lines_[line.index()] : untried;
}

// ----------------------------------------------------------------------------------------------
// tournament

/// The key of the queue's own lines: of the candidate where it is known, else the best that could
/// be.
bool Agenda::own_key(const World& world, QueueId id, Key& out) const {
  const QueueState& q = queues_[id.index()];
  const auto& lines = world.lines_of(id);
  if (lines.empty()) return false;
  const bool exact = q.exact == plan_;
  if (exact && q.candidate.is_none()) return false;
  const Rules& rules = policy_->rules;
  const LineId id_of_line = exact ? q.candidate : lines.begin()->line;
  const Line& line = world.line(id_of_line);
  if (rules.has(Rule::GuaranteedFirst) && !world.quota.guarantor(id).is_none()) {
    out.tier = !exact || inside_guaranteed(world, line) ? 0 : 1;
  }
  const int cap = rules.has(Rule::PriorityCap) ? world.quota.cap(id) : model::priority_max;
  if (rules.has(Rule::PriorityClass))
    out.negated_class = -std::int64_t{std::min(line.priority, cap)};
  return true;
}

bool Agenda::best_of(const World& world, QueueId id, Key& out) const {
  const QueueState& q = queues_[id.index()];
  bool any = own_key(world, id, out);
  if (!q.children.empty()) {
    const Key& child = *q.children.begin();
    if (!any || std::tie(child.tier, child.negated_class) < std::tie(out.tier, out.negated_class)) {
      out.tier = child.tier;
      out.negated_class = child.negated_class;
    }
    any = true;
  }
  if (!any) return false;
  const QueueNode& node = world.quota[id];
  out.share = policy_->rules.has(Rule::FairShare)
                  ? world.quota.share(id, capacity, share_time_, *policy_)
                  : 0;
  out.name_rank = node.name_rank;
  out.queue = id;
  return true;
}

void Agenda::refresh(const World& world, QueueId from) {
  for (QueueId id = from; !id.is_none(); id = world.quota[id].parent) {
    const QueueId parent = world.quota[id].parent;
    if (parent.is_none()) return;
    QueueState& q = queues_[id.index()];
    Key key;
    const bool any = best_of(world, id, key);
    if (q.listed && any && key == q.key) continue;
    auto& siblings = queues_[parent.index()].children;
    if (q.listed) siblings.erase(q.key);
    q.listed = any;
    q.key = key;
    if (any) siblings.insert(key);
  }
}

LineId Agenda::next(World& world) {
  LineId line = best_candidate(world);
  // A placement may have opened (or closed) domains for pods that look at other pods: try those
  // again.
  while (line.is_none() && placed_since_) {
    placed_since_ = false;
    make_relational_due(world);
    for (const QueueId queue : touched_) refresh(world, queue);
    line = best_candidate(world);
  }
  return line;
}

void Agenda::make_relational_due(const World& world) {
  for (const LineId line : relational_) {
    LineState& s = lines_[line.index()];
    if (world.line(line).jobs.empty() || s.current.is_none() || !s.parked_at.is_none()) continue;
    s.failed = 0;
    make_due(line);
    const QueueId queue = world.line(line).queue;
    queues_[queue.index()].exact = 0;
    queues_[queue.index()].scanned = 0;
    touch(queue);
  }
}

LineId Agenda::best_candidate(World& world) {
  while (try_all_ || due_ > 0 || reserve_open_ || !possible_.empty()) {
    QueueId id = QuotaTree::root();
    // Down the tree: at each level the best child, unless the queue's own lines are at least as
    // good.
    while (!queues_[id.index()].children.empty()) {
      const Key& child = *queues_[id.index()].children.begin();
      Key own;
      if (own_key(world, id, own) &&
          std::tie(own.tier, own.negated_class) <= std::tie(child.tier, child.negated_class)) {
        break;
      }
      id = child.queue;
    }
    if (id == QuotaTree::root()) return LineId::none();
    QueueState& q = queues_[id.index()];
    if (q.exact == plan_) {
      if (!q.candidate.is_none()) venues(world, *policy_, world.line(q.candidate).shape);
      return q.candidate;
    }
    find_candidate(world, id);
    touch(id);
    refresh(world, id);
  }
  return LineId::none();
}

/// The first line of the queue that is worth a try in this plan.
void Agenda::find_candidate(World& world, QueueId id) {
  QueueState& q = queues_[id.index()];
  const auto& lines = world.lines_of(id);
  if (q.scanned != plan_) {
    q.scanned = plan_;
    q.scan = lines.begin();
    q.moved.clear();
    for (const LineRank& rank : lines) {
      const LineState& s = lines_[rank.line.index()];
      if (s.moved == plan_ && !s.current.is_none() && s.failed != plan_) {
        q.moved.insert(rank_of_current(world, rank.line));
      }
    }
  }
  q.exact = plan_;
  q.candidate = LineId::none();
  const bool fifo =
      world.quota[id].strategy == model::Strategy::Fifo && policy_->rules.has(Rule::FifoBlocks);
  if (fifo && q.blocked == plan_) return;
  while (q.scan != lines.end()) {
    const LineId line = q.scan->line;
    if (lines_[line.index()].moved != plan_) {
      lines_[line.index()].current = world.first_of(line);
      if (is_candidate(world, line)) break;
      if (fifo) return;  // the first does not start, so nothing does
    }
    ++q.scan;
  }
  if (!q.moved.empty() && (q.scan == lines.end() || *q.moved.begin() < *q.scan)) {
    q.candidate = q.moved.begin()->line;
  } else if (q.scan != lines.end()) {
    q.candidate = q.scan->line;
  }
  if (q.candidate.is_none()) return;
  // One that was never reached counts as open work until it is tried.
  LineState& found = lines_[q.candidate.index()];
  if (!found.due && std::holds_alternative<NotTried>(found.why)) make_due(q.candidate);
  if (!fifo && policy_->rules.has(Rule::GuaranteedFirst) && !world.quota.guarantor(id).is_none()) {
    const LineId inside = first_inside_guarantee(world, id);
    if (!inside.is_none()) q.candidate = inside;
  }
  venues(world, *policy_, world.line(q.candidate).shape);
}

/// Jobs inside guaranteed amounts come first, before priority, also inside a queue.
LineId Agenda::first_inside_guarantee(World& world, QueueId id) {
  QueueState& q = queues_[id.index()];
  const auto inside = [&](LineId line) {
    venues(world, *policy_, world.line(line).shape);
    return inside_guaranteed(world, world.line(line));
  };
  std::optional<LineRank> best;
  for (const LineRank& rank : q.moved) {
    if (!inside(rank.line)) continue;
    best = rank;
    break;
  }
  const auto& lines = world.lines_of(id);
  for (auto it = q.scan; it != lines.end() && (!best || *it < *best); ++it) {
    LineState& s = lines_[it->line.index()];
    if (s.moved == plan_) continue;
    s.current = world.first_of(it->line);
    if (is_candidate(world, it->line) && inside(it->line)) return it->line;
  }
  return best ? best->line : LineId::none();
}

bool Agenda::is_candidate(const World& world, LineId id) {
  const LineState& s = lines_[id.index()];
  if (s.failed == plan_) return false;
  if (!try_all_ && !s.due && !std::holds_alternative<NotTried>(s.why)) {
    const Line& line = world.line(id);
    if (!s.parked_at.is_none()) return false;
    const bool reserves = reserve_open_ && !holds_reservation(world, s) && may_reserve(world, id);
    if (!reserves) {
      if (!shapes_[line.shape.index()].possible) return false;
      if (!may_evict(world, line) && !gained_room(world, line, s)) return false;
    }
  }
  return !refuse_at_once(world, id);
}

/// Its shape was found to have no room in this plan, and it can neither reserve nor evict: no need
/// to try.
bool Agenda::refuse_at_once(const World& world, LineId id) {
  LineState& s = lines_[id.index()];
  const Line& line = world.line(id);
  if (!known_full(line.shape) || !world.quota[line.queue].alive) return false;
  if (!world.job(s.current).reservation.is_none()) return false;
  if (may_reserve(world, id) || may_evict(world, line)) return false;
  unpark(id);
  s.failed = plan_;
  s.why = why_full(line.shape);
  return true;
}

bool Agenda::holds_reservation(const World& world, const LineState& state) const {
  return !state.current.is_none() && !world.job(state.current).reservation.is_none();
}

bool Agenda::may_reserve(const World& world, LineId line_id) const {
  const Line& line = world.line(line_id);
  if (world.quota[line.queue].strategy == model::Strategy::SkipAhead) return false;
  if (std::holds_alternative<Infeasible>(lines_[line_id.index()].why)) return false;
  if (known_full(line.shape) && std::holds_alternative<Infeasible>(why_full(line.shape)))
    return false;
  if (!policy_->rules.has(Rule::Reservation)) return false;
  for (const auto& [queue, holder] : has_reservation_) {
    if (queue != line.queue) continue;
    const Job& job = world.job(holder);  // it keeps it unless the line comes first in the queue
    return world.rank_of(line_id) < LineRank{job.priority, job.seq, job.id, LineId::none()};
  }
  return std::min(line.priority, world.quota.cap(line.queue)) > reserve_above_;
}

/// With one of the GPU types it may use, the smallest gang stays inside its queue's guaranteed
/// amounts.
bool Agenda::inside_guaranteed(const World& world, const Line& line) const {
  if (world.quota.guarantor(line.queue).is_none()) return false;
  if (line.shape.index() >= venues_known_.size() || !venues_known_[line.shape.index()]) return true;
  const auto& least = venues_[line.shape.index()].least;
  return std::any_of(least.begin(), least.end(), [&](const Charges& charges) {
    return world.quota.inside_guaranteed(line.queue, charges);
  });
}

bool Agenda::may_evict(const World& world, const Line& line) const {
  if (!may_evict_) return false;
  const int priority = std::min(line.priority, world.quota.cap(line.queue));
  if (world.lowest_running_priority() < priority) return true;
  return inside_guaranteed(world, line);
}

void Agenda::rights_changed(const World& world, bool may_evict) {
  may_evict_ = may_evict;
  has_reservation_.clear();
  int lowest = std::numeric_limits<int>::max();
  int taken = 0;
  for (const Reservation& r : world.reservations()) {
    if (r.job.is_none() || r.preempting) continue;
    const Job& holder = world.job(r.job);
    has_reservation_.emplace_back(holder.queue, r.job);
    lowest = std::min(lowest, priority_class(world, holder, *policy_));
    ++taken;
  }
  // A place among the reservations has become free: somebody else may take it.
  if (taken < reservations_) reserve_open_ = true;
  if (taken >= policy_->reservation_depth) reserve_open_ = false;
  reservations_ = taken;
  if (!try_all_ && !gained_.empty()) list_gained_classes(world);  // reserved nodes change class
  reserve_above_ = taken < policy_->reservation_depth ? std::numeric_limits<int>::min() : lowest;
}

void Agenda::advance(World& world, LineId id) {
  LineState& s = lines_[id.index()];
  const Line& line = world.line(id);
  QueueState& q = queues_[line.queue.index()];
  placed_since_ = true;
  if (s.moved == plan_) q.moved.erase(rank_of_current(world, id));
  s.moved = plan_;
  const Job& job = world.job(s.current);
  const auto after = line.jobs.upper_bound({job.seq, job.id});
  if (after != line.jobs.end()) {
    s.current = after->second;
    s.why = NotTried{};
    if (!s.due) make_due(id);
    q.moved.insert(rank_of_current(world, id));
  } else {
    s.current = JobSlot::none();
    if (s.due) --due_;
    s.due = false;
  }
  if (!try_all_) list_gained_classes(world);
  find_candidate(world, line.queue);
  touch(line.queue);
  refresh(world, line.queue);
}

void Agenda::retry(const World& world, LineId id) {
  if (id.is_none() || lines_.size() <= id.index()) return;
  LineState& s = lines_[id.index()];
  s.failed = 0;
  make_due(id);
  QueueState& q = queues_[world.line(id).queue.index()];
  q.exact = 0;
  q.scanned = 0;
  touch(world.line(id).queue);
  refresh(world, world.line(id).queue);
}

void Agenda::reservation_used(const World& world) {
  const std::set<LineId> waiting = delayed_;
  for (const LineId line : waiting) {
    if (!world.line(line).jobs.empty()) retry(world, line);
  }
}

bool Agenda::has_next(const World& world, LineId id) const {
  const Job& job = world.job(lines_[id.index()].current);
  const auto& jobs = world.line(id).jobs;
  return jobs.upper_bound({job.seq, job.id}) != jobs.end();
}

bool Agenda::looks_at_others(const World& world, ShapeId shape) const {
  const auto& sets = world.shapes[shape].sets;
  return std::any_of(sets.begin(), sets.end(),
                     [&](const SetRec& set) { return world.shapes.pod(set.pod).relational; });
}

void Agenda::park(World& world, LineId id, Why why, Time recheck) {
  LineState& s = lines_[id.index()];
  const Line& line = world.line(id);
  unpark(id);
  if (s.moved == plan_) queues_[line.queue.index()].moved.erase(rank_of_current(world, id));
  queues_[line.queue.index()].blocked = plan_;
  s.failed = plan_;
  s.why = std::move(why);
  if (looks_at_others(world, line.shape)) relational_.insert(id);
  if (std::holds_alternative<WouldDelay>(s.why)) delayed_.insert(id);
  s.recheck = recheck;
  if (!recheck.is_never()) rechecks_.emplace(recheck, id);
  if (const auto* over = std::get_if<OverQuota>(&s.why)) {
    if (waiting_for_quota_.size() <= over->queue.index())
      waiting_for_quota_.resize(over->queue.index() + 1);
    waiting_for_quota_[over->queue.index()].insert(id);
    s.parked_at = over->queue;
  }
  find_candidate(world, line.queue);
  touch(line.queue);
  refresh(world, line.queue);
}

// ----------------------------------------------------------------------------------------------
// what changed

void Agenda::make_due(LineId id) {
  LineState& s = lines_[id.index()];
  unpark(id);
  if (!s.due) ++due_;
  s.due = true;
}

void Agenda::unpark(LineId id) {
  LineState& s = lines_[id.index()];
  delayed_.erase(id);
  if (!s.parked_at.is_none()) waiting_for_quota_[s.parked_at.index()].erase(id);
  s.parked_at = QueueId::none();
  if (!s.recheck.is_never()) rechecks_.erase({s.recheck, id});
  s.recheck = Time::never();
  if (s.due) --due_;
  s.due = false;
}

void Agenda::rebuild(World& world) {
  queues_.assign(world.quota.size(), {});
  lines_.assign(world.line_slots(), {});
  waiting_for_quota_.clear();
  rechecks_.clear();
  venues_.clear();
  venues_known_.clear();
  touched_.clear();
  relational_.clear();
  delayed_.clear();
  due_ = 0;
  try_all_ = true;
  shapes_.assign(world.shapes.size(), {});
  for (const QueueId queue : world.quota.by_name()) {
    const auto& lines = world.lines_of(queue);
    for (const LineRank& rank : lines) learn_shape(world, rank.line);
    if (!lines.empty()) refresh(world, queue);
  }
}

/// Keeps the bounds of the line's shape: they may be too generous, never too narrow.
void Agenda::learn_shape(const World& world, LineId id) {
  const Line& line = world.line(id);
  if (shapes_.size() < world.shapes.size()) shapes_.resize(world.shapes.size());
  if (line.jobs.empty()) return;
  const Job& job = world.job(world.first_of(id));
  ShapeState& s = shapes_[line.shape.index()];
  s.least_run_ms = std::min(s.least_run_ms, expected_run_time(world, job, *policy_).ms);
  s.highest_class = std::max(s.highest_class, priority_class(world, job, *policy_));
}

void Agenda::wake_for_quota(const World& world, QueueId queue) {
  for (QueueId id = queue; !id.is_none(); id = world.quota[id].parent) {
    if (id.index() >= waiting_for_quota_.size()) continue;
    std::vector<LineId> woken;
    const QueueNode& node = world.quota[id];
    for (const LineId line : waiting_for_quota_[id.index()]) {
      const auto& over = std::get<OverQuota>(lines_[line.index()].why);
      const std::size_t r = over.resource.index();
      const bool elastic = world.shapes[world.line(line).shape].elastic;
      if (!elastic && over.bound == QuotaBound::Maximum &&
          node.use[r] + over.asked > node.limits[r].maximum)
        continue;
      woken.push_back(line);
    }
    for (const LineId line : woken) {
      make_due(line);
      touch(world.line(line).queue);
    }
  }
}

void Agenda::take_changes(World& world) {
  lines_.resize(world.line_slots());
  if (queues_.size() < world.quota.size()) queues_.resize(world.quota.size());
  for (const LineId id : world.changes.lines) {
    touch(world.line(id).queue);
    const QueueId in = world.line(id).queue;
    if (world.quota[in].strategy == model::Strategy::Fifo && !world.lines_of(in).empty()) {
      make_due(world.lines_of(in).begin()->line);
    }
    LineState& s = lines_[id.index()];
    learn_shape(world, id);
    if (world.line(id).jobs.empty()) {
      unpark(id);
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
  for (const LineId id : world.changes.again) {
    if (world.line(id).jobs.empty()) continue;
    make_due(id);
    touch(world.line(id).queue);
  }
  for (const QueueId queue : world.changes.freed) {
    touch(queue);
    wake_for_quota(world, queue);
  }
  if (world.version != version_seen_) make_relational_due(world);
  while (!rechecks_.empty() && rechecks_.begin()->first <= now_) {
    const LineId line = rechecks_.begin()->second;
    make_due(line);
    touch(world.line(line).queue);
  }
}

void Agenda::take_gains(World& world) {
  gained_.clear();
  if (!try_all_) {
    gained_ = world.fleet.gained();
    std::sort(gained_.begin(), gained_.end());
    gained_.erase(std::unique(gained_.begin(), gained_.end()), gained_.end());
  }
  world.fleet.gained().clear();
  possible_.clear();
  for (ShapeState& s : shapes_) s.possible = false;
  if (try_all_) return;
  for (std::size_t i = 0; i < world.shapes.size(); ++i) {
    const ShapeId shape{static_cast<std::uint32_t>(i)};
    if (world.waiting_lines(shape) > 0) possible_.push_back(shape);
  }
  list_gained_classes(world);
}

void Agenda::list_gained_classes(const World& world) {
  gained_classes_.clear();
  std::erase_if(gained_, [&](NodeId id) {
    const Node& node = world.fleet.node(id);
    if (node.cls.is_none()) return true;
    gained_classes_.push_back(node.cls);
    return false;
  });
  std::sort(gained_classes_.begin(), gained_classes_.end());
  gained_classes_.erase(std::unique(gained_classes_.begin(), gained_classes_.end()),
                        gained_classes_.end());
  list_possible_shapes(world);
}

void Agenda::absorb(World& world, const Policy& policy, Time now) {
  policy_ = &policy;
  now_ = now;
  ++plan_;
  world.fleet.settle(world.shapes);
  if (needs_model(cache.model, world, now)) {
    make_model(cache.model, world, now);
    cache.forget_costs();
  }
  Capacity total = world.capacity(policy);
  const Time tick{policy.share_tick.ms > 0 ? now.ms / policy.share_tick.ms * policy.share_tick.ms
                                           : now.ms};
  const bool shares_moved = total != capacity || tick != share_time_;
  capacity = std::move(total);
  share_time_ = tick;
  if (world.fleet.type_count() != types_seen_) world.changes.everything = true;
  types_seen_ = world.fleet.type_count();
  if (world.fleet.take_repeller_left()) world.changes.everything = true;
  if (fresh_ || world.changes.everything) {
    rebuild(world);
  } else {
    try_all_ = false;
    take_changes(world);
    if (shares_moved) {
      for (const QueueId queue : world.quota.by_name()) refresh(world, queue);
    }
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    for (const QueueId queue : touched_) refresh(world, queue);
    touched_.clear();
  }
  rights_changed(world, true);
  started_since_ = world.changes.started;
  take_gains(world);
  version_seen_ = world.version;
  placed_since_ = false;
  fresh_ = false;
  world.changes = Changes{};
  world.changes.everything = false;
}

// ----------------------------------------------------------------------------------------------
// gains

/// Could a node of this class matter to the gang? True too often costs a try in vain; false wrongly
/// would lose a start.
bool Agenda::class_may_hold(const World& world, const Shape& shape, ClassId cls,
                            bool leaves_in_time) {
  const NodeClass& c = world.fleet.node_class(cls);
  const GpuState& gpu = world.fleet.gpu(c.gpu);
  const Cluster& cluster = world.fleet.cluster(c.cluster);
  const std::size_t type = world.fleet.profile(c.profile).type.index();
  for (const SetRec& set : shape.sets) {
    const PodShapeRec& pod = world.shapes.pod(set.pod);
    if (pod.cpu > c.cpu || pod.memory > c.memory) continue;
    if (pod.gpus > 0) {
      const bool share = pod.spec.gpu.is_share();
      if (share ? gpu.total == 0 : pod.gpus > gpu.whole) continue;
      if (!cache.match(world, *policy_, set.pod, c.profile).allowed) continue;
      if (!share) {
        // The set needs room for all its pods in this cluster: count idle devices, of reserved
        // nodes only if open to it.
        const auto& nodes = leaves_in_time ? cluster.all[type] : cluster.unreserved[type];
        std::int64_t fits = 0;
        for (std::size_t whole = static_cast<std::size_t>(pod.gpus); whole < nodes.size();
             ++whole) {
          fits += std::int64_t{nodes[whole]} *
                  static_cast<std::int64_t>(whole / static_cast<std::size_t>(pod.gpus));
        }
        if (fits < set.least) continue;
      }
    }
    return true;
  }
  return false;
}

void Agenda::list_possible_shapes(const World& world) {
  if (shapes_.size() < world.shapes.size()) shapes_.resize(world.shapes.size());
  std::erase_if(possible_, [&](ShapeId shape) {
    shapes_[shape.index()].possible = shape_possible(world, shape);
    return !shapes_[shape.index()].possible;
  });
}

/// Could the gained room matter to any line of the shape? Bounds only, so that few lines need a
/// look.
bool Agenda::shape_possible(const World& world, ShapeId id) {
  const Shape& shape = world.shapes[id];
  const ShapeState& s = shapes_[id.index()];
  const bool with_victims = may_evict_ && (world.lowest_running_priority() < s.highest_class ||
                                           world.quota.any_guarantee());
  if (with_victims && started_since_) return true;
  return std::any_of(gained_classes_.begin(), gained_classes_.end(), [&](ClassId cls) {
    const NodeClass& c = world.fleet.node_class(cls);
    if (!c.reserved.is_none() && !world.reservation(c.reserved).job.is_none()) {
      const Reservation& r = world.reservation(c.reserved);
      const Job& holder = world.job(r.job);
      const bool own = holder.shape == id;
      const bool open =
          !r.preempting && (now_ + Duration{s.least_run_ms} <= r.start ||
                            priority_class(world, holder, *policy_) < s.highest_class);
      if (!own && !open) return false;
    }
    if (class_may_hold(world, shape, cls, true)) return true;
    // Room that is too little alone may be enough together with victims.
    return with_victims &&
           std::any_of(shape.sets.begin(), shape.sets.end(), [&](const SetRec& set) {
             const PodShapeRec& pod = world.shapes.pod(set.pod);
             return (pod.gpus == 0 || world.fleet.gpu(c.gpu).total > 0) &&
                    cache.match(world, *policy_, set.pod, c.profile).allowed;
           });
  });
}

bool Agenda::gained_room(const World& world, const Line& line, const LineState& state) {
  if (world.reservations().empty()) return true;  // the bounds of the shape have said so
  const Shape& shape = world.shapes[line.shape];
  const Job& job = world.job(state.current);
  const Asker asker{state.current, now_ + expected_run_time(world, job, *policy_), job.reservation,
                    priority_class(world, job, *policy_)};
  const bool open = std::any_of(
      world.reservations().begin(), world.reservations().end(), [&](const Reservation& r) {
        return !r.job.is_none() && may_use_reserved(world, *policy_, r, asker);
      });
  return std::any_of(gained_classes_.begin(), gained_classes_.end(), [&](ClassId cls) {
    const ReservationId reserved = world.fleet.node_class(cls).reserved;
    if (!reserved.is_none() &&
        !may_use_reserved(world, *policy_, world.reservation(reserved), asker)) {
      return false;
    }
    return class_may_hold(world, shape, cls, open);
  });
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

bool Agenda::known_full(ShapeId shape) const {
  return shape.index() < full_.size() && full_[shape.index()].plan == plan_;
}

void Agenda::set_known_full(ShapeId shape, Why why) {
  if (!try_all_) std::erase(possible_, shape);
  if (full_.size() <= shape.index()) full_.resize(shape.index() + 1);
  full_[shape.index()] = {plan_, std::move(why)};
}

}  // namespace muster::sched
