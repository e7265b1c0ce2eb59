#include "sched/fit.h"

#include <algorithm>
#include <limits>

#include "sched/world.h"

namespace muster::sched {
namespace {

bool type_allowed(const std::vector<std::string>& types, const std::string& type,
                  const Rules& rules) {
  return types.empty() || !rules.has(Rule::GpuTypes) ||
         std::find(types.begin(), types.end(), type) != types.end();
}

/// Terms with matchFields look at single nodes; here only their labels count, the placer checks the
/// name.
bool selected(const model::PodShape& pod, const Profile& profile, const Rules& rules) {
  if (rules.has(Rule::NodeSelector)) {
    for (const auto& [key, value] : pod.node_selector) {
      const auto it = profile.labels.find(key);
      if (it == profile.labels.end() || it->second != value) return false;
    }
    if (!pod.required_affinity.empty() &&
        std::none_of(pod.required_affinity.begin(), pod.required_affinity.end(),
                     [&](const model::NodeTerm& t) {
                       if (t.expressions.empty()) return !t.fields.empty();
                       return model::matches(model::NodeTerm{t.expressions, {}}, profile.labels,
                                             "");
                     })) {
      return false;
    }
  }
  if (!pod.volume_zones.empty() && rules.has(Rule::VolumeZones)) {
    const auto zone = profile.labels.find("topology.kubernetes.io/zone");
    if (zone == profile.labels.end() || std::find(pod.volume_zones.begin(), pod.volume_zones.end(),
                                                  zone->second) == pod.volume_zones.end()) {
      return false;
    }
  }
  return true;
}

std::int32_t preference_of(const model::PodShape& pod, const Profile& profile) {
  std::int32_t points = 0;
  for (const auto& preferred : pod.preferred_affinity) {
    // Terms with matchFields hold for single nodes: Relations adds them.
    if (preferred.term.fields.empty() && model::matches(preferred.term, profile.labels, ""))
      points += preferred.weight;
  }
  for (const model::Taint& taint : profile.taints) {
    if (taint.effect != model::TaintEffect::PreferNoSchedule) continue;
    if (std::none_of(pod.tolerations.begin(), pod.tolerations.end(),
                     [&](const model::Toleration& t) { return model::tolerates(t, taint); })) {
      points -= 100;
    }
  }
  return points;
}

Match judge(const PodShapeRec& pod, const Profile& profile, const std::string& type,
            const Rules& rules) {
  Match m;
  m.known = true;
  if (pod.gpus > 0) {
    if (profile.gpus < pod.gpus || !type_allowed(pod.spec.gpu_types, type, rules)) return m;
    m.each = static_cast<std::uint16_t>(pod.spec.gpu.each.v);
    if (pod.spec.gpu.memory_each.v > 0) {
      const std::int64_t memory = profile.gpu_memory;
      if (memory < pod.spec.gpu.memory_each.v) return m;
      __extension__ using Wide = __int128;
      m.each = static_cast<std::uint16_t>((Wide(pod.spec.gpu.memory_each.v) * 1000 + memory - 1) /
                                          memory);
    }
  }
  if (!selected(pod.spec, profile, rules)) return m;
  if (rules.has(Rule::Taints) && !model::tolerates_all(pod.spec.tolerations, profile.taints))
    return m;
  m.allowed = true;
  if (rules.has(Rule::PreferredAffinity)) m.preference = preference_of(pod.spec, profile);
  return m;
}

}  // namespace

int pods_that_fit(const PodShapeRec& pod, std::uint16_t each, const NodeClass& node,
                  const GpuState& gpu, const Rules& rules) {
  std::int64_t most = rules.has(Rule::PodLimit) ? std::max(node.pod_slots, 0) : 1'000;
  if (pod.cpu > 0) most = std::min(most, std::max<std::int64_t>(node.cpu, 0) / pod.cpu);
  if (pod.memory > 0) most = std::min(most, std::max<std::int64_t>(node.memory, 0) / pod.memory);
  if (pod.gpus > 0) {
    if (each == 1000) {
      most = std::min<std::int64_t>(most, gpu.whole / pod.gpus);
    } else if (rules.has(Rule::ShareOneDevice)) {
      std::int64_t shares = 0;
      for (int d = 0; d < gpu.count && gpu.free[static_cast<std::size_t>(d)] >= each; ++d) {
        shares += gpu.free[static_cast<std::size_t>(d)] / each;
      }
      most = std::min(most, shares);
    } else {
      most = std::min<std::int64_t>(most, gpu.total / each);
    }
  }
  for (const auto& [index, amount] : pod.extended) {
    const std::int64_t free =
        index < node.extended.size() ? std::max<std::int64_t>(node.extended[index], 0) : 0;
    most = std::min(most, free / amount);
  }
  return static_cast<int>(std::min<std::int64_t>(most, std::numeric_limits<std::uint16_t>::max()));
}

const Match& FitCache::new_match(const World& world, const Policy& policy, PodShapeId pod,
                                 ProfileId profile) {
  if (matches_.size() <= pod.index()) matches_.resize(world.shapes.pod_count());
  const PodShapeRec& rec = world.shapes.pod(pod);
  auto& row = matches_[pod.index()];
  const std::size_t at = place_in_row(world, pod, profile);
  if (row.size() <= at)
    row.resize(rec.asks_labels ? world.fleet.profile_count() : world.fleet.kind_count());
  const Profile& p = world.fleet.profile(profile);
  row[at] = judge(rec, p, world.fleet.type_name(p.type), policy.rules);
  return row[at];
}

FitCache::ClassFit& FitCache::new_entry(const World& world, const Policy& policy,
                                        const PodShapeRec& pod, std::uint16_t each, ClassId cls) {
  if (fits_.size() <= pod.need) fits_.resize(world.shapes.need_count());
  auto& row = fits_[pod.need];
  const std::size_t at = cls.index() / chunk_size;
  if (row.size() <= at) row.resize(world.fleet.class_slots() / chunk_size + 16);
  if (!row[at]) row[at] = std::make_unique<Chunk>();
  const NodeClass& node = world.fleet.node_class(cls);
  ClassFit& f = (*row[at])[cls.index() % chunk_size];
  f.generation = node.generation;
  f.pods = static_cast<std::uint16_t>(
      pods_that_fit(pod, each, node, world.fleet.gpu(node.gpu), policy.rules));
  f.cost = unknown_cost;
  return f;
}

void FitCache::make_model_anew(const World& world) {
  make_model(model, world, *renew_at_);
  fits_.clear();
  appraised_.clear();
  renew_at_.reset();
}

const worth::Appraisal& FitCache::new_appraisal(const World& world, ClassId cls) {
  if (appraised_.size() <= cls.index()) appraised_.resize(world.fleet.class_slots());
  const NodeClass& node = world.fleet.node_class(cls);
  appraised_[cls.index()] = {node.generation, appraise(model, world.fleet, node)};
  return appraised_[cls.index()].is;
}

std::optional<worth::LeastLoss> FitCache::least_loss(const World& world, const Policy& policy,
                                                     PodShapeId pod) {
  if (renew_at_) make_model_anew(world);
  if (policy.node_choice != NodeChoice::Worth || !policy.rules.has(Rule::Fragmentation))
    return std::nullopt;
  const PodShapeRec& rec = world.shapes.pod(pod);
  if (!rec.spec.preferred_affinity.empty()) return std::nullopt;  // preferred nodes cost less
  return sched::least_loss(model, rec);
}

std::optional<NodeCost> FitCache::cost(const World& world, const Policy& policy, PodShapeId pod,
                                       ClassId cls) {
  if (renew_at_) make_model_anew(world);
  const NodeClass& node = world.fleet.node_class(cls);
  const Match& m = match(world, policy, pod, node.profile);
  if (!m.allowed) return std::nullopt;
  const PodShapeRec& rec = world.shapes.pod(pod);
  ClassFit& f = entry(world, policy, rec, m.each, cls, node);
  if (f.pods == 0) return std::nullopt;
  if (f.cost == unknown_cost) {
    const NodeChoice choice =
        policy.rules.has(Rule::Fragmentation) ? policy.node_choice : NodeChoice::Spread;
    std::optional<std::int64_t> worth;
    if (choice == NodeChoice::Worth && !model.mix.tables.empty())
      worth = appraisal(world, cls, node.generation).worth;
    const NodeCost cost = node_cost(choice, model, world.fleet, node, rec, m.each, 0, worth);
    f.cost = cost.cost;
    f.device = cost.device;
  }
  // Preferred nodes come before all others; among equals the cost decides.
  return NodeCost{f.cost - (std::int64_t{m.preference} << preference_shift), f.device};
}

}  // namespace muster::sched
