#include "sched/fleet.h"

#include <algorithm>
#include <functional>

#include "base/hash.h"

namespace muster::sched {
namespace {

constexpr auto lowest_rank_first = std::greater<std::pair<std::uint32_t, NodeId>>();

void add_extended(std::vector<std::int64_t>& into, std::size_t index, std::int64_t amount) {
  if (into.size() <= index) into.resize(index + 1, 0);
  into[index] += amount;
}

/// Trailing zeros are dropped so that equal amounts compare equal.
void trim_zeros(std::vector<std::int64_t>& amounts) {
  while (!amounts.empty() && amounts.back() == 0) amounts.pop_back();
}

/// Of what a pod that asks for no label looks at.
std::uint64_t kind_hash(const Profile& p) {
  Hasher hash;
  hash.add(p.gpus).add(std::uint32_t{p.type.v}).add(p.gpu_memory);
  for (const auto& t : p.taints) hash.add(t.key).add(t.value).add(static_cast<int>(t.effect));
  return hash.value();
}

/// Devices of a pod that its node does not have.
std::uint32_t loose_devices(const Node& node, const PodOn& on) {
  return node.seen ? on.devices >> node.spec.gpu_count : 0;
}

/// A node that joins (sign +1) or leaves (-1) what is free in its cluster.
void count_idle(Cluster& cluster, const Profile& profile, std::int64_t gpu_milli, std::int64_t cpu,
                int sign) {
  cluster.idle_gpu_milli += sign * gpu_milli;
  cluster.gpu_milli += std::int64_t{sign} * profile.gpus * 1000;
  cluster.idle_cpu += sign * std::max<std::int64_t>(cpu, 0);
  cluster.cpu += sign * profile.cpu;
}

}  // namespace

std::vector<LooseShare> loose_shares(const Node& node) {
  std::vector<LooseShare> shares;
  for (const PodOn& on : node.pods) {
    const std::uint32_t loose = loose_devices(node, on);
    if (loose != 0) shares.push_back({on.each, __builtin_popcount(loose)});
  }
  return shares;
}

// ----------------------------------------------------------------------------------------------
// names

TypeId Fleet::type_id(const std::string& name) {
  const TypeId known = find_type(name);
  if (!known.is_none()) return known;
  type_names_.push_back(name);
  return TypeId{static_cast<std::uint16_t>(type_names_.size() - 1)};
}

TypeId Fleet::find_type(const std::string& name) const {
  const auto it = std::find(type_names_.begin(), type_names_.end(), name);
  if (it == type_names_.end()) return TypeId::none();
  return TypeId{static_cast<std::uint16_t>(it - type_names_.begin())};
}

ClusterId Fleet::find_cluster(const std::string& name) const {
  const auto it = cluster_ids_.find(name);
  return it == cluster_ids_.end() ? ClusterId::none() : it->second;
}

NodeId Fleet::find_node(ClusterId cluster, const std::string& name) const {
  const auto& names = clusters_[cluster.index()].by_name;
  const auto it = names.find(name);
  return it == names.end() ? NodeId::none() : it->second;
}

ClusterId Fleet::set_cluster(const model::ClusterSpec& spec) {
  ClusterId id = find_cluster(spec.name);
  if (id.is_none()) {
    id = ClusterId{static_cast<std::uint32_t>(clusters_.size())};
    clusters_.emplace_back();
    cluster_ids_.emplace(spec.name, id);
    cluster_order_.push_back(id);
  }
  clusters_[id.index()].spec = spec;
  clusters_[id.index()].joined = true;
  std::sort(cluster_order_.begin(), cluster_order_.end(), [&](ClusterId a, ClusterId b) {
    return clusters_[a.index()].spec.name < clusters_[b.index()].spec.name;
  });
  for (const NodeId node : clusters_[id.index()].nodes) join_class(node);  // back after it left
  return id;
}

NodeId Fleet::node_for(ClusterId cluster, const std::string& name) {
  const NodeId known = find_node(cluster, name);
  if (!known.is_none()) return known;
  const NodeId id{static_cast<std::uint32_t>(nodes_.size())};
  Node node;
  node.cluster = cluster;
  node.spec.name = name;
  nodes_.push_back(std::move(node));
  Cluster& c = clusters_[cluster.index()];
  c.by_name.emplace(name, id);
  c.nodes.push_back(id);
  c.ranks_stale = true;
  return id;
}

// ----------------------------------------------------------------------------------------------
// sight

bool Fleet::usable(const Node& node) const {
  if (!node.seen || node.hidden || !clusters_[node.cluster.index()].joined) return false;
  if (!node.spec.ready && rules_.has(Rule::NodeReady)) return false;
  return !node.spec.cordoned || !rules_.has(Rule::NodeCordon);
}

void Fleet::see_node(ClusterId cluster, const model::NodeSpec& spec, Shapes& shapes) {
  const NodeId id = node_for(cluster, spec.name);
  Node& node = nodes_[id.index()];
  model::NodeSpec planned = spec;
  planned.gpu_count = std::min(planned.gpu_count, gpus_per_node_max);
  if (node.seen && node.gpus_told == spec.gpu_count && node.spec == planned) return;
  leave_class(id);
  set_profile(node, ProfileId::none());
  node.spec = std::move(planned);
  node.gpus_told = spec.gpu_count;
  node.seen = true;
  for (const auto& [key, value] : spec.labels) keys_on_nodes_.insert(key);
  for (const auto& [name, amount] : spec.allocatable.extended) shapes.extended_index(name);
  set_profile(node, profile_of(node, shapes));
  refresh(id, shapes);
}

void Fleet::lose_node(ClusterId cluster, const std::string& name, Shapes& shapes) {
  const NodeId id = find_node(cluster, name);
  if (id.is_none()) return;
  leave_class(id);
  Node& node = nodes_[id.index()];
  set_profile(node, ProfileId::none());
  node.seen = false;
  refresh(id, shapes);
}

bool Fleet::see_foreign(ClusterId cluster, const model::ForeignPod& pod, Shapes& shapes) {
  const bool was_there = lose_foreign(cluster, pod.uid, shapes);
  const NodeId id = node_for(cluster, pod.node);
  for (const auto& [name, amount] : pod.requests.extended) shapes.extended_index(name);
  leave_class(id);
  nodes_[id.index()].foreign.emplace(pod.uid, pod);
  foreign_at_[clusters_[cluster.index()].spec.name + "/" + pod.uid] = {cluster, id};
  refresh(id, shapes);
  return was_there;
}

bool Fleet::lose_foreign(ClusterId cluster, const std::string& uid, Shapes& shapes) {
  const auto it = foreign_at_.find(clusters_[cluster.index()].spec.name + "/" + uid);
  if (it == foreign_at_.end()) return false;
  const NodeId id = it->second.second;
  foreign_at_.erase(it);
  leave_class(id);
  nodes_[id.index()].foreign.erase(uid);
  refresh(id, shapes);
  return true;
}

void Fleet::set_profile(Node& node, ProfileId profile) {
  count_seen(node.profile, -1);
  node.profile = profile;
  count_seen(profile, +1);
}

void Fleet::count_seen(ProfileId id, int change) {
  if (id.is_none()) return;
  Profile& profile = profiles_[id.index()];
  profile.seen += change;
  auto& by_type = clusters_[profile.cluster.index()].seen;
  if (by_type.size() <= profile.type.index()) by_type.resize(profile.type.index() + 1, 0);
  by_type[profile.type.index()] += change;
}

std::uint32_t Fleet::kind_for(const Profile& p) const {
  for (auto [it, end] = kind_ids_.equal_range(kind_hash(p)); it != end; ++it) {
    const Profile& q = profiles_[it->second.index()];
    if (q.gpus == p.gpus && q.type == p.type && q.gpu_memory == p.gpu_memory &&
        q.taints == p.taints)
      return kinds_[it->second.index()];
  }
  return static_cast<std::uint32_t>(kind_ids_.size());
}

std::int64_t Fleet::smallest_gpu_memory(TypeId type, std::int64_t least) const {
  std::int64_t smallest = 0;
  for (const Profile& p : profiles_) {
    if (p.type != type || p.seen == 0 || p.gpu_memory < least) continue;
    if (smallest == 0 || p.gpu_memory < smallest) smallest = p.gpu_memory;
  }
  return smallest;
}

ProfileId Fleet::profile_of(const Node& node, const Shapes& shapes) {
  Profile p;
  p.cluster = node.cluster;
  for (const std::string& key : shapes.asked_keys()) {
    const auto it = node.spec.labels.find(key);
    if (it != node.spec.labels.end()) p.labels.emplace(key, it->second);
  }
  p.taints = node.spec.taints;
  p.gpus = node.spec.gpu_count;
  p.type = type_id(p.gpus > 0 ? node.spec.gpu_type : "");
  p.gpu_memory = node.spec.gpu_memory.v;
  p.cpu = node.spec.allocatable.cpu.v;
  p.memory = node.spec.allocatable.memory.v;
  p.pod_slots = node.spec.pods_max;
  for (const auto& [name, amount] : node.spec.allocatable.extended) {
    const auto& names = shapes.extended_names();
    const auto it = std::find(names.begin(), names.end(), name);
    add_extended(p.extended, static_cast<std::size_t>(it - names.begin()), amount);
  }
  trim_zeros(p.extended);
  Hasher hash;
  hash.add(p.cluster.v)
      .add(p.gpus)
      .add(std::uint32_t{p.type.v})
      .add(p.gpu_memory)
      .add(p.cpu)
      .add(p.memory);
  for (const auto& [key, value] : p.labels) hash.add(key).add(value);
  for (const auto& t : p.taints) hash.add(t.key).add(t.value).add(static_cast<int>(t.effect));
  const auto equal = [&](const Profile& q) {
    return q.cluster == p.cluster && q.labels == p.labels && q.taints == p.taints &&
           q.type == p.type && q.gpu_memory == p.gpu_memory && q.cpu == p.cpu &&
           q.memory == p.memory && q.pod_slots == p.pod_slots && q.gpus == p.gpus &&
           q.extended == p.extended;
  };
  for (auto [it, end] = profile_ids_.equal_range(hash.value()); it != end; ++it) {
    if (equal(profiles_[it->second.index()])) return it->second;
  }
  const ProfileId id{static_cast<std::uint32_t>(profiles_.size())};
  clusters_[p.cluster.index()].profiles.push_back(id);
  kinds_.push_back(kind_for(p));
  if (kinds_.back() == kind_ids_.size()) kind_ids_.emplace(kind_hash(p), id);
  profiles_.push_back(std::move(p));
  profile_ids_.emplace(hash.value(), id);
  return id;
}

void Fleet::refresh(NodeId id, const Shapes& shapes) {
  Node& node = nodes_[id.index()];
  node.cpu = node.seen ? node.spec.allocatable.cpu.v : 0;
  node.memory = node.seen ? node.spec.allocatable.memory.v : 0;
  node.pod_slots = node.seen ? node.spec.pods_max : 0;
  node.extended.clear();
  node.devices.fill(0);
  const int gpus = node.seen ? node.spec.gpu_count : 0;
  std::fill_n(node.devices.begin(), gpus, std::uint16_t{1000});
  if (node.seen) {
    for (const auto& [name, amount] : node.spec.allocatable.extended) {
      const auto& names = shapes.extended_names();
      const auto it = std::find(names.begin(), names.end(), name);
      add_extended(node.extended, static_cast<std::size_t>(it - names.begin()), amount);
    }
  }
  for (const PodOn& on : node.pods) {
    const PodShapeRec& pod = shapes.pod(on.pod);
    node.cpu -= pod.cpu;
    node.memory -= pod.memory;
    --node.pod_slots;
    for (const auto& [index, amount] : pod.extended) add_extended(node.extended, index, -amount);
    for (int d = 0; d < gpus; ++d) {
      if ((on.devices >> d) & 1u) {
        auto& free = node.devices[static_cast<std::size_t>(d)];
        free = static_cast<std::uint16_t>(free - std::min(free, on.each));
      }
    }
  }
  std::vector<LooseShare> loose = loose_shares(node);
  node.has_loose = !loose.empty();
  take_loose(std::move(loose), node.devices, gpus);
  if (rules_.has(Rule::ForeignPods)) {
    std::int64_t left = 0;
    for (const auto& [uid, pod] : node.foreign) {
      node.cpu -= pod.requests.cpu.v;
      node.memory -= pod.requests.memory.v;
      --node.pod_slots;
      for (const auto& [name, amount] : pod.requests.extended) {
        const auto& names = shapes.extended_names();
        const auto it = std::find(names.begin(), names.end(), name);
        add_extended(node.extended, static_cast<std::size_t>(it - names.begin()), -amount);
      }
      left += pod.gpus;
    }
    // Which devices foreign pods hold is not known: they are booked on those that are not planned
    // with, then on idle ones, from the last.
    left -= node.gpus_told - gpus;
    for (int d = gpus - 1; d >= 0 && left > 0; --d) {
      if (node.devices[static_cast<std::size_t>(d)] != 1000) continue;
      node.devices[static_cast<std::size_t>(d)] = 0;
      --left;
    }
  }
  trim_zeros(node.extended);
  join_class(id);
  gain(id);
}

void Fleet::settle(Shapes& shapes) {
  bool new_keys = false;  // that tell nodes apart: what no node has, no node need be asked for
  for (const std::string& key : shapes.asked_keys()) {
    if (keys_seen_.insert(key).second) new_keys = new_keys || keys_on_nodes_.contains(key);
  }
  for (Cluster& cluster : clusters_) {
    if (!new_keys && !cluster.ranks_stale) continue;
    for (const NodeId id : cluster.nodes) leave_class(id);
    if (cluster.ranks_stale) {
      std::sort(cluster.nodes.begin(), cluster.nodes.end(), [&](NodeId a, NodeId b) {
        return nodes_[a.index()].spec.name < nodes_[b.index()].spec.name;
      });
    }
    cluster.ranks_stale = false;
    std::uint32_t rank = 0;
    for (const NodeId id : cluster.nodes) {
      Node& node = nodes_[id.index()];
      node.rank = rank++;
      if (new_keys && node.seen) set_profile(node, profile_of(node, shapes));
      join_class(id);
    }
  }
}

// ----------------------------------------------------------------------------------------------
// classes

std::uint64_t Fleet::class_hash(const Node& node, GpuStateId gpu) const {
  Hasher hash;
  hash.add((std::uint64_t{node.profile.v} << 32) | gpu.v);
  hash.add(node.cpu);
  hash.add(static_cast<std::uint64_t>(node.memory) ^
           (static_cast<std::uint64_t>(node.pod_slots) << 48) ^
           (std::uint64_t{node.reserved.v} << 32));
  for (const std::int64_t amount : node.extended) hash.add(amount);
  return hash.value();
}

void Fleet::count_totals(const Profile& profile, std::int64_t sign) {
  totals_.cpu += sign * profile.cpu;
  totals_.memory += sign * profile.memory;
  if (totals_.gpu_milli.size() <= profile.type.index())
    totals_.gpu_milli.resize(profile.type.index() + 1, 0);
  totals_.gpu_milli[profile.type.index()] += sign * profile.gpus * 1000;
  for (std::size_t i = 0; i < profile.extended.size(); ++i) {
    if (totals_.extended.size() <= i) totals_.extended.resize(i + 1);
    totals_.extended[i] += sign * profile.extended[i];
  }
}

void Fleet::join_class(NodeId id) {
  Node& node = nodes_[id.index()];
  if (!node.cls.is_none() || !usable(node)) return;
  const GpuStateId gpu = gpu_states_.intern(node.devices, node.spec.gpu_count);
  const std::uint64_t hash = class_hash(node, gpu);
  const auto known = class_ids_.find(hash);
  const ClassId same_hash = known == class_ids_.end() ? ClassId::none() : known->second;
  ClassId found = same_hash;
  const auto is_its = [&](const NodeClass& c) {
    return c.profile == node.profile && c.gpu == gpu && c.cpu == node.cpu &&
           c.memory == node.memory && c.pod_slots == node.pod_slots &&
           c.reserved == node.reserved && c.extended == node.extended;
  };
  while (!found.is_none() && !is_its(classes_[found.index()])) {
    found = classes_[found.index()].same_hash;
  }
  Cluster& cluster = clusters_[node.cluster.index()];
  const std::size_t type = profiles_[node.profile.index()].type.index();
  const std::size_t whole = gpu_states_[gpu].whole;
  if (cluster.buckets.size() <= type) {
    cluster.buckets.resize(type + 1);
    cluster.filled.resize(type + 1, 0);
    cluster.unreserved.resize(type + 1);
    cluster.all.resize(type + 1);
  }
  if (found.is_none()) {
    if (free_classes_.empty()) {
      found = ClassId{static_cast<std::uint32_t>(classes_.size())};
      classes_.emplace_back();
    } else {
      found = free_classes_.back();
      free_classes_.pop_back();
    }
    NodeClass& c = classes_[found.index()];
    c.cluster = node.cluster;
    c.profile = node.profile;
    c.gpu = gpu;
    c.cpu = node.cpu;
    c.memory = node.memory;
    c.pod_slots = node.pod_slots;
    c.reserved = node.reserved;
    c.extended = node.extended;
    c.generation = ++generation_;
    c.members.clear();
    auto& bucket = cluster.buckets[type][whole];
    c.bucket_at = static_cast<std::uint32_t>(bucket.size());
    bucket.push_back({found, c.generation, node.rank, static_cast<std::uint32_t>(whole)});
    cluster.filled[type] |= 1u << whole;
    c.hash = hash;
    c.same_hash = same_hash;
    class_ids_[hash] = found;
  }
  NodeClass& c = classes_[found.index()];
  ++c.size;
  if (c.size == 1 || node.rank < c.first_rank) set_first_rank(c, node.rank);
  c.members.emplace_back(node.rank, id);
  std::push_heap(c.members.begin(), c.members.end(), lowest_rank_first);
  node.cls = found;
  ++cluster.all[type][whole];
  if (node.reserved.is_none()) {
    ++cluster.unreserved[type][whole];
  } else {
    ++reserved_usable_;
  }
  Profile& profile = profiles_[node.profile.index()];
  ++profile.nodes;
  count_totals(profile, +1);
  totals_.idle_gpu_milli += gpu_states_[gpu].total;
  count_idle(cluster, profile, gpu_states_[gpu].total, node.cpu, +1);
}

void Fleet::leave_class(NodeId id) {
  Node& node = nodes_[id.index()];
  if (node.cls.is_none()) return;
  const ClassId old = node.cls;
  NodeClass& c = classes_[old.index()];
  node.cls = ClassId::none();
  Cluster& cluster = clusters_[c.cluster.index()];
  Profile& profile = profiles_[c.profile.index()];
  const std::size_t whole = gpu_states_[c.gpu].whole;
  --cluster.all[profile.type.index()][whole];
  if (c.reserved.is_none()) {
    --cluster.unreserved[profile.type.index()][whole];
  } else {
    --reserved_usable_;
  }
  --profile.nodes;
  count_totals(profile, -1);
  totals_.idle_gpu_milli -= gpu_states_[c.gpu].total;
  count_idle(cluster, profile, gpu_states_[c.gpu].total, c.cpu, -1);
  if (--c.size > 0) {
    if (node.rank == c.first_rank) set_first_rank(c, nodes_[first_member(old).index()].rank);
    return;
  }
  auto& bucket = cluster.buckets[profile.type.index()][whole];
  classes_[bucket.back().id.index()].bucket_at = c.bucket_at;
  bucket[c.bucket_at] = bucket.back();
  bucket.pop_back();
  if (bucket.empty()) cluster.filled[profile.type.index()] &= ~(1u << whole);
  forget_class(old);
  c.generation = ++generation_;
  c.members.clear();
  free_classes_.push_back(old);
}

void Fleet::set_first_rank(NodeClass& c, std::uint32_t rank) {
  c.first_rank = rank;
  const std::size_t type = profiles_[c.profile.index()].type.index();
  clusters_[c.cluster.index()].buckets[type][gpu_states_[c.gpu].whole][c.bucket_at].first_rank =
      rank;
}

/// Takes the class out of the lookup by hash.
void Fleet::forget_class(ClassId id) {
  const NodeClass& c = classes_[id.index()];
  const auto first = class_ids_.find(c.hash);
  if (first->second == id && c.same_hash.is_none()) {
    class_ids_.erase(first);
    return;
  }
  ClassId* at = &first->second;
  while (*at != id) at = &classes_[at->index()].same_hash;
  *at = c.same_hash;
}

NodeId Fleet::first_member(ClassId id) {
  auto& members = classes_[id.index()].members;
  while (nodes_[members.front().second.index()].cls != id) {
    std::pop_heap(members.begin(), members.end(), lowest_rank_first);
    members.pop_back();
  }
  return members.front().second;
}

std::size_t Fleet::class_count() const { return classes_.size() - free_classes_.size(); }

// ----------------------------------------------------------------------------------------------
// books

void Fleet::occupy(const PodOn& on, const Shapes& shapes) {
  leave_class(on.node);
  Node& node = nodes_[on.node.index()];
  const PodShapeRec& pod = shapes.pod(on.pod);
  node.cpu -= pod.cpu;
  node.memory -= pod.memory;
  --node.pod_slots;
  for (const auto& [index, amount] : pod.extended) add_extended(node.extended, index, -amount);
  if (!pod.extended.empty()) trim_zeros(node.extended);
  for (std::uint32_t left = on.devices; left != 0; left &= left - 1) {
    auto& free = node.devices[static_cast<std::size_t>(__builtin_ctz(left))];
    free = static_cast<std::uint16_t>(free - std::min(free, on.each));
  }
  if (!pod.spec.pod_anti_affinity.empty()) ++repelling_pods_;
  node.pods.push_back(on);
  // Pods whose devices are not known may have to give way: book from scratch.
  if (!node.foreign.empty() || node.has_loose || loose_devices(node, on) != 0) {
    refresh(on.node, shapes);
    return;
  }
  join_class(on.node);
}

void Fleet::vacate(const PodOn& on, const Shapes& shapes) {
  leave_class(on.node);
  Node& node = nodes_[on.node.index()];
  const auto it = std::find_if(node.pods.begin(), node.pods.end(), [&](const PodOn& p) {
    return p.job == on.job && p.set == on.set && p.devices == on.devices;
  });
  MUSTER_CHECK(it != node.pods.end(), "pod to remove is not on node {}", node.spec.name);
  if (!shapes.pod(on.pod).spec.pod_anti_affinity.empty()) {
    --repelling_pods_;
    repeller_left_ = repeller_left_ || log_gains_;
  }
  *it = node.pods.back();
  node.pods.pop_back();
  // Pods whose devices are not known may take them over: book anew.
  if (!node.seen || !node.foreign.empty() || node.has_loose) {
    refresh(on.node, shapes);
    return;
  }
  const PodShapeRec& pod = shapes.pod(on.pod);
  node.cpu += pod.cpu;
  node.memory += pod.memory;
  ++node.pod_slots;
  for (const auto& [index, amount] : pod.extended) add_extended(node.extended, index, amount);
  if (!pod.extended.empty()) trim_zeros(node.extended);
  for (std::uint32_t left = on.devices; left != 0; left &= left - 1) {
    const int d = __builtin_ctz(left);
    if (d >= node.spec.gpu_count) continue;
    auto& free = node.devices[static_cast<std::size_t>(d)];
    free = static_cast<std::uint16_t>(std::min(1000, free + on.each));
  }
  join_class(on.node);
  gain(on.node);
}

std::uint32_t Fleet::seat(NodeId id, int devices, std::uint16_t each) const {
  std::array<int, 32> taken{};
  for (const PodOn& on : nodes_[id.index()].pods) {
    for (std::uint32_t left = on.devices; left != 0; left &= left - 1)
      taken[static_cast<std::size_t>(__builtin_ctz(left))] += on.each;
  }
  std::uint32_t chosen = 0;
  for (int d = 0; d < gpus_per_node_max && devices > 0; ++d) {
    if (taken[static_cast<std::size_t>(d)] + each > 1000) continue;
    chosen |= 1u << d;
    --devices;
  }
  return chosen;
}

void Fleet::rename_pods(const std::vector<PodShapeId>& now) {
  for (Node& node : nodes_) {
    for (PodOn& pod : node.pods) pod.pod = now[pod.pod.index()];
  }
}

void Fleet::rename_pod(const PodOn& now) {
  for (PodOn& pod : nodes_[now.node.index()].pods) {
    if (pod.job == now.job && pod.set == now.set) pod.pod = now.pod;
  }
}

void Fleet::reserve(NodeId id, ReservationId reservation) {
  leave_class(id);
  ReservationId& reserved = nodes_[id.index()].reserved;
  reserved_ += (reservation.is_none() ? 0 : 1) - (reserved.is_none() ? 0 : 1);
  reserved = reservation;
  join_class(id);
  gain(id);
}

void Fleet::hide(NodeId id, bool hidden) {
  leave_class(id);
  nodes_[id.index()].hidden = hidden;
  join_class(id);
}

}  // namespace muster::sched
