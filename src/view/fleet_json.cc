#include "view/fleet_json.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "model/amount.h"

namespace muster::view {
namespace {

namespace json = boost::json;
using namespace sched;  // NOLINT: this file is about the engine's words

std::string milli(std::int64_t amount) { return model::quantity_text(amount, model::Scale::Milli); }
std::string whole(std::int64_t amount) { return model::quantity_text(amount, model::Scale::Whole); }

Error not_found(std::string message) { return {Fault::NotFound, std::move(message)}; }

json::object labels_object(const model::Labels& labels) {
  json::object out;
  for (const auto& [key, value] : labels) out[key] = value;
  return out;
}

std::int64_t idle_milli(const Node& node) {
  std::int64_t idle = 0;
  for (int d = 0; d < node.spec.gpu_count; ++d) idle += node.devices[static_cast<std::size_t>(d)];
  return idle;
}

void put_amounts(const World& world, const Node& node, json::object& out) {
  const model::Resources& all = node.spec.allocatable;
  json::object allocatable{{"cpu", milli(all.cpu.v)}, {"memory", whole(all.memory.v)}};
  json::object used{{"cpu", milli(all.cpu.v - node.cpu)},
                    {"memory", whole(all.memory.v - node.memory)}};
  const std::vector<std::string>& names = world.shapes.extended_names();
  for (const auto& [name, amount] : all.extended) {
    const auto at =
        static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    const std::int64_t free = at < node.extended.size() ? node.extended[at] : 0;
    allocatable[name] = whole(amount);
    used[name] = whole(amount - free);
  }
  const std::int64_t idle = idle_milli(node);
  if (node.spec.gpu_count > 0) {
    const std::string name = "gpu." + node.spec.gpu_type;
    allocatable[name] = milli(std::int64_t{1000} * node.spec.gpu_count);
    used[name] = milli(std::int64_t{1000} * node.spec.gpu_count - idle);
  }
  out["allocatable"] = std::move(allocatable);
  out["used"] = std::move(used);
  out["gpu_type"] = node.spec.gpu_type;
  out["gpu_count"] = node.spec.gpu_count;
  out["gpus_idle"] = milli(idle);
}

json::object node_object(const World& world, const Node& node) {
  json::object out{{"name", node.spec.name},
                   {"cluster", world.fleet.cluster(node.cluster).spec.name},
                   {"ready", node.spec.ready},
                   {"cordoned", node.spec.cordoned},
                   {"usable", world.fleet.usable(node)},
                   {"labels", labels_object(node.spec.labels)}};
  json::array taints;
  for (const model::Taint& taint : node.spec.taints) taints.emplace_back(taint_text(taint));
  out["taints"] = std::move(taints);
  put_amounts(world, node, out);
  std::set<std::string_view> ids;
  for (const PodOn& pod : node.pods) ids.insert(world.job(pod.job).id);
  json::array jobs;
  for (const std::string_view id : ids) jobs.emplace_back(id);
  out["pods"] = node.pods.size();
  out["pods_max"] = node.spec.pods_max;
  out["foreign_pods"] = node.foreign.size();
  out["jobs"] = std::move(jobs);
  return out;
}

/// Whether nodes are in a pool. Profiles hold every label that a pool asks about, so labels are
/// compared once per profile; a node without a profile yet is compared itself.
class InPool {
 public:
  InPool(const World& world, const Pool& pool) : world_(world), pool_(pool) {}
  bool operator()(const Node& node) {
    if (node.cluster != pool_.cluster) return false;
    if (node.profile.is_none()) return matches(node.spec.labels);
    const auto [it, is_new] = known_.try_emplace(node.profile, false);
    if (is_new) it->second = matches(world_.fleet.profile(node.profile).labels);
    return it->second;
  }

 private:
  bool matches(const model::Labels& labels) const {
    return std::all_of(pool_.spec.node_selector.begin(), pool_.spec.node_selector.end(),
                       [&](const auto& wanted) {
                         const auto it = labels.find(wanted.first);
                         return it != labels.end() && it->second == wanted.second;
                       });
  }
  const World& world_;
  const Pool& pool_;
  std::map<ProfileId, bool> known_;
};

const Pool* find_pool(const World& world, const std::string& name) {
  const PoolId id = world.find_pool(name);
  return id.is_none() ? nullptr : &world.pool(id);
}

/// What stands in pools: each node once, however many of them have it.
struct Contents {
  int seen = 0;
  int usable = 0;
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> gpus;  // total, idle thousandths
  std::set<JobSlot> jobs;
};

void add(const World& world, const Node& node, Contents& contents) {
  ++contents.seen;
  const bool usable = world.fleet.usable(node);
  if (usable) ++contents.usable;
  for (const PodOn& pod : node.pods) contents.jobs.insert(pod.job);
  if (node.spec.gpu_count == 0) return;
  auto& [total, idle] = contents.gpus[node.spec.gpu_type];
  total += node.spec.gpu_count;
  if (usable) idle += idle_milli(node);
}

Contents contents_of(const World& world, const std::vector<const Pool*>& pools) {
  std::map<ClusterId, std::vector<InPool>> by_cluster;
  for (const Pool* pool : pools) {
    if (!pool->cluster.is_none()) by_cluster[pool->cluster].emplace_back(world, *pool);
  }
  Contents contents;
  for (auto& [cluster, tests] : by_cluster) {
    for (const NodeId id : world.fleet.cluster(cluster).nodes) {
      const Node& node = world.fleet.node(id);
      if (node.seen &&
          std::any_of(tests.begin(), tests.end(), [&](InPool& test) { return test(node); }))
        add(world, node, contents);
    }
  }
  return contents;
}

void put(const Contents& contents, json::object& out) {
  json::object gpus;
  for (const auto& [type, amounts] : contents.gpus)
    gpus[type] = json::object{{"total", amounts.first}, {"idle", milli(amounts.second)}};
  out["nodes"] = contents.seen;
  out["nodes_usable"] = contents.usable;
  out["jobs"] = contents.jobs.size();
  out["gpus"] = std::move(gpus);
}

ClusterId joined_cluster(const World& world, const std::string& name) {
  const ClusterId id = world.fleet.find_cluster(name);
  return id.is_none() || !world.fleet.cluster(id).joined ? ClusterId::none() : id;
}

/// Walks nodes in the order of clusters and names, from a cursor on.
class NodePager {
 public:
  NodePager(const World& world, const NodeAsk& ask) : world_(world), ask_(ask) {
    const std::size_t slash = ask.cursor.find('/');
    after_cluster_ = ask.cursor.substr(0, slash);
    if (slash != std::string::npos) after_node_ = ask.cursor.substr(slash + 1);
  }
  std::string page(ClusterId only, const Pool* pool) {
    std::optional<InPool> test;
    if (pool != nullptr) test.emplace(world_, *pool);
    for (const ClusterId id : world_.fleet.by_name()) {
      const Cluster& cluster = world_.fleet.cluster(id);
      if (!cluster.joined || cluster.spec.name < after_cluster_) continue;
      if (!only.is_none() && id != only) continue;
      if (pool != nullptr && id != pool->cluster) continue;
      if (!take(cluster, test)) break;
    }
    json::object out{{"nodes", std::move(nodes_)}};
    out["next"] = next_.empty() ? json::value(nullptr) : json::value(next_);
    return json::serialize(out);
  }

 private:
  /// False when the page is full.
  bool take(const Cluster& cluster, std::optional<InPool>& test) {
    auto at = cluster.nodes.begin();
    if (cluster.spec.name == after_cluster_ && !after_node_.empty()) {
      at = std::upper_bound(at, cluster.nodes.end(), after_node_,
                            [this](const std::string& name, NodeId id) {
                              return name < world_.fleet.node(id).spec.name;
                            });
    }
    for (; at != cluster.nodes.end(); ++at) {
      if (nodes_.size() >= ask_.limit || looked_ >= nodes_looked_max) {
        next_ = last_;
        return false;
      }
      const Node& node = world_.fleet.node(*at);
      ++looked_;
      last_ = cluster.spec.name + "/" + node.spec.name;
      if (node.seen && (!test || (*test)(node))) nodes_.push_back(node_object(world_, node));
    }
    return true;
  }

  const World& world_;
  const NodeAsk& ask_;
  std::string after_cluster_;
  std::string after_node_;
  json::array nodes_;
  std::size_t looked_ = 0;
  std::string last_;
  std::string next_;
};

}  // namespace

std::string taint_text(const model::Taint& taint) {
  const std::string value = taint.value.empty() ? "" : "=" + taint.value;
  return fmt::format("{}{}:{}", taint.key, value, model::to_text(taint.effect));
}

std::string toleration_text(const model::Toleration& toleration) {
  const std::string effect = toleration.effect.empty() ? "" : ":" + toleration.effect;
  if (toleration.key.empty()) return "everything" + effect;
  if (toleration.exists) return toleration.key + effect;
  return fmt::format("{}={}{}", toleration.key, toleration.value, effect);
}

Result<std::string> nodes_json(const World& world, const NodeAsk& ask) {
  ClusterId only = ClusterId::none();
  if (!ask.cluster.empty()) {
    only = joined_cluster(world, ask.cluster);
    if (only.is_none())
      return not_found(fmt::format("cluster: there is no cluster {}", ask.cluster));
  }
  const Pool* pool = nullptr;
  if (!ask.pool.empty()) {
    pool = find_pool(world, ask.pool);
    if (pool == nullptr) return not_found(fmt::format("pool: there is no pool {}", ask.pool));
  }
  return NodePager(world, ask).page(only, pool);
}

Result<std::string> node_json(const World& world, const std::string& cluster,
                              const std::string& node) {
  const ClusterId id = joined_cluster(world, cluster);
  if (id.is_none()) return not_found(fmt::format("cluster: there is no cluster {}", cluster));
  const NodeId found = world.fleet.find_node(id, node);
  if (found.is_none() || !world.fleet.node(found).seen)
    return not_found(fmt::format("node: cluster {} has no node {}", cluster, node));
  return json::serialize(node_object(world, world.fleet.node(found)));
}

Result<std::string> pool_json(const World& world, const std::string& name) {
  const Pool* pool = find_pool(world, name);
  if (pool == nullptr) return not_found(fmt::format("pool: there is no pool {}", name));
  json::object out{{"name", pool->spec.name},
                   {"cluster", pool->spec.cluster},
                   {"node_selector", labels_object(pool->spec.node_selector)}};
  json::array tolerations;
  for (const model::Toleration& toleration : pool->spec.tolerations)
    tolerations.emplace_back(toleration_text(toleration));
  out["tolerations"] = std::move(tolerations);
  put(contents_of(world, {pool}), out);
  return json::serialize(out);
}

Result<std::string> fleet_pool_json(const World& world, const std::string& name) {
  const std::vector<std::string>* names = world.find_fleet_pool(name);
  if (names == nullptr) return not_found(fmt::format("pool: there is no fleet pool {}", name));
  std::vector<const Pool*> pools;
  for (const std::string& pool : *names) {
    if (const Pool* found = find_pool(world, pool)) pools.push_back(found);
  }
  json::object out{{"name", name}, {"pools", json::array(names->begin(), names->end())}};
  put(contents_of(world, pools), out);
  return json::serialize(out);
}

}  // namespace muster::view
