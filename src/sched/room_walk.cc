#include "sched/room_walk.h"

#include <algorithm>
#include <utility>

namespace muster::sched {

bool is_simple(const World& world, const Shape& shape) {
  return shape.sets.size() == 1 && !shape.gang.topology && world.fleet.repelling_pods() == 0 &&
         !world.shapes.pod(shape.sets[0].pod).relational;
}

RoomWalk::RoomWalk(Placer& placer, const Venue& venue, std::size_t set, int per_node,
                   const Asker& asker, std::optional<Placer::Domain> domain)
    : placer_(placer), venue_(venue), set_(set), asker_(asker), domain_(std::move(domain)) {
  per_node_ = placer.policy_.rules.has(Rule::PodsPerNode) ? per_node : 0;
  const Placer::Ask ask{venue, set, per_node, asker_, nullptr};
  placer.each_class(ask, [&](const ListedClass& listed) {
    const NodeClass& c = placer.world_.fleet.node_class(listed.id);
    if (!placer.open_to(c, ask) || !placer.in_domain(c, this->domain())) return true;
    const int pods = placer.cache_.room(placer.world_, placer.policy_, venue.pods[set], listed.id);
    room_ += std::int64_t{limited(pods)} * c.size;
    return true;
  });
}

bool RoomWalk::could_hold(Placer& placer, const Venue& venue, std::size_t set, const Asker& asker,
                          NodeId id) {
  const World& world = placer.world_;
  const Node& node = world.fleet.node(id);
  if (node.cls.is_none()) return false;
  const PodShapeRec& pod = world.shapes.pod(venue.pods[set]);
  if (pod.gpus > 0 && world.fleet.profile(node.profile).type != venue.types[set]) return false;
  const NodeClass& c = world.fleet.node_class(node.cls);
  return placer.open_to(c, {venue, set, 0, asker, nullptr}) &&
         placer.cache_.match(world, placer.policy_, venue.pods[set], c.profile).allowed;
}

bool RoomWalk::counts(NodeId id) const {
  if (!could_hold(placer_, venue_, set_, asker_, id)) return false;
  const Fleet& fleet = placer_.world_.fleet;
  return placer_.in_domain(fleet.node_class(fleet.node(id).cls), domain());
}

int RoomWalk::pods_on(const Freed& freed) const {
  const World& world = placer_.world_;
  const int count = world.fleet.node(freed.node).spec.gpu_count;
  GpuState gpu;
  gpu.count = static_cast<std::uint8_t>(count);
  gpu.free = freed.devices;
  for (int d = 0; d < count; ++d) {
    const std::uint16_t free = gpu.free[static_cast<std::size_t>(d)];
    gpu.total += free;
    if (free == 1000) ++gpu.whole;
  }
  const Match& match = placer_.cache_.match(world, placer_.policy_, venue_.pods[set_],
                                            world.fleet.node(freed.node).profile);
  // Of whole devices only the number counts.
  if (match.each != 1000) std::sort(gpu.free.begin(), gpu.free.begin() + count, std::greater<>());
  return limited(pods_that_fit(world.shapes.pod(venue_.pods[set_]), match.each, freed.state, gpu,
                               placer_.policy_.rules));
}

void RoomWalk::release(const std::vector<PodOn>& pods) {
  const World& world = placer_.world_;
  for (const PodOn& on : pods) {
    auto it = freed_at_.find(on.node);
    if (it == freed_at_.end()) {
      if (!counts(on.node)) continue;
      it = freed_at_.emplace(on.node, freed_.size()).first;
      const Node& node = world.fleet.node(on.node);
      Freed f;
      f.node = on.node;
      f.state.cpu = node.cpu;
      f.state.memory = node.memory;
      f.state.pod_slots = node.pod_slots;
      f.state.extended = node.extended;
      f.devices = node.devices;
      f.pods = pods_on(f);
      freed_.push_back(std::move(f));
    }
    Freed& f = freed_[it->second];
    const PodShapeRec& pod = world.shapes.pod(on.pod);
    f.state.cpu += pod.cpu;
    f.state.memory += pod.memory;
    ++f.state.pod_slots;
    for (const auto& [index, amount] : pod.extended) {
      if (f.state.extended.size() <= index) f.state.extended.resize(index + 1, 0);
      f.state.extended[index] += amount;
    }
    for (std::uint32_t left = on.devices; left != 0; left &= left - 1) {
      auto& free = f.devices[static_cast<std::size_t>(__builtin_ctz(left))];
      free = static_cast<std::uint16_t>(std::min(1000, free + on.each));
    }
    recount(f);
  }
}

void RoomWalk::take_back(const std::vector<PodOn>& pods) {
  const World& world = placer_.world_;
  for (const PodOn& on : pods) {
    const auto it = freed_at_.find(on.node);
    if (it == freed_at_.end()) continue;
    Freed& f = freed_[it->second];
    const PodShapeRec& pod = world.shapes.pod(on.pod);
    f.state.cpu -= pod.cpu;
    f.state.memory -= pod.memory;
    --f.state.pod_slots;
    for (const auto& [index, amount] : pod.extended) f.state.extended[index] -= amount;
    for (std::uint32_t left = on.devices; left != 0; left &= left - 1) {
      auto& free = f.devices[static_cast<std::size_t>(__builtin_ctz(left))];
      free = static_cast<std::uint16_t>(std::max(0, free - on.each));
    }
    recount(f);
  }
}

void RoomWalk::recount(Freed& f) {
  const int now = pods_on(f);
  room_ += now - f.pods;
  f.pods = now;
}

std::vector<NodeId> RoomWalk::take(int count) const {
  const World& world = placer_.world_;
  struct Spot {
    std::uint32_t rank;
    NodeId node;
    int pods;
    auto operator<=>(const Spot&) const = default;
  };
  std::vector<Spot> spots;
  const Placer::Ask ask{venue_, set_, per_node_, asker_, nullptr};
  placer_.each_class(ask, [&](const ListedClass& listed) {
    const NodeClass& c = world.fleet.node_class(listed.id);
    if (!placer_.open_to(c, ask) || !placer_.in_domain(c, domain())) return true;
    const int pods =
        limited(placer_.cache_.room(world, placer_.policy_, venue_.pods[set_], listed.id));
    if (pods == 0) return true;
    for (const auto& [rank, id] : c.members) {
      const bool there = world.fleet.node(id).cls == listed.id;
      if (there && !freed_at_.contains(id)) spots.push_back({rank, id, pods});
    }
    return true;
  });
  std::sort(spots.begin(), spots.end());
  spots.erase(std::unique(spots.begin(), spots.end()), spots.end());  // who left and came back
  std::vector<NodeId> nodes;
  std::int64_t held = 0;
  for (const Spot& spot : spots) {
    if (held >= count) break;
    held += spot.pods;
    nodes.push_back(spot.node);
  }
  for (const Freed& f : freed_) {
    if (held >= count) break;
    if (f.pods == 0) continue;
    held += f.pods;
    nodes.push_back(f.node);
  }
  std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
    return world.fleet.node(a).rank < world.fleet.node(b).rank;
  });
  return nodes;
}

}  // namespace muster::sched
