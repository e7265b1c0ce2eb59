#include "config/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/config_check.h"
#include "config/config_fields.h"

namespace muster::config {

Checked check(std::string_view yaml) {
  Checked checked;
  Parsed parsed = parse_yaml(yaml, {.bytes = std::size_t{4} << 20, .nodes = 500'000});
  checked.problems = std::move(parsed.problems);
  if (has_errors(checked.problems) && parsed.roots.empty()) return checked;
  if (parsed.roots.size() > 1) {
    const Node& second = parsed.roots[1];
    checked.problems.push_back(
        {second.line, second.column, "", "a second document; the configuration is one document"});
  }
  if (parsed.roots.empty() || parsed.roots[0].is_null()) return checked;
  Reader reader(checked.problems);
  read_object(reader, parsed.roots[0], checked.config);
  check_together(checked.config, parsed.roots[0], checked.problems);
  sort_by_place(checked.problems);
  return checked;
}

std::string to_yaml(const Config& config, bool defaults) {
  Tree tree;
  Writer writer{tree, defaults};
  return to_yaml(Codec<Config>::write(writer, config, {}));
}

Config without_secrets(Config config) {
  std::string& url = config.store.postgres;
  const std::size_t scheme = url.find("://");
  const std::size_t at = url.find('@');
  for (Cluster& cluster : config.clusters) {
    if (cluster.kubeconfig_inline) cluster.kubeconfig_inline = "***";
  }
  if (scheme == std::string::npos || at == std::string::npos) return config;
  const std::size_t colon = url.find(':', scheme + 3);
  if (colon < at) url.replace(colon + 1, at - colon - 1, "***");
  return config;
}

std::string config_schema() {
  Tree tree;
  Schema schema(tree);
  return to_json(schema.document(Codec<Config>::schema(schema, {}), "Muster server configuration"));
}

std::string_view demo_yaml() {
  return R"(# What `make run` starts with: this machine, and two simulated clusters to play with.
data_dir: ./data
listen: 127.0.0.1:8080
clusters:
- {name: here, type: local, slots: 4}
- name: sim-a
  type: simulated
  labels: {zone: a}
  gpu_price: {A100: 1.8}
  run_time: 2m
  nodes:
  - {count: 100, cpu: 96, memory: 1Ti, gpu: {A100: 8}, gpu_memory: 80Gi}
- name: sim-b
  type: simulated
  labels: {zone: b}
  gpu_price: {H100: 4.2, T4: 0.35}
  run_time: 2m
  nodes:
  - {name: h, count: 16, cpu: 128, memory: 2Ti, gpu: {H100: 8}, gpu_memory: 80Gi}
  - {name: t, count: 40, cpu: 32, memory: 128Gi, gpu: {T4: 4}, gpu_memory: 16Gi}
queues:
- name: research
  weight: 2
  guaranteed: {gpu: 400}
  queues:
  - {name: vision, weight: 2}
  - {name: speech}
- {name: production, guaranteed: {gpu: 200}, priority_cap: 1000}
- {name: default}
)";
}

// ---- what the engine takes

namespace {

void set_limits(model::QueueSpec& spec, const Amounts& amounts,
                std::optional<std::int64_t> model::Limit::* field) {
  for (const auto& [resource, amount] : amounts.of) spec.limits[resource].*field = amount;
}

void add_queues(const std::vector<Queue>& queues, const std::string& parent,
                const std::string& tree, std::vector<model::QueueSpec>& out) {
  for (const Queue& queue : queues) {
    model::QueueSpec spec;
    spec.name = queue.name;
    spec.parent = parent;
    spec.tree = parent.empty() ? tree : "";
    spec.weight = queue.weight;
    spec.strategy = queue.strategy;
    spec.priority_cap = queue.priority_cap;
    set_limits(spec, queue.guaranteed, &model::Limit::guaranteed);
    set_limits(spec, queue.maximum, &model::Limit::maximum);
    set_limits(spec, queue.borrow, &model::Limit::borrow);
    set_limits(spec, queue.lend, &model::Limit::lend);
    out.push_back(std::move(spec));
    add_queues(queue.queues, queue.name, tree, out);
  }
}

}  // namespace

std::vector<model::QueueSpec> queue_specs(const Config& config) {
  std::vector<model::QueueSpec> specs;
  add_queues(config.queues, "", "", specs);
  for (const QueueTree& tree : config.trees) add_queues(tree.queues, "", tree.name, specs);
  const std::string& standard = config.defaults.queue;
  const bool there = std::any_of(specs.begin(), specs.end(), [&](const model::QueueSpec& spec) {
    return spec.name == standard;
  });
  if (!there && !standard.empty()) {
    model::QueueSpec spec;
    spec.name = standard;
    specs.push_back(std::move(spec));
  }
  return specs;
}

std::vector<model::ClusterSpec> cluster_specs(const Config& config) {
  std::vector<model::ClusterSpec> specs;
  for (const Cluster& cluster : config.clusters) {
    model::ClusterSpec spec;
    spec.name = cluster.name;
    spec.labels = cluster.labels;
    for (const auto& [type, price] : cluster.gpu_price) spec.gpu_price_milli[type] = price.v;
    spec.grace = cluster.grace;
    specs.push_back(std::move(spec));
  }
  return specs;
}

model::Toleration toleration_of(const TolerationEntry& entry) {
  return {entry.key, entry.op == TolerationEntry::Op::Exists, entry.value,
          entry.effect ? std::string(model::to_text(*entry.effect)) : ""};
}

TolerationEntry entry_of(const model::Toleration& toleration) {
  TolerationEntry entry;
  entry.key = toleration.key;
  entry.op = toleration.exists ? TolerationEntry::Op::Exists : TolerationEntry::Op::Equal;
  entry.value = toleration.value;
  if (const auto effect = model::parse_effect(toleration.effect, "")) entry.effect = *effect;
  return entry;
}

std::vector<model::PoolSpec> pool_specs(const Config& config) {
  std::vector<model::PoolSpec> specs;
  for (const Pool& pool : config.pools) {
    model::PoolSpec spec{pool.name, pool.cluster, pool.node_selector, {}};
    for (const TolerationEntry& t : pool.tolerations) spec.tolerations.push_back(toleration_of(t));
    specs.push_back(std::move(spec));
  }
  return specs;
}

std::vector<model::FleetPoolSpec> fleet_pool_specs(const Config& config) {
  std::vector<model::FleetPoolSpec> specs;
  for (const FleetPool& pool : config.fleet_pools) specs.push_back({pool.name, pool.pools});
  return specs;
}

std::vector<model::NodeSpec> node_specs(const Cluster& cluster) {
  std::vector<model::NodeSpec> nodes;
  for (const NodeGroup& group : cluster.nodes) {
    model::NodeSpec node;
    node.labels = group.labels;
    for (const TaintEntry& t : group.taints) node.taints.push_back({t.key, t.value, t.effect});
    node.allocatable = {group.cpu, group.memory, group.resources.of};
    node.pods_max = group.pods_max;
    if (!group.gpu.empty()) {
      node.gpu_type = group.gpu.begin()->first;
      node.gpu_count = group.gpu.begin()->second;
      node.gpu_memory = group.gpu_memory;
    }
    for (int i = 0; i < group.count; ++i) {
      node.name = fmt::format("{}-{}", group.name, i);
      nodes.push_back(node);
    }
  }
  return nodes;
}

}  // namespace muster::config
