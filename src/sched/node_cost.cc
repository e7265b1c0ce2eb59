#include "sched/node_cost.h"

#include <algorithm>
#include <vector>

#include "sched/world.h"

namespace muster::sched {
namespace {

constexpr std::int64_t mib = 1 << 20;
/// Making prices costs milliseconds, so they are looked at again only so often.
constexpr Duration model_pause = minutes(1);
constexpr std::size_t worth_models_max = 63;

worth::NodeState state_of(const Profile& profile, std::int64_t cpu, std::int64_t memory,
                          const GpuState& gpu) {
  worth::NodeState s;
  s.cpu_milli = std::max<std::int64_t>(cpu, 0);
  s.memory_mib = std::max<std::int64_t>(memory, 0) / mib;
  s.model = static_cast<std::uint8_t>(std::min(profile.type.index(), worth_models_max));
  s.gpus = gpu.count;
  for (int i = 0; i < gpu.count; ++i) {
    s.free[static_cast<std::size_t>(i)] =
        static_cast<std::int16_t>(gpu.free[static_cast<std::size_t>(gpu.count - 1 - i)]);
  }
  return s;
}

worth::PodShape shape_of(const PodShapeRec& pod, std::uint16_t each, const Fleet& fleet) {
  worth::PodShape s;
  s.cpu_milli = pod.cpu;
  s.memory_mib = (pod.memory + mib - 1) / mib;
  s.num_gpu = pod.gpus;
  s.gpu_milli = pod.gpus > 0 ? each : 0;
  if (!pod.spec.gpu_types.empty()) {
    s.models = 0;
    for (const auto& name : pod.spec.gpu_types) {
      const TypeId type = fleet.find_type(name);
      if (!type.is_none()) s.models |= std::uint64_t{1} << std::min(type.index(), worth_models_max);
    }
  }
  return s;
}

worth::Policy policy_of(NodeChoice choice) {
  switch (choice) {
    case NodeChoice::Fgd:
      return worth::Policy::kFgd;
    case NodeChoice::BestFit:
      return worth::Policy::kBestFit;
    case NodeChoice::Random:
      return worth::Policy::kRandom;
    case NodeChoice::Worth:
    case NodeChoice::Spread:
      return worth::Policy::kDefault;
  }
  return worth::Policy::kDefault;
}

}  // namespace

NodeCost node_cost(NodeChoice choice, CostModel& model, const Fleet& fleet, const NodeClass& node,
                   const PodShapeRec& pod, std::uint16_t each, std::uint64_t lot) {
  const GpuState& gpu = fleet.gpu(node.gpu);
  const worth::NodeState before = state_of(fleet.profile(node.profile), node.cpu, node.memory, gpu);
  const worth::PodShape shape = shape_of(pod, each, fleet);
  if (choice == NodeChoice::Spread) {
    // The emptiest node first: by idle GPU, then by free CPU.
    return {-(std::int64_t{gpu.total} << 20) - before.cpu_milli / 100,
            gpu.count > 0 ? gpu.free[0] : std::uint16_t{0}};
  }
  const auto verdict = worth::judge(policy_of(choice), model.mix, model.memo, before, shape, lot);
  if (!verdict)
    return {0, 1000};  // fits by the rules in force but not by the policy's own: no opinion
  const std::int16_t device =
      shape.num_gpu == 1 ? before.free[static_cast<std::size_t>(verdict->device)] : 1000;
  return {verdict->score, static_cast<std::uint16_t>(device)};
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
  std::sort(demand.begin(), demand.end(),
            [](const auto& a, const auto& b) { return a.shape < b.shape; });
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
  const worth::Mix previous = std::move(model.mix);
  model.mix = worth::make_mix(demand, nodes, capacity, model.made ? &previous : nullptr);
  // Types without a node now may get one before the next model.
  while (model.mix.class_of_model.size() < 64) model.mix.class_of_model.push_back(0);
  model.memo.clear();
  model.made = true;
  model.made_at = now;
}

bool needs_model(const CostModel& model, const World& world, Time now) {
  if (!model.made) return true;
  if (now < model.made_at + model_pause) return false;
  return worth::stale(model.mix, world.fleet.totals().idle_gpu_milli) || model.mix.kinds.empty();
}

}  // namespace muster::sched
