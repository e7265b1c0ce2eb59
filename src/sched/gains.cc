#include "sched/gains.h"

#include <algorithm>
#include <optional>

#include "base/sort_unique.h"
#include "sched/estimate.h"
#include "sched/preempt.h"

namespace muster::sched {
namespace {

/// Of more changed nodes than this in one place only the most they have is compared.
constexpr std::size_t nodes_looked_at = 32;

/// Whole devices first: how many pods of the set the idle ones could hold, CPU not looked at.
std::int64_t by_idle_devices(const std::array<std::int32_t, gpus_per_node_max + 1>& nodes,
                             int gpus) {
  std::int64_t fits = 0;
  for (std::size_t whole = static_cast<std::size_t>(gpus); whole < nodes.size(); ++whole) {
    if (nodes[whole] == 0) continue;
    fits +=
        std::int64_t{nodes[whole]} * static_cast<std::int64_t>(whole / static_cast<unsigned>(gpus));
  }
  return fits;
}

/// Foreign pods may ask for more than a node has: whoever asks for nothing still fits there.
std::int64_t at_least_none(std::int64_t free) { return std::max<std::int64_t>(free, 0); }

/// Its class, if its job may have to go for somebody.
std::optional<int> evictable_class(const World& world, const PodOn& pod) {
  const Job& job = world.job(pod.job);
  const bool runs = job.active && !job.active->stopping;
  if (!runs || !world.shapes[job.shape].gang.preemptible) return std::nullopt;
  return job.active->counted_at;
}

/// Whoever has no right to its place but by its class stands below those inside their guarantees.
constexpr int inside_class = std::numeric_limits<int>::max() - 1;
constexpr int never_goes = std::numeric_limits<int>::max();

/// Of whom each pod of the node is, for those who look for victims.
std::vector<int> victim_classes(const Gains::Moment& at, const Node& node) {
  const bool guarantees =
      at.policy.rules.has(Rule::ProtectGuaranteed) && at.world.quota.any_guarantee();
  std::vector<int> classes;
  for (const PodOn& pod : node.pods) {
    const std::optional<int> cls = evictable_class(at.world, pod);
    const bool inside = cls && guarantees && at.world.guarantees.is_inside(at.world, pod.job);
    classes.push_back(inside ? inside_class : cls.value_or(never_goes));
  }
  return classes;
}

/// Not to be ruled out that somebody would have to go for such a job.
bool stands_above_somebody(const Gains::Moment& at, int priority, bool inside) {
  return at.may_evict && (inside || at.world.lowest_running_priority() < priority);
}

bool shorter_run(const Gains::Outline& a, const Gains::Outline& b) {
  return std::pair(a.run_ms, a.line) < std::pair(b.run_ms, b.line);
}

/// Another job of the line has it reserved: it may start although the first of the line does not.
bool is_kept_for_line(const World& world, ReservationId kept, LineId line) {
  if (kept.is_none() || world.reservation(kept).job.is_none()) return false;
  return world.job(world.reservation(kept).job).line == line;
}

}  // namespace

void Gains::begin(const Moment& at, const std::vector<NodeId>& nodes,
                  const std::vector<JobSlot>& lower, bool go_on) {
  count_idle(at.world, nodes_, left_over_);  // of the last plan's
  ++plan_;
  if (!go_on) nodes_.clear();
  nodes_.insert(nodes_.end(), nodes.begin(), nodes.end());
  sort_unique(nodes_);
  gained_.clear();
  count_idle(at.world, nodes_, gained_);
  if (!go_on) new_victims_.clear();
  add_victims(at.world, lower);
  list_classes(at);
  list_from_all(at);
}

/// Their nodes. False if nobody of them can be evicted.
bool Gains::add_victims(const World& world, const std::vector<JobSlot>& jobs) {
  const std::size_t known = new_victims_.size();
  for (const JobSlot slot : jobs) {
    const Job& job = world.job(slot);
    if (!job.active || !world.shapes[job.shape].gang.preemptible) continue;
    for (const PodOn& pod : job.active->pods) new_victims_.push_back(pod.node);
  }
  const bool any = new_victims_.size() > known;
  sort_unique(new_victims_);
  return any;
}

/// What of the gained nodes' devices is idle now, added up by place.
void Gains::count_idle(const World& world, const std::vector<NodeId>& nodes, Devices& into) const {
  const Fleet& fleet = world.fleet;
  into.resize(fleet.cluster_count());
  for (const NodeId id : nodes) {
    const Node& node = fleet.node(id);
    if (node.cls.is_none()) continue;
    auto& by_type = into[node.cluster.index()];
    if (by_type.size() < fleet.type_count()) by_type.resize(fleet.type_count(), 0);
    by_type[fleet.type_of(id).index()] += fleet.gpu_of(node.cls).whole;
  }
}

std::int64_t Gains::devices_at(const Devices& devices, ClusterId cluster, TypeId type) {
  if (cluster.index() >= devices.size()) return 0;
  const auto& by_type = devices[cluster.index()];
  return type.index() < by_type.size() ? by_type[type.index()] : 0;
}

void Gains::remember_rooms(const World& world, ShapeId shape, const std::vector<VenueRoom>& rooms) {
  if (rooms.empty()) return;
  const PodShapeRec& pod = world.shapes.pod(world.shapes[shape].sets[0].pod);
  if (pod.gpus == 0 || pod.spec.gpu.is_share() || world.shapes[shape].least_pods < 2) return;
  if (!world.shapes[shape].gang.pool.empty()) return;  // two pools may share one place
  if (types_ != world.fleet.type_count()) rooms_.clear();
  types_ = world.fleet.type_count();
  if (rooms_.size() <= shape.index()) rooms_.resize(world.shapes.size());
  auto& known = rooms_[shape.index()];
  known.resize(world.fleet.cluster_count() * types_);
  for (const VenueRoom& room : rooms) {
    known[room.cluster.index() * types_ + room.type.index()] = {
        plan_, room.pods, devices_at(left_over_, room.cluster, room.type),
        devices_at(gained_, room.cluster, room.type)};
  }
}

/// A bound from what the last try in vain found, the devices gained since and `more_devices`.
bool Gains::room_for_all(const Moment& at, ShapeId id, ClusterId cluster, TypeId type,
                         std::int64_t more_devices) const {
  const std::size_t place = cluster.index() * types_ + type.index();
  if (id.index() >= rooms_.size() || place >= rooms_[id.index()].size()) return true;
  const Room& room = rooms_[id.index()][place];
  if (room.plan == 0 || type.index() >= types_) return true;
  const Shape& shape = at.world.shapes[id];
  const std::int64_t before = room.plan == plan_ ? room.gained : 0;
  const std::int64_t gained = devices_at(left_over_, cluster, type) - room.left_over +
                              devices_at(gained_, cluster, type) - before;
  const PodShapeRec& pod = at.world.shapes.pod(shape.sets[0].pod);
  return room.pods + (gained + more_devices) / pod.gpus >= shape.least_pods;
}

void Gains::add(const Moment& at, const std::vector<NodeId>& nodes) {
  count_idle(at.world, nodes, gained_);
  nodes_.insert(nodes_.end(), nodes.begin(), nodes.end());
  sort_unique(nodes_);
  list_classes(at);
  list_from_all(at);
}

bool Gains::stand_lower(const Moment& at, const std::vector<JobSlot>& jobs) {
  if (!add_victims(at.world, jobs)) return false;
  list_classes(at);
  list_from_all(at);
  return true;
}

void Gains::set_inside(ShapeId shape, LineId line, bool inside) {
  if (inside_.size() <= shape.index()) inside_.resize(shape.index() + 1);
  std::set<LineId>& lines = inside_[shape.index()];
  if (inside) {
    lines.insert(line);
  } else {
    lines.erase(line);
  }
  if (shape.index() < bounds_.size()) bounds_[shape.index()].any_inside = !lines.empty();
}

std::vector<LineId> Gains::lines_inside() const {
  std::vector<LineId> all;
  for (const std::set<LineId>& lines : inside_) all.insert(all.end(), lines.begin(), lines.end());
  return all;
}

void Gains::narrow(const Moment& at) {
  list_classes(at);
  std::erase_if(maybe_, [&](ShapeId shape) {
    Bounds& b = bounds_[shape.index()];
    b.chance = is_worth_a_look(at, b) ? Chance::Maybe : Chance::None;
    return b.chance == Chance::None;
  });
}

std::size_t Gains::lines_at_most(const World& world) const {
  std::size_t lines = 0;
  for (const ShapeId shape : maybe_) lines += world.lines_of_shape(shape).size();
  return lines;
}

std::optional<std::vector<Gains::Outline>> Gains::lines(const Moment& at, std::size_t most) {
  std::vector<Outline> found;
  std::erase_if(maybe_, [&](ShapeId shape) {
    if (found.size() > most) return false;  // too many already: no need to know
    if (!has_chance(at, shape)) return true;
    add_lines(at, shape, found);
    return false;
  });
  if (found.size() > most) return std::nullopt;
  return found;
}

void Gains::add_lines(const Moment& at, ShapeId id, std::vector<Outline>& to) {
  const Bounds& b = bounds(at, id);
  const Runs& runs = runs_[id.index()];
  if (b.chance == Chance::Any) {
    to.insert(to.end(), runs.outlines.begin(), runs.outlines.end());
    return;
  }
  const auto add = [&](LineId line) {
    if (!at.world.line(line).jobs.empty()) to.push_back(outline(at, line));
  };
  const auto [listing, longest, victims_from] = reach(at, id);
  const auto by_class = [&, from = victims_from](int cls) {
    return cls >= from || cls > kept_up_to_;
  };
  for (const Outline& o : runs.outlines) {
    if (o.run_ms > longest && !by_class(b.highest_class)) break;
    if (o.run_ms <= longest || by_class(o.priority)) to.push_back(o);
  }
  if (b.any_inside) {
    for (const LineId line : inside_[id.index()]) add(line);
  }
  const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
  const auto [from, end] = std::equal_range(near_holders_.begin(), near_holders_.end(),
                                            std::pair{id, LineId::none()}, less);
  for (auto near = from; near != end; ++near) add(near->second);
}

void Gains::line_changed(const Moment& at, LineId id) {
  const Line& line = at.world.line(id);
  if (line.shape.index() >= bounds_.size()) return;
  Bounds& b = bounds_[line.shape.index()];
  if (!b.known) return;
  drop_outline(line.shape, id);
  if (line.jobs.empty()) return;
  const Outline changed = outline(at, id);
  widen(line.shape, changed);
  Runs& runs = runs_[line.shape.index()];
  runs.outlines.insert(
      std::lower_bound(runs.outlines.begin(), runs.outlines.end(), changed, shorter_run), changed);
  run_of(id) = changed.run_ms;
  // Bounds only widen by this; now and then they are read anew.
  b.known = ++runs.changes < 16;
}

void Gains::rule_out(ShapeId shape) {
  if (shape.index() >= bounds_.size() || bounds_[shape.index()].chance == Chance::None) return;
  bounds_[shape.index()].chance = Chance::None;
  std::erase(maybe_, shape);
}

void Gains::list_classes(const Moment& at) {
  ++listing_;
  std::vector<ClassId> classes;
  for (const NodeId id : nodes_) {
    const ClassId cls = at.world.fleet.node(id).cls;
    if (!cls.is_none()) classes.push_back(cls);
  }
  sort_unique(classes);
  opened_.clear();
  most_gpus_ = 0;
  most_cpu_ = most_memory_ = 0;
  for (const ClassId cls : classes) {
    const NodeClass& c = at.world.fleet.node_class(cls);
    opened_.push_back({cls, c.reserved, at.world.fleet.gpu(c.gpu).whole, at_least_none(c.cpu),
                       at_least_none(c.memory)});
    most_gpus_ = std::max(most_gpus_, opened_.back().gpus);
    most_cpu_ = std::max(most_cpu_, c.cpu);
    most_memory_ = std::max(most_memory_, c.memory);
  }
  list_kept(at.world);
  list_near_holders(at.world);
  places_.clear();
  if (at.may_evict && at.world.lowest_running_priority() < std::numeric_limits<int>::max()) {
    list_places(at);
  }
  list_most();
  list_closed(at);
}

/// Few, if any: who holds a reservation is most often the first of its queue.
void Gains::list_near_holders(const World& world) {
  near_holders_.clear();
  for (const Reservation& r : world.reservations()) {
    if (r.job.is_none()) continue;
    const Job& holder = world.job(r.job);
    if (!holder.line.is_none()) near_holders_.emplace_back(holder.shape, holder.line);
    if (r.preempting) continue;
    for (const LineRank& rank : world.lines_of(holder.queue)) {
      if (rank.line == holder.line) break;
      near_holders_.emplace_back(rank.shape, rank.line);
    }
  }
  sort_unique(near_holders_);
}

/// Who gets no nodes kept for others, by its class or by the time it runs.
void Gains::list_closed(const Moment& at) {
  windows_.clear();
  kept_up_to_ = std::numeric_limits<int>::max();
  for (const Kept& kept : kept_) {
    const Reservation& r = at.world.reservation(kept.by);
    if (r.preempting) continue;
    kept_up_to_ = std::min(kept_up_to_, priority_class(at.world, at.world.job(r.job), at.policy));
    windows_.push_back((r.start - at.now).ms);
  }
  sort_unique(windows_);
}

/// The longest run for which kept nodes are open to so many that the gang may find room, whatever
/// its class: the longer it runs, the fewer reservations it would leave in time for.
std::int64_t Gains::longest_with_room(const Moment& at, ShapeId id) const {
  const auto has_room = [&](std::int64_t window) {
    const auto open = [&](ReservationId id) {
      const Reservation& r = at.world.reservation(id);
      return !r.preempting && (r.start - at.now).ms >= window;
    };
    return std::any_of(opened_.begin(), opened_.end(), [&](const Opened& o) {
      if (!o.kept.is_none() && !open(o.kept)) return false;
      return may_hold(at, id, o.cls, open);
    });
  };
  const auto first_without = std::partition_point(windows_.begin(), windows_.end(), has_room);
  return first_without == windows_.begin() ? -1 : *(first_without - 1);
}

template <typename Leaves>
Gains::Free Gains::free_without(const World& world, const Node& node, const Leaves& leaves) {
  Free free{0, node.cpu, node.memory, node.reserved};
  DeviceFree devices = node.devices;
  for (const PodOn& pod : node.pods) {
    if (!leaves(pod)) continue;
    free.cpu += world.shapes.pod(pod.pod).cpu;
    free.memory += world.shapes.pod(pod.pod).memory;
    for (std::uint32_t left = pod.devices; left != 0; left &= left - 1) {
      auto& device = devices[static_cast<std::size_t>(__builtin_ctz(left))];
      device = static_cast<std::uint16_t>(std::min(1000, device + pod.each));
    }
  }
  free.cpu = at_least_none(free.cpu);
  free.memory = at_least_none(free.memory);
  free.gpus = static_cast<int>(std::count(devices.begin(), devices.end(), std::uint16_t{1000}));
  return free;
}

Gains::Free Gains::most_of(const std::vector<Free>& nodes) {
  Free most;
  for (const Free& free : nodes) most = most_of(most, free);
  return most;
}

Gains::Free Gains::most_of(const Free& a, const Free& b) {
  return {std::max(a.gpus, b.gpus), std::max(a.cpu, b.cpu), std::max(a.memory, b.memory), {}};
}

/// Read for every shape, so that most need no look at a place.
void Gains::list_most() {
  most_.assign(1, {});
  for (const Place& place : places_) {
    most_.front().free = most_of(most_.front().free, most_of(place.nodes));
    for (const Level& level : place.levels) most_.push_back({level.up_to, most_of(level.nodes)});
  }
  std::sort(most_.begin(), most_.end(),
            [](const Most& a, const Most& b) { return a.up_to < b.up_to; });
  for (std::size_t i = 1; i < most_.size(); ++i)
    most_[i].free = most_of(most_[i].free, most_[i - 1].free);
}

/// The smallest pod of the shape would fit on a changed node without those below this class.
bool Gains::may_make_room(const Bounds& b, int below) const {
  const Free* free = &most_.front().free;
  for (std::size_t i = 1; i < most_.size() && most_[i].up_to < below; ++i) free = &most_[i].free;
  return b.least_gpus <= free->gpus && b.least_cpu <= free->cpu && b.least_memory <= free->memory;
}

/// In the clusters of the changed nodes: nobody asks about others.
void Gains::list_kept(const World& world) {
  kept_.clear();
  std::vector<bool> asked(world.fleet.cluster_count(), false);
  for (const auto* nodes : {&nodes_, &new_victims_}) {
    for (const NodeId node : *nodes) asked[world.fleet.node(node).cluster.index()] = true;
  }
  for (std::size_t i = 0; i < world.reservations().size(); ++i) {
    const Reservation& r = world.reservations()[i];
    if (r.job.is_none() || !asked[r.cluster.index()]) continue;
    const ReservationId id{static_cast<std::uint32_t>(i)};
    for (const NodeId node : r.nodes) {
      const ClassId cls = world.fleet.node(node).cls;
      if (cls.is_none()) continue;
      const TypeId type = world.fleet.type_of(node);
      if (kept_.empty() || kept_.back().by != id || kept_.back().type != type)
        kept_.push_back({id, r.cluster, type, 0, false, {}});
      kept_.back().devices += world.fleet.gpu_of(cls).whole;
    }
  }
}

void Gains::list_places(const Moment& at) {
  const Fleet& fleet = at.world.fleet;
  std::vector<NodeId> nodes = nodes_;
  nodes.insert(nodes.end(), new_victims_.begin(), new_victims_.end());
  sort_unique(nodes);
  std::map<std::pair<ClusterId, TypeId>, std::vector<NodeId>> by_place;
  for (const NodeId id : nodes) {
    const Node& node = fleet.node(id);
    if (!node.cls.is_none()) by_place[{node.cluster, fleet.type_of(id)}].push_back(id);
  }
  for (const auto& [key, members] : by_place) {
    Place place{key.first, key.second, {}, {}};
    std::vector<std::vector<int>> classes_of;  // of the pods of each member
    std::vector<int> classes;
    for (const NodeId id : members) {
      const Node& node = fleet.node(id);
      place.nodes.push_back({fleet.gpu_of(node.cls).whole, at_least_none(node.cpu),
                             at_least_none(node.memory), node.reserved});
      classes_of.push_back(victim_classes(at, node));
      classes.insert(classes.end(), classes_of.back().begin(), classes_of.back().end());
    }
    if (place.nodes.size() > nodes_looked_at) place.nodes = {most_of(place.nodes)};
    sort_unique(classes);
    std::erase(classes, never_goes);
    for (const int cls : classes) {
      Level level{cls, {}};
      for (std::size_t i = 0; i < members.size(); ++i) {
        const Node& node = fleet.node(members[i]);
        const std::vector<int>& here = classes_of[i];
        const auto goes = [&](int c) { return c <= cls; };
        const auto leaves = [&](const PodOn& pod) {
          return goes(here[static_cast<std::size_t>(&pod - node.pods.data())]);
        };
        if (std::any_of(here.begin(), here.end(), goes))
          level.nodes.push_back(free_without(at.world, node, leaves));
      }
      place.levels.push_back(std::move(level));
    }
    places_.push_back(std::move(place));
  }
}

/// Who runs on reserved nodes is of no use as a victim to those the nodes are closed to.
void Gains::count_victims(const Moment& at, Kept& kept) {
  kept.counted = true;
  for (const NodeId id : at.world.reservation(kept.by).nodes) {
    if (at.world.fleet.type_of(id) != kept.type) continue;
    for (const PodOn& pod : at.world.fleet.node(id).pods) {
      if (const auto cls = evictable_class(at.world, pod))
        kept.evictable[*cls] += std::int64_t{pod.each} * __builtin_popcount(pod.devices);
    }
  }
}

void Gains::list_from_all(const Moment& at) {
  if (bounds_.size() < at.world.shapes.size()) {
    bounds_.resize(at.world.shapes.size());
    runs_.resize(at.world.shapes.size());
  }
  for (const ShapeId shape : maybe_) bounds_[shape.index()].chance = Chance::None;
  maybe_.clear();
  if (opened_.empty() && places_.empty()) return;
  for (const ShapeId shape : at.world.shapes_with_lines()) {
    if (!is_worth_a_look(at, bounds(at, shape))) continue;
    bounds_[shape.index()].chance = Chance::Maybe;
    maybe_.push_back(shape);
  }
}

/// From the amounts alone, without looking at the shape.
bool Gains::is_worth_a_look(const Moment& at, const Bounds& b) const {
  if (b.least_gpus <= most_gpus_ && b.least_cpu <= most_cpu_ && b.least_memory <= most_memory_) {
    return true;
  }
  if (!at.may_evict || places_.empty()) return false;
  if (b.any_inside) return may_make_room(b, std::numeric_limits<int>::max());
  return at.world.lowest_running_priority() < b.highest_class && may_make_room(b, b.highest_class);
}

const Gains::Bounds& Gains::bounds(const Moment& at, ShapeId id) {
  Bounds& b = bounds_[id.index()];
  if (b.known) return b;
  const Chance chance = b.chance;
  b = {};
  b.known = true;
  b.chance = chance;
  b.any_inside = id.index() < inside_.size() && !inside_[id.index()].empty();
  const Shape& shape = at.world.shapes[id];
  b.least_gpus = std::numeric_limits<std::uint8_t>::max();
  b.least_cpu = b.least_memory = std::numeric_limits<std::int64_t>::max();
  Runs& runs = runs_[id.index()];
  runs = {std::numeric_limits<std::int64_t>::max(), {}, {}, 0, {}};
  for (const SetRec& set : shape.sets) {
    const PodShapeRec& pod = at.world.shapes.pod(set.pod);
    const int gpus = pod.spec.gpu.is_share() ? 0 : pod.gpus;
    b.least_gpus = std::min(b.least_gpus, static_cast<std::uint8_t>(std::min(gpus, 255)));
    b.least_cpu = std::min(b.least_cpu, pod.cpu);
    b.least_memory = std::min(b.least_memory, pod.memory);
  }
  for (const LineId line : at.world.lines_of_shape(id)) {
    runs.outlines.push_back(outline(at, line));
    widen(id, runs.outlines.back());
    run_of(line) = runs.outlines.back().run_ms;
  }
  std::sort(runs.outlines.begin(), runs.outlines.end(), shorter_run);
  return b;
}

Gains::Outline Gains::outline(const Moment& at, LineId line) {
  const Job& job = at.world.job(at.world.first_of(line));
  return {expected_run_time(at.world, job, at.policy).ms, priority_class(at.world, job, at.policy),
          line, job.queue};
}

void Gains::widen(ShapeId shape, const Outline& by) {
  Runs& runs = runs_[shape.index()];
  runs.reach.listing = 0;  // more may be open to the shape than was thought
  runs.least_ms = std::min(runs.least_ms, by.run_ms);
  int& highest = bounds_[shape.index()].highest_class;
  highest = std::max(highest, by.priority);
  const auto cls = std::lower_bound(runs.classes.begin(), runs.classes.end(), by.priority);
  if (cls == runs.classes.end() || *cls != by.priority) runs.classes.insert(cls, by.priority);
}

void Gains::drop_outline(ShapeId shape, LineId line) {
  auto& outlines = runs_[shape.index()].outlines;
  const Outline known{run_of(line), 0, line, {}};
  const auto at = std::lower_bound(outlines.begin(), outlines.end(), known, shorter_run);
  if (at != outlines.end() && at->line == line && at->run_ms == known.run_ms) outlines.erase(at);
}

std::int64_t& Gains::run_of(LineId line) {
  if (run_of_line_.size() <= line.index()) run_of_line_.resize(line.index() + 1);
  return run_of_line_[line.index()];
}

/// Nodes kept for another job may be open to some line of the shape, if only until they are needed.
bool Gains::may_open(const Moment& at, const Reservation& r, ShapeId shape) const {
  if (r.job.is_none() || may_open_for_good(at, r, shape)) return true;
  return !r.preempting && at.now + Duration{runs_[shape.index()].least_ms} <= r.start;
}

/// However long it runs: nobody is evicted for less.
bool Gains::may_open_for_good(const Moment& at, const Reservation& r, ShapeId shape) const {
  if (r.job.is_none()) return true;
  const Job& holder = at.world.job(r.job);
  if (holder.shape == shape) return true;
  if (r.preempting) return false;
  if (bounds_[shape.index()].any_inside) return true;
  if (priority_class(at.world, holder, at.policy) < bounds_[shape.index()].highest_class)
    return true;
  const auto near =
      std::lower_bound(near_holders_.begin(), near_holders_.end(), std::pair{shape, LineId{0}});
  return near != near_holders_.end() && near->first == shape;
}

bool Gains::is_open_to(const Moment& at, ReservationId id, const Asker& asker) {
  if (answers_.size() <= id.index()) answers_.resize(at.world.reservations().size());
  Answer& answer = answers_[id.index()];
  if (answer.asker != askers_) {
    const Reservation& r = at.world.reservation(id);
    answer = {askers_, !r.job.is_none() && may_use_reserved(at.world, at.policy, r, asker)};
  }
  return answer.open;
}

/// Idle on nodes that are reserved there, but open to the asker.
template <typename Open>
std::int64_t Gains::reserved_devices(ClusterId cluster, TypeId type, const Open& open) const {
  std::int64_t devices = 0;
  for (const Kept& kept : kept_) {
    if (kept.cluster == cluster && kept.type == type && open(kept.by)) devices += kept.devices;
  }
  return devices;
}

/// Could a node of this class matter to the gang? The set needs room for all its pods in this
/// cluster: idle devices are counted, of reserved nodes only if they may be open to it.
template <typename Open>
bool Gains::may_hold(const Moment& at, ShapeId id, ClassId cls, const Open& open) const {
  const Shape& shape = at.world.shapes[id];
  const Fleet& fleet = at.world.fleet;
  const NodeClass& c = fleet.node_class(cls);
  const GpuState& gpu = fleet.gpu(c.gpu);
  const Cluster& cluster = fleet.cluster(c.cluster);
  const std::size_t type = fleet.profile(c.profile).type.index();
  for (const SetRec& set : shape.sets) {
    const PodShapeRec& pod = at.world.shapes.pod(set.pod);
    if (pod.cpu > at_least_none(c.cpu) || pod.memory > at_least_none(c.memory)) continue;
    if (pod.gpus > 0) {
      const bool share = pod.spec.gpu.is_share();
      if (share ? gpu.total == 0 : pod.gpus > gpu.whole) continue;
      // A pool adds tolerations, so the pod alone says nothing there.
      if (shape.gang.pool.empty() &&
          !at.cache.match(at.world, at.policy, set.pod, c.profile).allowed) {
        continue;
      }
      if (share || set.least < 2) return true;
      const std::int64_t kept = reserved_devices(c.cluster, fleet.profile(c.profile).type, open);
      if (by_idle_devices(cluster.unreserved[type], pod.gpus) + kept / pod.gpus < set.least)
        continue;
      if (!room_for_all(at, id, c.cluster, fleet.profile(c.profile).type, kept)) continue;
    }
    return true;
  }
  return false;
}

template <typename Open>
std::int64_t Gains::evictable_on_closed(const Moment& at, const Place& place, int below,
                                        const Open& open) {
  std::int64_t milli = 0;
  for (Kept& kept : kept_) {
    if (kept.cluster != place.cluster || kept.type != place.type || open(kept.by)) continue;
    if (!kept.counted) count_victims(at, kept);
    for (const auto& [priority, held] : kept.evictable) milli += priority < below ? held : 0;
  }
  return milli;
}

/// Room that is too little alone may be enough together with jobs of a lower standing that hold
/// nodes of the same kind there.
template <typename Open>
bool Gains::with_victims(const Moment& at, ShapeId id, int priority, bool inside,
                         const Open& open) {
  if (!stands_above_somebody(at, priority, inside)) return false;
  // Inside its guarantee it may evict whoever borrows, of any class.
  const int below = inside ? std::numeric_limits<int>::max() : priority;
  if (!may_make_room(bounds_[id.index()], below)) return false;
  const Shape& shape = at.world.shapes[id];
  const bool one_pod = shape.least_pods == 1;
  return std::any_of(places_.begin(), places_.end(), [&](const Place& place) {
    const Evictable evictable = at.world.evictable_below(place.cluster, place.type, below);
    if (evictable.pods == 0) return false;
    const Level* level = nullptr;
    for (const Level& l : place.levels) {
      if (l.up_to < below) level = &l;
    }
    if (one_pod && level == nullptr) return false;  // no victim on these nodes
    const auto& unreserved = at.world.fleet.cluster(place.cluster).unreserved[place.type.index()];
    std::int64_t idle = 0;
    for (std::size_t whole = 1; whole < unreserved.size(); ++whole)
      idle += static_cast<std::int64_t>(whole) * unreserved[whole];
    return std::any_of(shape.sets.begin(), shape.sets.end(), [&](const SetRec& set) {
      const PodShapeRec& pod = at.world.shapes.pod(set.pod);
      const bool whole = pod.gpus > 0 && !pod.spec.gpu.is_share();
      const auto open_and_holds = [&](const Free& free) {
        return pod.cpu <= free.cpu && pod.memory <= free.memory &&
               (!whole || pod.gpus <= free.gpus) && (free.kept.is_none() || open(free.kept));
      };
      const auto any_holds = [&](const std::vector<Free>& nodes) {
        return std::any_of(nodes.begin(), nodes.end(), open_and_holds);
      };
      if ((one_pod || !any_holds(place.nodes)) && (level == nullptr || !any_holds(level->nodes))) {
        return false;
      }
      if (!whole) return true;
      // Who runs on reserved nodes is counted last: these may be hundreds.
      const std::int64_t kept = reserved_devices(place.cluster, place.type, open);
      const std::int64_t needed = std::int64_t{pod.gpus} * set.least;
      if (idle + kept + evictable.gpu_milli / 1000 + 1 < needed) return false;
      const std::int64_t free_by_victims =
          (evictable.gpu_milli - evictable_on_closed(at, place, below, open)) / 1000 + 1;
      if (idle + kept + free_by_victims < needed) return false;
      return set.least < 2 ||
             room_for_all(at, id, place.cluster, place.type, free_by_victims + kept);
    });
  });
}

Gains::Chance Gains::chance_of(const Moment& at, ShapeId id) {
  const Bounds& b = bounds(at, id);
  const auto open = [&](ReservationId kept) {
    return may_open(at, at.world.reservation(kept), id);
  };
  const auto nothing = [](ReservationId) { return false; };
  Chance chance = Chance::None;
  for (const Opened& o : opened_) {
    // Most shapes ask for more than there is: not even their pods need to be looked at.
    if (b.least_gpus > o.gpus || b.least_cpu > o.cpu || b.least_memory > o.memory) continue;
    if (o.kept.is_none()) {
      if (may_hold(at, id, o.cls, nothing)) return Chance::Any;
      if (chance == Chance::None && may_hold(at, id, o.cls, open)) chance = Chance::Some;
    } else if (chance == Chance::None && open(o.kept) && may_hold(at, id, o.cls, open)) {
      chance = Chance::Some;
    }
  }
  const auto for_good = [&](ReservationId kept) {
    return may_open_for_good(at, at.world.reservation(kept), id);
  };
  if (chance == Chance::None && with_victims(at, id, b.highest_class, b.any_inside, for_good))
    chance = Chance::Some;
  return chance;
}

bool Gains::has_chance(const Moment& at, ShapeId shape) {
  if (shape.index() >= bounds_.size()) return false;
  Chance& chance = bounds_[shape.index()].chance;
  if (chance == Chance::Maybe) chance = chance_of(at, shape);
  return chance != Chance::None;
}

/// Of a shape whose chance depends on the line. Whoever stands higher finds all the victims that
/// others find, so the classes need not all be tried.
const Gains::Reach& Gains::reach(const Moment& at, ShapeId id) {
  Runs& runs = runs_[id.index()];
  if (runs.reach.listing == listing_) return runs.reach;
  const auto for_good = [&](ReservationId kept) {
    return may_open_for_good(at, at.world.reservation(kept), id);
  };
  const auto first_with =
      std::partition_point(runs.classes.begin(), runs.classes.end(),
                           [&](int cls) { return !with_victims(at, id, cls, false, for_good); });
  runs.reach = {listing_, longest_with_room(at, id), std::numeric_limits<int>::min()};
  if (first_with != runs.classes.begin()) runs.reach.victims_from = *(first_with - 1) + 1;
  return runs.reach;
}

/// Not inside of guaranteed amounts. Cheaper than to ask for each node, and enough for most.
bool Gains::is_in_reach(const Moment& at, const Job& job, ShapeId shape, int priority) {
  const Reach& r = reach(at, shape);
  if (priority >= r.victims_from || priority > kept_up_to_ || !job.reservation.is_none())
    return true;
  if (std::binary_search(near_holders_.begin(), near_holders_.end(), std::pair{shape, job.line}))
    return true;
  return expected_run_time(at.world, job, at.policy).ms <= r.longest_ms;
}

Gains::Hope Gains::hope_of(const Moment& at, const Line& line, JobSlot slot, bool inside) {
  if (!has_chance(at, line.shape)) return {};
  Hope hope;
  const Bounds& b = bounds_[line.shape.index()];
  hope.room = b.chance == Chance::Any;
  const bool capped = at.policy.rules.has(Rule::PriorityCap);
  const int priority =
      capped ? std::min(line.priority, at.world.quota.cap(line.queue)) : line.priority;
  if (hope.room && !stands_above_somebody(at, priority, inside))
    return hope;  // without a look at the job
  const Job& job = at.world.job(slot);
  const bool depends = b.chance == Chance::Some && b.known;
  if (depends && !inside && !is_in_reach(at, job, line.shape, priority)) return {};
  Asker asker{slot, Time::never(), job.reservation, priority, inside};
  ++askers_;
  const auto open = [&](ReservationId id) { return is_open_to(at, id, asker); };
  hope.victims = with_victims(at, line.shape, priority, inside, open);
  if (hope.room || hope.victims) return hope;
  asker.end = at.now + expected_run_time(at.world, job, at.policy);
  ++askers_;
  hope.room = std::any_of(opened_.begin(), opened_.end(), [&](const Opened& o) {
    if (is_kept_for_line(at.world, o.kept, job.line)) return true;
    if (b.least_gpus > o.gpus || b.least_cpu > o.cpu || b.least_memory > o.memory) return false;
    if (!o.kept.is_none() && !open(o.kept)) return false;
    return may_hold(at, line.shape, o.cls, open);
  });
  return hope;
}

}  // namespace muster::sched
