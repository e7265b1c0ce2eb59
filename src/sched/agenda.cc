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

// ---------------------------------------------------------------------------------------------- tournament

/// The key of the queue's own lines: of the candidate where it is known, else the best that could be.
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
    // The cheapest type decides the tier; the quota check before the start looks at the real one.
    const Shape& shape = world.shapes[line.shape];
    const Charges least = {{resource_cpu, shape.least_cpu},
                           {resource_memory, shape.least_memory},
                           {resource_gpu, shape.least_gpu_milli}};
    out.tier = !exact || world.quota.inside_guaranteed(id, least) ? 0 : 1;
  }
  const int cap = rules.has(Rule::PriorityCap) ? world.quota[id].priority_cap : model::priority_max;
  if (rules.has(Rule::PriorityClass)) out.negated_class = -std::int64_t{std::min(line.priority, cap)};
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
  out.share = policy_->rules.has(Rule::FairShare) ? world.quota.share(id, capacity, share_time_, *policy_) : 0;
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

LineId Agenda::next(const World& world) {
  while (try_all_ || due_ > 0 || !gained_.empty()) {
    QueueId id = QuotaTree::root();
    // Down the tree: at each level the best child, unless the queue's own lines are at least as good.
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
    if (q.exact == plan_) return q.candidate;
    find_candidate(world, id);
    touch(id);
    refresh(world, id);
  }
  return LineId::none();
}

/// The first line of the queue that is worth a try in this plan.
void Agenda::find_candidate(const World& world, QueueId id) {
  QueueState& q = queues_[id.index()];
  const auto& lines = world.lines_of(id);
  if (q.scanned != plan_) {
    q.scanned = plan_;
    q.scan = lines.begin();
    q.moved.clear();
  }
  q.exact = plan_;
  q.candidate = LineId::none();
  const bool fifo = world.quota[id].strategy == model::Strategy::Fifo && policy_->rules.has(Rule::FifoBlocks);
  while (q.scan != lines.end()) {
    const LineId line = q.scan->line;
    if (lines_[line.index()].moved != plan_) {
      if (lines_[line.index()].current.is_none()) lines_[line.index()].current = world.first_of(line);
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
}

bool Agenda::is_candidate(const World& world, LineId id) {
  const LineState& s = lines_[id.index()];
  if (s.failed == plan_) return false;
  if (try_all_ || s.due) return true;
  if (!s.parked_at.is_none() || gained_.empty()) return false;
  const Line& line = world.line(id);
  return gained_room(world, line, s) || may_take_with_victims(world, line, s);
}

void Agenda::advance(const World& world, LineId id) {
  LineState& s = lines_[id.index()];
  const Line& line = world.line(id);
  QueueState& q = queues_[line.queue.index()];
  if (s.moved == plan_) q.moved.erase(rank_of_current(world, id));
  s.moved = plan_;
  const Job& job = world.job(s.current);
  const auto after = line.jobs.upper_bound({job.seq, job.id});
  if (after != line.jobs.end()) {
    s.current = after->second;
    q.moved.insert(rank_of_current(world, id));
  } else {
    s.current = JobSlot::none();
    if (s.due) --due_;
    s.due = false;
  }
  ++gain_epoch_;
  if (!try_all_) list_gained_classes(world);
  find_candidate(world, line.queue);
  touch(line.queue);
  refresh(world, line.queue);
}

void Agenda::park(const World& world, LineId id, Why why, Time recheck) {
  LineState& s = lines_[id.index()];
  const Line& line = world.line(id);
  unpark(id);
  if (s.moved == plan_) queues_[line.queue.index()].moved.erase(rank_of_current(world, id));
  s.failed = plan_;
  s.why = std::move(why);
  s.recheck = recheck;
  if (!recheck.is_never()) rechecks_.emplace(recheck, id);
  if (const auto* over = std::get_if<OverQuota>(&s.why)) {
    if (waiting_for_quota_.size() <= over->queue.index()) waiting_for_quota_.resize(over->queue.index() + 1);
    waiting_for_quota_[over->queue.index()].insert(id);
    s.parked_at = over->queue;
  }
  find_candidate(world, line.queue);
  touch(line.queue);
  refresh(world, line.queue);
}

// ---------------------------------------------------------------------------------------------- what changed

void Agenda::make_due(LineId id) {
  LineState& s = lines_[id.index()];
  unpark(id);
  if (!s.due) ++due_;
  s.due = true;
}

void Agenda::unpark(LineId id) {
  LineState& s = lines_[id.index()];
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
  due_ = 0;
  try_all_ = true;
  for (const QueueId queue : world.quota.by_name()) {
    if (!world.lines_of(queue).empty()) refresh(world, queue);
  }
}

void Agenda::wake_for_quota(const World& world, QueueId queue) {
  for (QueueId id = queue; !id.is_none(); id = world.quota[id].parent) {
    if (id.index() >= waiting_for_quota_.size()) continue;
    std::vector<LineId> woken;
    const QueueNode& node = world.quota[id];
    for (const LineId line : waiting_for_quota_[id.index()]) {
      const auto& over = std::get<OverQuota>(lines_[line.index()].why);
      const std::size_t r = over.resource.index();
      if (over.bound == QuotaBound::Maximum && node.use[r] + over.asked > node.limits[r].maximum) continue;
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
    LineState& s = lines_[id.index()];
    if (world.line(id).jobs.empty()) {
      unpark(id);
      s.current = JobSlot::none();
      continue;
    }
    const JobSlot first = world.first_of(id);
    if (s.current == first && !std::holds_alternative<NotTried>(s.why)) continue;  // tried in the last plan
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
  ++gain_epoch_;
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
  gained_classes_.erase(std::unique(gained_classes_.begin(), gained_classes_.end()), gained_classes_.end());
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
  const Time tick{policy.share_tick.ms > 0 ? now.ms / policy.share_tick.ms * policy.share_tick.ms : now.ms};
  const bool shares_moved = total != capacity || tick != share_time_;
  capacity = std::move(total);
  share_time_ = tick;
  if (world.fleet.type_count() != types_seen_) world.changes.everything = true;
  types_seen_ = world.fleet.type_count();
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
  take_gains(world);
  fresh_ = false;
  world.changes = Changes{};
  world.changes.everything = false;
}

// ---------------------------------------------------------------------------------------------- gains

/// Could a node of this class matter to the gang? True too often costs a try in vain; false wrongly would lose a start.
bool Agenda::class_may_hold(const World& world, const Shape& shape, ClassId cls, bool leaves_in_time) {
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
        // The set needs room for all its pods in this cluster: count idle devices, of reserved nodes only if open to it.
        const auto& nodes = leaves_in_time ? cluster.all[type] : cluster.unreserved[type];
        std::int64_t fits = 0;
        for (std::size_t whole = static_cast<std::size_t>(pod.gpus); whole < nodes.size(); ++whole) {
          fits += std::int64_t{nodes[whole]} * static_cast<std::int64_t>(whole / static_cast<std::size_t>(pod.gpus));
        }
        if (fits < set.least) continue;
      }
    }
    return true;
  }
  return false;
}

/// Room that is too little alone may be enough together with victims.
bool Agenda::may_take_with_victims(const World& world, const Line& line, const LineState& state) {
  const Job& job = world.job(state.current);
  if (world.lowest_running_priority() >= priority_class(world, job, *policy_) &&
      world.quota.guarantor(job.queue).is_none()) {
    return false;
  }
  const Shape& shape = world.shapes[line.shape];
  return std::any_of(gained_classes_.begin(), gained_classes_.end(), [&](ClassId cls) {
    const NodeClass& c = world.fleet.node_class(cls);
    return std::any_of(shape.sets.begin(), shape.sets.end(), [&](const SetRec& set) {
      const PodShapeRec& pod = world.shapes.pod(set.pod);
      return (pod.gpus == 0 || world.fleet.gpu(c.gpu).total > 0) &&
             cache.match(world, *policy_, set.pod, c.profile).allowed;
    });
  });
}

bool Agenda::gained_room(const World& world, const Line& line, const LineState& state) {
  if (possible_.size() < world.shapes.size()) possible_.resize(world.shapes.size());
  Possible& known = possible_[line.shape.index()];
  const Shape& shape = world.shapes[line.shape];
  if (known.epoch != gain_epoch_) {
    known.epoch = gain_epoch_;
    known.yes = std::any_of(gained_classes_.begin(), gained_classes_.end(),
                            [&](ClassId cls) { return class_may_hold(world, shape, cls, true); });
  }
  if (!known.yes) return false;
  // Nodes reserved for others count only for jobs that leave in time.
  const Job& job = world.job(state.current);
  const Asker asker{state.current, now_ + expected_run_time(world, job, *policy_), job.reservation,
                    priority_class(world, job, *policy_)};
  const bool open = std::any_of(world.reservations().begin(), world.reservations().end(), [&](const Reservation& r) {
    return !r.job.is_none() && may_use_reserved(world, *policy_, r, asker);
  });
  return std::any_of(gained_classes_.begin(), gained_classes_.end(), [&](ClassId cls) {
    const ReservationId reserved = world.fleet.node_class(cls).reserved;
    if (!reserved.is_none() && !may_use_reserved(world, *policy_, world.reservation(reserved), asker)) return false;
    return class_may_hold(world, shape, cls, open);
  });
}

// ---------------------------------------------------------------------------------------------- caches

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
  if (full_.size() <= shape.index()) full_.resize(shape.index() + 1);
  full_[shape.index()] = {plan_, std::move(why)};
}

}  // namespace muster::sched
