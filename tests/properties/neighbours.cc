#include "tests/properties/neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace muster::properties {
namespace {

using sched::World;

/// A pod that stands somewhere, ours or another's.
struct Standing {
  const model::NodeSpec* node;
  const model::Labels* labels;
  const std::vector<int>* ports;
  const model::PodShape* shape;  // of ours only
  sched::JobSlot job;
  std::uint32_t set = 0;
};

std::vector<Standing> pods_of(const World& world, sched::ClusterId cluster) {
  std::vector<Standing> all;
  for (const sched::NodeId id : world.fleet.cluster(cluster).nodes) {
    const sched::Node& node = world.fleet.node(id);
    for (const sched::PodOn& on : node.pods) {
      const model::PodShape& shape = world.shapes.pod(on.pod).spec;
      all.push_back({&node.spec, &shape.labels, &shape.host_ports, &shape, on.job, on.set});
    }
    for (const auto& [uid, pod] : node.foreign)
      all.push_back({&node.spec, &pod.labels, &pod.host_ports, nullptr, sched::JobSlot::none(), 0});
  }
  return all;
}

/// Empty: the node is in no domain of the key.
std::string domain(const model::NodeSpec& node, const std::string& key) {
  const auto it = node.labels.find(key);
  if (it != node.labels.end()) return it->second;
  return key == "kubernetes.io/hostname" ? node.name : "";
}

bool same_domain(const Standing& a, const Standing& b, const std::string& key) {
  const std::string here = domain(*a.node, key);
  return !here.empty() && here == domain(*b.node, key);
}

std::string wrong_ports(const Standing& pod, const Standing& other) {
  for (const int port : *pod.ports) {
    if (pod.node == other.node &&
        std::find(other.ports->begin(), other.ports->end(), port) != other.ports->end())
      return fmt::format("port {} of node {} is taken", port, pod.node->name);
  }
  return "";
}

std::string wrong_distance(const Standing& pod, const Standing& other) {
  for (const auto& term : pod.shape->pod_anti_affinity) {
    if (model::matches(term.selector, *other.labels) && same_domain(pod, other, term.topology_key))
      return fmt::format("node {} is in the {} of a pod to stay away from", pod.node->name,
                         term.topology_key);
  }
  if (other.shape == nullptr) return "";
  for (const auto& term : other.shape->pod_anti_affinity) {
    if (model::matches(term.selector, *pod.labels) && same_domain(pod, other, term.topology_key))
      return fmt::format("node {} is in the {} of a pod that wants it away", pod.node->name,
                         term.topology_key);
  }
  return "";
}

std::string wrong_nearness(const std::vector<Standing>& all, const Standing& pod) {
  const auto matches_all = [&](const model::Labels& labels) {
    return std::all_of(pod.shape->pod_affinity.begin(), pod.shape->pod_affinity.end(),
                       [&](const auto& term) { return model::matches(term.selector, labels); });
  };
  const auto is_other = [&](const Standing& other) {
    return &other != &pod && matches_all(*other.labels);
  };
  // The first of a group may stand anywhere; which pod of a gang was first is not known here.
  const bool may_be_first =
      matches_all(*pod.labels) && std::none_of(all.begin(), all.end(), [&](const Standing& other) {
        return is_other(other) && (other.shape == nullptr || other.job != pod.job);
      });
  for (const auto& term : pod.shape->pod_affinity) {
    if (domain(*pod.node, term.topology_key).empty())
      return fmt::format("node {} has no {}", pod.node->name, term.topology_key);
    const bool has_one = std::any_of(all.begin(), all.end(), [&](const Standing& other) {
      return is_other(other) && same_domain(pod, other, term.topology_key);
    });
    if (!has_one && !may_be_first)
      return fmt::format("node {} has no pod to be near to in its {}", pod.node->name,
                         term.topology_key);
  }
  return "";
}

bool has_all(const model::NodeSpec& node, const model::Labels& labels) {
  return std::all_of(labels.begin(), labels.end(), [&](const auto& wanted) {
    const auto it = node.labels.find(wanted.first);
    return it != node.labels.end() && it->second == wanted.second;
  });
}

/// Whether the pod could be told by its own words and its pool's to stand there, room and taints
/// aside.
bool is_asked_for(const model::PodShape& pod, const model::Labels& pool,
                  const model::NodeSpec& node) {
  if (!has_all(node, pod.node_selector) || !has_all(node, pool)) return false;
  for (const model::Spread& spread : pod.spread) {
    if (spread.required && domain(node, spread.topology_key).empty()) return false;
  }
  return pod.required_affinity.empty() ||
         std::any_of(
             pod.required_affinity.begin(), pod.required_affinity.end(),
             [&](const auto& term) { return model::matches(term, node.labels, node.name); });
}

std::string wrong_spread(const World& world, const model::Placed& placed,
                         const std::vector<Standing>& all, const Standing& pod) {
  const sched::ClusterId cluster = world.fleet.find_cluster(placed.cluster);
  model::Labels pool;
  if (!placed.pool.empty()) pool = world.pool(world.find_pool(placed.pool)).spec.node_selector;
  for (const model::Spread& spread : pod.shape->spread) {
    if (!spread.required) continue;
    // Pods of other sets of the gang that count too may have come later and upset what was even.
    const bool alone = std::none_of(all.begin(), all.end(), [&](const Standing& other) {
      return other.shape != nullptr && other.job == pod.job && other.set != pod.set &&
             model::matches(spread.selector, *other.labels);
    });
    if (!alone) continue;
    std::map<std::string, int> counts;
    for (const sched::NodeId id : world.fleet.cluster(cluster).nodes) {
      const sched::Node& node = world.fleet.node(id);
      if (node.seen && is_asked_for(*pod.shape, pool, node.spec))
        counts.try_emplace(domain(node.spec, spread.topology_key), 0);
    }
    for (const Standing& other : all) {
      if (is_asked_for(*pod.shape, pool, *other.node) &&
          model::matches(spread.selector, *other.labels))
        ++counts[domain(*other.node, spread.topology_key)];
    }
    int least = counts.begin()->second;
    for (const auto& [value, count] : counts) least = std::min(least, count);
    const std::string here = domain(*pod.node, spread.topology_key);
    if (counts[here] - least > spread.max_skew)
      return fmt::format("{} of {} has {} pods, another {}: more apart than {}", here,
                         spread.topology_key, counts[here], least, spread.max_skew);
  }
  return "";
}

}  // namespace

std::string wrong_neighbours(const World& world, const model::Placed& placed) {
  const sched::ClusterId cluster = world.fleet.find_cluster(placed.cluster);
  const sched::JobSlot job = world.find_job(placed.job);
  const std::vector<Standing> all = pods_of(world, cluster);
  for (const Standing& pod : all) {
    if (pod.shape == nullptr || pod.job != job) continue;
    for (const Standing& other : all) {
      if (&other == &pod) continue;
      if (auto wrong = wrong_ports(pod, other); !wrong.empty()) return wrong;
      if (auto wrong = wrong_distance(pod, other); !wrong.empty()) return wrong;
    }
    if (auto wrong = wrong_nearness(all, pod); !wrong.empty()) return wrong;
    if (auto wrong = wrong_spread(world, placed, all, pod); !wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace muster::properties
