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

bool Agenda::best_of(const World& world, QueueId id, Key& out) const {
  const QueueState& q = queues_[id.index()];
  const QueueNode& node = world.quota[id];
  const Rules& rules = policy_->rules;
  bool any = false;
  if (!q.active.empty() && !q.blocked) {
    const LineRank& first = *q.active.begin();
    const Line& line = world.line(first.line);
    out = Key{};
    if (rules.has(Rule::GuaranteedFirst) && !world.quota.guarantor(id).is_none()) {
      // The cheapest type decides the tier; the quota check before the start looks at the real one.
      const Shape& shape = world.shapes[line.shape];
      Charges least;
      std::int64_t cpu = 0;
      std::int64_t memory = 0;
      for (const SetRec& set : shape.sets) {
        cpu += world.shapes.pod(set.pod).cpu * set.least;
        memory += world.shapes.pod(set.pod).memory * set.least;
      }
      least = {{resource_cpu, cpu}, {resource_memory, memory}, {resource_gpu, shape.gpu_milli}};
      if (world.quota.inside_guaranteed(id, least)) out.tier = 0;
    }
    const int cap = rules.has(Rule::PriorityCap) ? node.priority_cap : model::priority_max;
    if (rules.has(Rule::PriorityClass))
      out.negated_class = -std::int64_t{std::min(line.priority, cap)};
    any = true;
  }
  if (!q.children.empty()) {
    const Key& child = *q.children.begin();
    if (!any || std::tie(child.tier, child.negated_class) < std::tie(out.tier, out.negated_class)) {
      out.tier = child.tier;
      out.negated_class = child.negated_class;
    }
    any = true;
  }
  if (!any) return false;
  out.share =
      rules.has(Rule::FairShare) ? world.quota.share(id, capacity, share_time_, *policy_) : 0;
  out.name_rank = node.name_rank;
  out.queue = id;
  return true;
}

void Agenda::refresh(const World& world, QueueId from) {
  if (queues_.size() < world.quota.size()) queues_.resize(world.quota.size());
  for (QueueId id = from; !id.is_none(); id = world.quota[id].parent) {
    QueueState& q = queues_[id.index()];
    const QueueId parent = world.quota[id].parent;
    if (parent.is_none()) return;
    Key key;
    const bool any = best_of(world, id, key);
    auto& siblings = queues_[parent.index()].children;
    if (q.listed) siblings.erase(q.key);
    q.listed = any;
    q.key = key;
    if (any) siblings.insert(key);
  }
}

LineId Agenda::next() const {
  if (queues_.empty()) return LineId::none();
  QueueId id = QuotaTree::root();
  while (true) {
    const QueueState& q = queues_[id.index()];
    // A queue with lines of its own and children offers its own first when they are as good.
    if (!q.children.empty()) {
      const Key& child = *q.children.begin();
      const bool own_first =
          !q.active.empty() && !q.blocked && id != QuotaTree::root() &&
          std::tie(q.key.tier, q.key.negated_class) < std::tie(child.tier, child.negated_class);
      if (!own_first) {
        id = child.queue;
        continue;
      }
    }
    return q.active.empty() || q.blocked ? LineId::none() : q.active.begin()->line;
  }
}

// ----------------------------------------------------------------------------------------------
// lines

void Agenda::unpark(LineId id) {
  LineState& s = lines_[id.index()];
  if (s.parked_for_room) waiting_for_room_.erase(id);
  s.parked_for_room = false;
  if (!s.parked_at.is_none()) waiting_for_quota_[s.parked_at.index()].erase(id);
  s.parked_at = QueueId::none();
  if (!s.recheck.is_never()) rechecks_.erase({s.recheck, id});
  s.recheck = Time::never();
}

void Agenda::activate(const World& world, LineId id) {
  LineState& s = lines_[id.index()];
  if (s.active) deactivate(world, id);
  unpark(id);
  const Line& line = world.line(id);
  if (line.jobs.empty()) {
    s.current = JobSlot::none();
    refresh(world, line.queue);
    return;
  }
  s.current = world.first_of(id);
  s.active = true;
  if (queues_.size() < world.quota.size()) queues_.resize(world.quota.size());
  queues_[line.queue.index()].active.insert(rank_of_current(world, id));
  queues_[line.queue.index()].blocked = false;
  refresh(world, line.queue);
}

void Agenda::deactivate(const World& world, LineId id) {
  LineState& s = lines_[id.index()];
  if (!s.active) return;
  s.active = false;
  queues_[world.line(id).queue.index()].active.erase(rank_of_current(world, id));
}

void Agenda::placed(const World& world, LineId id) {
  LineState& s = lines_[id.index()];
  const Line& line = world.line(id);
  deactivate(world, id);
  const Job& job = world.job(s.current);
  const auto after = line.jobs.upper_bound({job.seq, job.id});
  if (after != line.jobs.end()) {
    s.current = after->second;
    s.active = true;
    queues_[line.queue.index()].active.insert(rank_of_current(world, id));
  } else {
    s.current = JobSlot::none();
  }
  refresh(world, line.queue);
}

void Agenda::park(const World& world, LineId id, Why why, Time recheck) {
  LineState& s = lines_[id.index()];
  deactivate(world, id);
  s.why = std::move(why);
  s.recheck = recheck;
  if (!recheck.is_never()) rechecks_.emplace(recheck, id);
  if (const auto* over = std::get_if<OverQuota>(&s.why)) {
    if (waiting_for_quota_.size() <= over->queue.index())
      waiting_for_quota_.resize(over->queue.index() + 1);
    waiting_for_quota_[over->queue.index()].insert(id);
    s.parked_at = over->queue;
  } else {
    s.parked_for_room = true;
    waiting_for_room_.insert(id);
  }
  refresh(world, world.line(id).queue);
}

void Agenda::block(const World& world, QueueId queue) {
  queues_[queue.index()].blocked = true;
  refresh(world, queue);
}

// ----------------------------------------------------------------------------------------------
// waking

void Agenda::rebuild(World& world) {
  queues_.assign(world.quota.size(), {});
  lines_.assign(world.line_slots(), {});
  waiting_for_room_.clear();
  waiting_for_quota_.clear();
  rechecks_.clear();
  venues_.clear();
  venues_known_.clear();
  for (const QueueId queue : world.quota.by_name()) {
    for (const LineRank& rank : world.lines_of(queue)) {
      LineState& s = lines_[rank.line.index()];
      s.current = world.first_of(rank.line);
      s.active = true;
      queues_[queue.index()].active.insert(rank);
    }
    if (!queues_[queue.index()].active.empty()) refresh(world, queue);
  }
}

/// Could a node of this class matter to the line? True too often costs a try in vain, false wrongly
/// would lose a start.
bool Agenda::room_for(const World& world, const Line& line, const LineState& state, ClassId cls,
                      Time now) {
  const NodeClass& c = world.fleet.node_class(cls);
  const Shape& shape = world.shapes[line.shape];
  const Job& job = world.job(state.current);
  const Cluster& cluster = world.fleet.cluster(c.cluster);
  const std::size_t type = world.fleet.profile(c.profile).type.index();
  bool leaves_in_time = !job.reservation.is_none();
  if (!c.reserved.is_none() && c.reserved != job.reservation) {
    const Reservation& r = world.reservation(c.reserved);
    if (r.preempting || now + expected_run_time(world, job, *policy_) > r.start) return false;
    leaves_in_time = true;
  }
  for (const SetRec& set : shape.sets) {
    const PodShapeRec& pod = world.shapes.pod(set.pod);
    if (pod.cpu > c.cpu || pod.memory > c.memory) continue;
    const GpuState& gpu = world.fleet.gpu(c.gpu);
    if (pod.gpus > 0 && !pod.spec.gpu.is_share()) {
      if (pod.gpus > gpu.whole) continue;
      // The whole set needs room in this cluster: count idle devices there, reserved nodes only if
      // they are open to it.
      const auto& nodes = leaves_in_time ? cluster.all[type] : cluster.unreserved[type];
      std::int64_t fits = 0;
      for (std::size_t whole = static_cast<std::size_t>(pod.gpus); whole < nodes.size(); ++whole) {
        fits += std::int64_t{nodes[whole]} *
                static_cast<std::int64_t>(whole / static_cast<std::size_t>(pod.gpus));
      }
      if (fits < set.least) return false;
    }
    return true;
  }
  return false;
}

void Agenda::wake_for_room(World& world) {
  std::vector<ClassId> classes;
  for (const NodeId node : world.fleet.gained()) {
    const ClassId cls = world.fleet.node(node).cls;
    if (!cls.is_none()) classes.push_back(cls);
  }
  world.fleet.gained().clear();
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  if (classes.empty()) return;
  std::vector<LineId> woken;
  for (const LineId id : waiting_for_room_) {
    const Line& line = world.line(id);
    for (const ClassId cls : classes) {
      if (room_for(world, line, lines_[id.index()], cls, now_)) {
        woken.push_back(id);
        break;
      }
    }
  }
  for (const LineId id : woken) activate(world, id);
}

void Agenda::wake_for_quota(const World& world, QueueId queue) {
  for (QueueId id = queue; !id.is_none(); id = world.quota[id].parent) {
    if (id.index() >= waiting_for_quota_.size()) continue;
    std::vector<LineId> woken;
    for (const LineId line : waiting_for_quota_[id.index()]) {
      const auto& over = std::get<OverQuota>(lines_[line.index()].why);
      const QueueNode& node = world.quota[id];
      const LimitRec limit = over.resource.index() < node.limits.size()
                                 ? node.limits[over.resource.index()]
                                 : LimitRec{};
      if (over.bound == QuotaBound::Maximum &&
          node.use[over.resource.index()] + over.asked > limit.maximum)
        continue;
      woken.push_back(line);
    }
    for (const LineId line : woken) activate(world, line);
  }
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
  if (fresh_ || world.changes.everything) {
    rebuild(world);
    world.fleet.gained().clear();
  } else {
    lines_.resize(world.line_slots());
    if (queues_.size() < world.quota.size()) queues_.resize(world.quota.size());
    if (shares_moved) {
      for (const QueueId queue : world.quota.by_name()) refresh(world, queue);
    }
    for (const LineId line : world.changes.lines) {
      const LineState& s = lines_[line.index()];
      const bool same_first =
          !s.active && !world.line(line).jobs.empty() && world.first_of(line) == s.current;
      if (!same_first) activate(world, line);
    }
    for (const QueueId queue : world.changes.freed) wake_for_quota(world, queue);
    wake_for_room(world);
    while (!rechecks_.empty() && rechecks_.begin()->first <= now)
      activate(world, rechecks_.begin()->second);
  }
  fresh_ = false;
  world.changes = Changes{.everything = false, .lines = {}, .freed = {}};
}

// ----------------------------------------------------------------------------------------------
// caches

const Venues& Agenda::venues(World& world, const Policy& policy, ShapeId shape) {
  if (venues_.size() <= shape.index()) {
    venues_.resize(world.shapes.size());
    venues_known_.resize(world.shapes.size(), false);
  }
  if (!venues_known_[shape.index()]) {
    venues_[shape.index()] = venues_of(world, policy, world.shapes[shape]);
    venues_known_[shape.index()] = true;
  }
  return venues_[shape.index()];
}

int Agenda::lowest_running_class(const World& world, const Policy& policy) {
  if (lowest_plan_ == plan_) return lowest_class_;
  lowest_plan_ = plan_;
  lowest_class_ = std::numeric_limits<int>::max();
  for (std::size_t c = 0; c < world.fleet.cluster_count(); ++c) {
    for (const JobSlot slot : world.active_in(ClusterId{static_cast<std::uint32_t>(c)})) {
      const Job& job = world.job(slot);
      if (!job.active->stopping && world.shapes[job.shape].gang.preemptible) {
        lowest_class_ = std::min(lowest_class_, priority_class(world, job, policy));
      }
    }
  }
  return lowest_class_;
}

bool Agenda::known_full(ShapeId shape) const {
  return shape.index() < full_.size() && full_[shape.index()].plan == plan_;
}

void Agenda::set_known_full(ShapeId shape, Why why) {
  if (full_.size() <= shape.index()) full_.resize(shape.index() + 1);
  full_[shape.index()] = {plan_, std::move(why)};
}

}  // namespace muster::sched
