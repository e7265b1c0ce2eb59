#include "sched/shapes.h"

#include <algorithm>

#include "base/hash.h"

namespace muster::sched {
namespace {

void add(Hasher& hash, const model::Labels& labels) {
  hash.add(std::uint64_t{labels.size()});
  for (const auto& [key, value] : labels) hash.add(key).add(value);
}

void add(Hasher& hash, const std::vector<model::Requirement>& requirements) {
  hash.add(std::uint64_t{requirements.size()});
  for (const auto& r : requirements) {
    hash.add(r.key).add(static_cast<std::int64_t>(r.op)).add(std::uint64_t{r.values.size()});
    for (const auto& value : r.values) hash.add(value);
  }
}

void add(Hasher& hash, const model::NodeTerm& term) {
  add(hash, term.expressions);
  add(hash, term.fields);
}

void add(Hasher& hash, const std::vector<std::string>& words) {
  hash.add(std::uint64_t{words.size()});
  for (const auto& word : words) hash.add(word);
}

void add(Hasher& hash, const model::LabelSelector& selector) {
  add(hash, selector.match_labels);
  add(hash, selector.expressions);
}

void add(Hasher& hash, const std::vector<model::PodAffinityTerm>& terms) {
  hash.add(std::uint64_t{terms.size()});
  for (const auto& term : terms) {
    add(hash, term.selector);
    hash.add(term.topology_key);
  }
}

bool names_nodes(const model::PodShape& pod) {
  const auto has_fields = [](const model::NodeTerm& term) { return !term.fields.empty(); };
  return std::any_of(pod.required_affinity.begin(), pod.required_affinity.end(), has_fields) ||
         std::any_of(pod.preferred_affinity.begin(), pod.preferred_affinity.end(),
                     [&](const model::PreferredTerm& p) { return has_fields(p.term); });
}

}  // namespace

std::uint64_t hash_of(const model::PodShape& pod) {
  Hasher hash;
  hash.add(pod.requests.cpu.v).add(pod.requests.memory.v);
  for (const auto& [name, amount] : pod.requests.extended) hash.add(name).add(amount);
  hash.add(pod.gpu.count).add(pod.gpu.each.v).add(pod.gpu.memory_each.v);
  add(hash, pod.gpu_types);
  add(hash, pod.node_selector);
  hash.add(std::uint64_t{pod.required_affinity.size()});
  for (const auto& term : pod.required_affinity) add(hash, term);
  hash.add(std::uint64_t{pod.preferred_affinity.size()});
  for (const auto& preferred : pod.preferred_affinity) {
    hash.add(preferred.weight);
    add(hash, preferred.term);
  }
  hash.add(std::uint64_t{pod.tolerations.size()});
  for (const auto& t : pod.tolerations) hash.add(t.key).add(t.exists).add(t.value).add(t.effect);
  add(hash, pod.labels);
  add(hash, pod.pod_affinity);
  add(hash, pod.pod_anti_affinity);
  hash.add(std::uint64_t{pod.spread.size()});
  for (const auto& s : pod.spread) {
    hash.add(s.max_skew).add(s.topology_key).add(s.required);
    add(hash, s.selector);
  }
  for (const int port : pod.host_ports) hash.add(port);
  add(hash, pod.volume_zones);
  return hash.value();
}

std::uint64_t hash_of(const model::Gang& gang) {
  Hasher hash;
  for (const auto& set : gang.sets) {
    hash.add(set.name)
        .add(set.count)
        .add(set.min_count)
        .add(set.pods_per_node)
        .add(hash_of(set.pod));
  }
  hash.add(gang.topology.has_value());
  if (gang.topology) hash.add(gang.topology->key).add(gang.topology->required);
  hash.add(gang.pool);
  add(hash, gang.clusters);
  add(hash, gang.excluded_clusters);
  add(hash, gang.kinds);
  hash.add(gang.data_label).add(gang.preemptible).add(gang.min_runtime.ms);
  hash.add(static_cast<std::int64_t>(gang.on_cluster_loss)).add(gang.max_retries);
  return hash.value();
}

std::uint32_t Shapes::extended_index(const std::string& name) {
  const auto it = std::find(extended_names_.begin(), extended_names_.end(), name);
  if (it != extended_names_.end()) return static_cast<std::uint32_t>(it - extended_names_.begin());
  extended_names_.push_back(name);
  return static_cast<std::uint32_t>(extended_names_.size() - 1);
}

void Shapes::ask_key(const std::string& key) {
  const auto it = std::lower_bound(asked_keys_.begin(), asked_keys_.end(), key);
  if (it == asked_keys_.end() || *it != key) asked_keys_.insert(it, key);
}

PodShapeId Shapes::intern_pod(const model::PodShape& spec) {
  const std::uint64_t hash = hash_of(spec);
  for (auto [it, end] = pod_ids_.equal_range(hash); it != end; ++it) {
    if (pods_[it->second.index()].spec == spec) return it->second;
  }
  PodShapeRec rec;
  rec.spec = spec;
  rec.cpu = spec.requests.cpu.v;
  rec.memory = spec.requests.memory.v;
  rec.gpus = spec.gpu.count;
  for (const auto& [name, amount] : spec.requests.extended) {
    rec.extended.emplace_back(extended_index(name), amount);
  }
  Need need = {rec.cpu, rec.memory, rec.gpus, spec.gpu.each.v, spec.gpu.memory_each.v};
  for (const auto& [index, amount] : rec.extended) {
    need.push_back(index);
    need.push_back(amount);
  }
  rec.need = needs_.try_emplace(need, static_cast<std::uint32_t>(needs_.size())).first->second;
  rec.relational = !spec.pod_affinity.empty() || !spec.pod_anti_affinity.empty() ||
                   !spec.spread.empty() || !spec.host_ports.empty() || names_nodes(spec);
  rec.asks_labels = !spec.node_selector.empty() || !spec.required_affinity.empty() ||
                    !spec.preferred_affinity.empty() || !spec.volume_zones.empty();
  for (const auto& [key, value] : spec.node_selector) ask_key(key);
  for (const auto& term : spec.required_affinity) {
    for (const auto& r : term.expressions) ask_key(r.key);
  }
  for (const auto& preferred : spec.preferred_affinity) {
    for (const auto& r : preferred.term.expressions) ask_key(r.key);
  }
  if (!spec.volume_zones.empty()) ask_key("topology.kubernetes.io/zone");
  const PodShapeId id{static_cast<std::uint32_t>(pods_.size())};
  pods_.push_back(std::move(rec));
  pod_ids_.emplace(hash, id);
  return id;
}

PodShapeId Shapes::in_pool(PodShapeId pod, PoolId pool, const model::PoolSpec& spec) {
  const std::uint64_t key = (std::uint64_t{pool.v} << 32) | pod.v;
  const auto known = pooled_.find(key);
  if (known != pooled_.end()) return known->second;
  model::PodShape merged = pods_[pod.index()].spec;
  // A pod that asks for another value than the pool's can run nowhere in it: the pair of
  // requirements says so.
  model::NodeTerm pool_term;
  for (const auto& [label, value] : spec.node_selector) {
    const auto it = merged.node_selector.find(label);
    if (it == merged.node_selector.end()) {
      merged.node_selector.emplace(label, value);
    } else if (it->second != value) {
      merged.required_affinity = {model::NodeTerm{}};  // an empty term matches nothing
    }
  }
  for (const auto& toleration : spec.tolerations) merged.tolerations.push_back(toleration);
  const PodShapeId id = intern_pod(merged);
  pooled_.emplace(key, id);
  return id;
}

ShapeId Shapes::intern(const model::Gang& gang) {
  const std::uint64_t hash = hash_of(gang);
  for (auto [it, end] = shape_ids_.equal_range(hash); it != end; ++it) {
    if (shapes_[it->second.index()].gang == gang) return it->second;
  }
  Shape shape;
  shape.gang = gang;
  shape.hash = hash;
  for (const auto& set : gang.sets) {
    shape.sets.push_back({intern_pod(set.pod), set.count, set.least(), set.pods_per_node});
    shape.pods += set.count;
    shape.least_pods += set.least();
    const std::int64_t gpu_milli =
        set.pod.gpu.count * (set.pod.gpu.memory_each.v > 0 ? 1000 : set.pod.gpu.each.v);
    shape.gpu_milli += set.count * gpu_milli;
    shape.least_gpu_milli += set.least() * gpu_milli;
    shape.elastic = shape.elastic || set.least() < set.count;
    const PodShapeRec& rec = pod(shape.sets.back().pod);
    shape.relational = shape.relational || rec.relational;
    shape.keeps_away = shape.keeps_away || !rec.spec.pod_anti_affinity.empty() ||
                       std::any_of(rec.spec.spread.begin(), rec.spec.spread.end(),
                                   [](const model::Spread& spread) { return spread.required; });
  }
  if (gang.topology) ask_key(gang.topology->key);
  const ShapeId id{static_cast<std::uint32_t>(shapes_.size())};
  shapes_.push_back(std::move(shape));
  ++idle_;
  shape_ids_.emplace(hash, id);
  return id;
}

Shapes::Renumbered Shapes::drop_idle() {
  Renumbered now{std::vector<ShapeId>(shapes_.size()), std::vector<PodShapeId>(pods_.size())};
  Shapes kept;
  kept.extended_names_ = extended_names_;  // their order numbers them elsewhere too
  kept.asked_keys_ = asked_keys_;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const Shape& shape = shapes_[i];
    if (shape.jobs == 0) continue;
    const ShapeId id = kept.intern(shape.gang);
    kept.ask_labels(asked_by(shape.gang));
    kept.shapes_[id.index()].jobs = shape.jobs;
    now.shapes[i] = id;
    for (std::size_t s = 0; s < shape.sets.size(); ++s) {
      const PodShapeId pod = kept.shapes_[id.index()].sets[s].pod;
      now.pods[shape.sets[s].pod.index()] = pod;
      kept.expect(pod, demand(shape.sets[s].pod) - kept.demand(pod));
    }
  }
  kept.idle_ = 0;
  *this = std::move(kept);
  return now;
}

}  // namespace muster::sched
