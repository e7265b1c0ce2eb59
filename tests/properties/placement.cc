#include "tests/properties/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/properties/neighbours.h"

namespace muster::properties {
namespace {

using sched::World;

bool has(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool matches_all(const model::Labels& wanted, const model::Labels& labels) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& pair) {
    const auto it = labels.find(pair.first);
    return it != labels.end() && it->second == pair.second;
  });
}

/// What the pod asks of a node by itself.
std::string wrong_node(const model::PodShape& pod, const model::PoolSpec* pool,
                       const model::NodeSpec& node) {
  if (!node.ready || node.cordoned) return "is not ready or cordoned";
  if (!matches_all(pod.node_selector, node.labels)) return "does not match the selector";
  if (pool != nullptr && !matches_all(pool->node_selector, node.labels))
    return "is not in the pool";
  std::vector<model::Toleration> tolerations = pod.tolerations;
  if (pool != nullptr)
    tolerations.insert(tolerations.end(), pool->tolerations.begin(), pool->tolerations.end());
  if (!model::tolerates_all(tolerations, node.taints)) return "has a taint";
  if (!pod.required_affinity.empty() &&
      std::none_of(pod.required_affinity.begin(), pod.required_affinity.end(),
                   [&](const auto& term) { return model::matches(term, node.labels, node.name); }))
    return "does not match the affinity";
  if (!pod.volume_zones.empty()) {
    const auto zone = node.labels.find("topology.kubernetes.io/zone");
    if (zone == node.labels.end() || !has(pod.volume_zones, zone->second))
      return "is not in a zone of its volumes";
  }
  return "";
}

std::string wrong_devices(const model::PodShape& pod, const model::PodPlace& place,
                          const model::NodeSpec& node) {
  const int devices = __builtin_popcount(place.devices);
  if (devices != pod.gpu.count) return fmt::format("{} devices, asked {}", devices, pod.gpu.count);
  if (devices == 0) return "";
  if ((place.devices >> node.gpu_count) != 0) return "a device the node does not have";
  if (place.gpu_type != node.gpu_type) return "the wrong GPU type noted";
  if (!pod.gpu_types.empty() && !has(pod.gpu_types, node.gpu_type)) return "a type not asked for";
  std::int64_t each = pod.gpu.each.v;
  if (pod.gpu.memory_each.v > 0) {
    if (node.gpu_memory.v <= 0) return "a share by memory of an unknown device";
    each = (pod.gpu.memory_each.v * 1000 + node.gpu_memory.v - 1) / node.gpu_memory.v;
  }
  return each == place.each ? "" : fmt::format("{} of a device, asked {}", place.each, each);
}

/// Nothing our own pod takes is below zero on its node after it was placed.
std::string overdrawn(const World& world, const sched::Node& node, const model::PodShape& pod) {
  if (pod.requests.cpu.v > 0 && node.cpu < 0) return "has no cpu left";
  if (pod.requests.memory.v > 0 && node.memory < 0) return "has no memory left";
  if (node.pod_slots < 0) return "has too many pods";
  for (const auto& [name, amount] : pod.requests.extended) {
    const auto all = node.spec.allocatable.extended.find(name);
    std::int64_t left = all == node.spec.allocatable.extended.end() ? 0 : all->second;
    const auto take = [&](const model::Resources& requests) {
      const auto asked = requests.extended.find(name);
      if (asked != requests.extended.end()) left -= asked->second;
    };
    for (const sched::PodOn& on : node.pods) take(world.shapes.pod(on.pod).spec.requests);
    for (const auto& [uid, foreign] : node.foreign) take(foreign.requests);
    if (left < 0) return "has no " + name + " left";
  }
  return "";
}

std::string wrong_gang(const World& world, const sched::Job& job, const model::Placed& placed) {
  const model::Gang& gang = world.shapes[job.shape].gang;
  if (!gang.clusters.empty() && !has(gang.clusters, placed.cluster)) return "not pinned there";
  if (has(gang.excluded_clusters, placed.cluster)) return "excluded there";
  const sched::Cluster& there = world.fleet.cluster(world.fleet.find_cluster(placed.cluster));
  for (const std::string& kind : gang.kinds) {
    if (there.are_kinds_known && !has(there.kinds, kind)) return kind + " is not served there";
  }
  std::map<std::pair<std::uint32_t, std::string>, int> per_node;
  std::vector<int> counts(gang.sets.size(), 0);
  std::set<std::string> domains;
  const sched::ClusterId cluster = world.fleet.find_cluster(placed.cluster);
  for (const model::PodPlace& place : placed.pods) {
    ++counts[place.set];
    const int here = ++per_node[{place.set, place.node}];
    const int most = gang.sets[place.set].pods_per_node;
    if (most > 0 && here > most) return "too many pods of a set on node " + place.node;
    if (!gang.topology) continue;
    const auto& labels = world.fleet.node(world.fleet.find_node(cluster, place.node)).spec.labels;
    const auto it = labels.find(gang.topology->key);
    domains.insert(it == labels.end() ? "?" : it->second);
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < gang.sets[i].least() || counts[i] > gang.sets[i].count)
      return fmt::format("{} pods of set {}", counts[i], i);
  }
  if (gang.topology && gang.topology->required && (domains.size() > 1 || domains.contains("?")))
    return "spans topology domains";
  return "";
}

/// What the queue and those below it are promised, do not lend, do not use and may use.
std::int64_t held_by(const World& world, sched::QueueId id, std::size_t r) {
  const sched::QueueNode& q = world.quota[id];
  std::int64_t below = 0;
  for (const sched::QueueId child : q.children) below += held_by(world, child, r);
  if (r >= q.limits.size()) return below;
  const sched::LimitRec& limit = q.limits[r];
  std::int64_t held = below;
  if (limit.guaranteed != sched::unset && limit.lend != sched::unset)
    held = std::max(held, limit.guaranteed - limit.lend - q.use[r]);
  if (limit.maximum == sched::unset) return held;
  return std::min(held, std::max<std::int64_t>(limit.maximum - q.use[r], 0));
}

/// To the queue itself or, if that is more, to those below it together.
std::int64_t promised_to(const World& world, sched::QueueId id, std::size_t r) {
  const sched::QueueNode& q = world.quota[id];
  std::int64_t below = 0;
  for (const sched::QueueId child : q.children) below += promised_to(world, child, r);
  return r < q.limits.size() ? std::max(below, q.limits[r].guaranteed) : below;
}

/// What is beyond the guarantees on the way up is borrowed: within the borrow limits, and never
/// what others do not lend.
std::string over_borrowed(const World& world, const sched::Capacity& capacity, sched::QueueId queue,
                          const sched::Charge& charge) {
  const std::size_t r = charge.resource.index();
  for (sched::QueueId id = queue; !id.is_none(); id = world.quota[id].parent) {
    const sched::QueueNode& q = world.quota[id];
    const sched::LimitRec limit = r < q.limits.size() ? q.limits[r] : sched::LimitRec{};
    const std::int64_t use = r < q.use.size() ? q.use[r] : 0;
    std::int64_t held = 0;
    for (const sched::QueueId child : q.children) held += held_by(world, child, r);
    if (limit.guaranteed != sched::unset && use + held <= limit.guaranteed) return "";
    const std::string resource = world.quota.resource_name(charge.resource);
    std::int64_t most = limit.maximum;
    if (q.parent.is_none()) most = r < capacity.size() ? capacity[r] : 0;
    if (limit.borrow != sched::unset) {
      const std::int64_t borrowed = promised_to(world, id, r) + limit.borrow;
      if (use > borrowed) return fmt::format("queue {} borrows too much {}", q.name, resource);
      most = most == sched::unset ? borrowed : std::min(most, borrowed);
    }
    if (held > 0 && most != sched::unset && use + held > most)
      return fmt::format("{} that others do not lend is used below '{}'", resource, q.name);
  }
  return "";
}

std::string over_quota(const World& world, const sched::Job& job, const sched::Capacity& capacity) {
  std::vector<sched::QueueId> queues = job.extra_queues;
  queues.push_back(job.queue);
  for (const sched::QueueId queue : queues) {
    for (const sched::Charge& c : job.active->charges) {
      if (c.amount == 0) continue;
      if (auto wrong = over_borrowed(world, capacity, queue, c); !wrong.empty()) return wrong;
    }
    for (sched::QueueId id = queue; !id.is_none(); id = world.quota[id].parent) {
      const sched::QueueNode& q = world.quota[id];
      for (const sched::Charge& c : job.active->charges) {
        const std::size_t r = c.resource.index();
        if (r < q.limits.size() && q.limits[r].maximum != sched::unset && c.amount > 0 &&
            q.use[r] > q.limits[r].maximum)
          return fmt::format("queue {} above its maximum of {}", q.name,
                             world.quota.resource_name(c.resource));
      }
    }
  }
  return "";
}

}  // namespace

std::string wrong_placement(const World& world, const model::Placed& placed,
                            const sched::Capacity& capacity) {
  const sched::Job& job = world.job(world.find_job(placed.job));
  const auto say = [&](const std::string& what) {
    return fmt::format("placement of {} in {}: {}", placed.job, placed.cluster, what);
  };
  const sched::ClusterId cluster = world.fleet.find_cluster(placed.cluster);
  const model::Health health = world.fleet.cluster(cluster).health;
  if (!world.fleet.cluster(cluster).joined ||
      (health != model::Health::Ready && health != model::Health::Degraded))
    return say("the cluster takes no jobs");
  const model::PoolSpec* pool =
      placed.pool.empty() ? nullptr : &world.pool(world.find_pool(placed.pool)).spec;
  for (const model::PodPlace& place : placed.pods) {
    const model::PodShape& pod = world.shapes[job.shape].gang.sets[place.set].pod;
    const sched::Node& node = world.fleet.node(world.fleet.find_node(cluster, place.node));
    if (!node.seen) return say("node " + place.node + " is not there");
    if (const auto wrong = wrong_node(pod, pool, node.spec); !wrong.empty())
      return say("node " + place.node + " " + wrong);
    if (const auto wrong = wrong_devices(pod, place, node.spec); !wrong.empty())
      return say("node " + place.node + ": " + wrong);
    if (const auto wrong = overdrawn(world, node, pod); !wrong.empty())
      return say("node " + place.node + " " + wrong);
  }
  if (const auto wrong = wrong_gang(world, job, placed); !wrong.empty()) return say(wrong);
  if (const auto wrong = wrong_neighbours(world, placed); !wrong.empty()) return say(wrong);
  if (const auto wrong = over_quota(world, job, capacity); !wrong.empty()) return say(wrong);
  return "";
}

}  // namespace muster::properties
