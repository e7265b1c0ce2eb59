#include "sched/node_cost.h"

#include <algorithm>
#include <vector>

#include "sched/world.h"

namespace muster::sched {
namespace {

constexpr std::int64_t mib = 1 << 20;
/// Making prices costs milliseconds, so they are looked at again only so often.
constexpr Duration model_pause = minutes(1);
/// Nodes; here the pause would be felt. It costs less there, but with the kinds of pods and GPUs.
constexpr std::size_t small_fleet = 256;

std::int64_t capped(std::int64_t amount) {
  return std::clamp<std::int64_t>(amount, 0, worth::amount_max);
}

/// GPU types past the last model share it: an approximation among rare types, never a wrong index.
std::size_t model_of(TypeId type) { return std::min(type.index(), worth::models_max - 1); }

worth::NodeState state_of(const Profile& profile, std::int64_t cpu, std::int64_t memory,
                          const GpuState& gpu) {
  worth::NodeState s;
  s.cpu_milli = capped(cpu);
  s.memory_mib = capped(memory / mib);
  s.model = static_cast<std::uint8_t>(model_of(profile.type));
  s.gpus = gpu.count;
  for (std::size_t i = 0; i < gpu.count; ++i) {
    const std::uint16_t free = gpu.free[gpu.count - 1 - i];
    s.free[i] = static_cast<std::int16_t>(std::min<std::int32_t>(free, worth::whole_milli));
  }
  return s;
}

worth::PodShape shape_of(const PodShapeRec& pod, std::uint16_t each, const Fleet& fleet) {
  worth::PodShape s;
  s.cpu_milli = capped(pod.cpu);
  s.memory_mib = capped((pod.memory + mib - 1) / mib);
  s.num_gpu = pod.gpus;
  s.gpu_milli = pod.gpus > 0 ? each : 0;
  if (pod.gpus > 0 && !pod.spec.gpu_types.empty()) {
    s.models = 0;
    for (const auto& name : pod.spec.gpu_types) {
      const TypeId type = fleet.find_type(name);
      if (!type.is_none()) s.models |= std::uint64_t{1} << model_of(type);
    }
  }
  return s;
}

/// The same pod, for a node it is known to fit: what rounding to MiB, a cap or a rule that is
/// switched off would refuse is let through, so that the node still gets its true cost.
worth::PodShape shape_on(const PodShapeRec& pod, std::uint16_t each, const worth::NodeState& node) {
  worth::PodShape s;
  s.cpu_milli = std::min(capped(pod.cpu), node.cpu_milli);
  s.memory_mib = std::min(capped((pod.memory + mib - 1) / mib), node.memory_mib);
  s.num_gpu = pod.gpus;
  s.gpu_milli = pod.gpus > 0 ? each : 0;
  return s;
}

worth::Choice choice_of(NodeChoice choice) {
  switch (choice) {
    case NodeChoice::Fgd:
      return worth::Choice::Fgd;
    case NodeChoice::BestFit:
      return worth::Choice::BestFit;
    case NodeChoice::Random:
      return worth::Choice::Random;
    case NodeChoice::Worth:
    case NodeChoice::Spread:
      return worth::Choice::Default;
  }
  return worth::Choice::Default;
}

}  // namespace

NodeCost node_cost(NodeChoice choice, CostModel& model, const Fleet& fleet, const NodeClass& node,
                   const PodShapeRec& pod, std::uint16_t each, std::uint64_t lot,
                   std::optional<std::int64_t> worth) {
  const GpuState& gpu = fleet.gpu(node.gpu);
  const std::uint16_t emptiest = gpu.count > 0 ? gpu.free[0] : std::uint16_t{0};
  if (choice == NodeChoice::Spread) {
    // The emptiest node first: by idle GPU, then by free CPU.
    return {-(std::int64_t{gpu.total} << 20) - capped(node.cpu) / 100, emptiest};
  }
  const worth::NodeState before = state_of(fleet.profile(node.profile), node.cpu, node.memory, gpu);
  const worth::PodShape shape = shape_on(pod, each, before);
  const auto verdict =
      worth::judge(choice_of(choice), model.mix, model.memo, before, shape, lot, worth);
  // No single device has room: no opinion, and the device is the one with most.
  if (!verdict) return {0, emptiest};
  if (shape.num_gpu != 1) return {verdict->score, worth::whole_milli};
  return {verdict->score, static_cast<std::uint16_t>(before.free[verdict->device])};
}

worth::Appraisal appraise(const CostModel& model, const Fleet& fleet, const NodeClass& node) {
  return worth::appraise(
      model.mix, state_of(fleet.profile(node.profile), node.cpu, node.memory, fleet.gpu(node.gpu)));
}

std::optional<worth::LeastLoss> least_loss(const CostModel& model, const PodShapeRec& pod) {
  const bool whole = pod.spec.gpu.each.v == worth::whole_milli && pod.spec.gpu.memory_each.v == 0;
  if (model.mix.tables.empty() || (pod.gpus > 0 && !whole)) return std::nullopt;
  worth::PodShape least;
  least.cpu_milli = capped(pod.cpu);
  least.memory_mib = capped(pod.memory / mib);  // not rounded up: see shape_on()
  least.num_gpu = pod.gpus;
  return worth::LeastLoss(model.mix, least);
}

void make_model(CostModel& model, const World& world, Time now) {
  std::vector<worth::ShapeCount> demand;
  for (std::size_t i = 0; i < world.shapes.pod_count(); ++i) {
    const PodShapeRec& pod = world.shapes.pod(PodShapeId{static_cast<std::uint32_t>(i)});
    if (pod.demand == 0) continue;
    const auto each =
        static_cast<std::uint16_t>(pod.spec.gpu.memory_each.v > 0 ? 500 : pod.spec.gpu.each.v);
    demand.push_back({shape_of(pod, each, world.fleet), pod.demand});
  }
  std::vector<worth::NodeCount> nodes;
  std::int64_t capacity = 0;
  for (const std::int64_t milli : world.fleet.totals().gpu_milli) capacity += milli;
  for (std::size_t i = 0; i < world.fleet.class_slots(); ++i) {
    const NodeClass& c = world.fleet.node_class(ClassId{static_cast<std::uint32_t>(i)});
    if (c.size == 0) continue;
    nodes.push_back(
        {state_of(world.fleet.profile(c.profile), c.cpu, c.memory, world.fleet.gpu(c.gpu)),
         std::int64_t{c.size}});
  }
  // Prices of a model that saw no GPU or no GPU pod are no start for the next search.
  const worth::Mix previous = std::move(model.mix);
  const bool warm = model.made && previous.capacity_milli > 0 && !previous.kinds.empty();
  model.mix = worth::make_mix(demand, nodes, capacity, warm ? &previous : nullptr);
  model.memo.clear();
  model.made = true;
  model.made_at = now;
  model.demand = world.shapes.demand();
}

bool needs_model(const CostModel& model, const World& world, Time now) {
  if (!model.made) return true;
  const std::int64_t demand = world.shapes.demand();
  const bool new_demand = demand > model.demand + model.demand / 4 || model.mix.kinds.empty();
  const bool cheap = world.fleet.node_count() <= small_fleet;
  if (!cheap && now < model.made_at + model_pause) return false;
  return (new_demand && demand > model.demand) ||
         worth::stale(model.mix, world.fleet.totals().idle_gpu_milli);
}

}  // namespace muster::sched
