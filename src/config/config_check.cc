#include "config/config_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/text.h"
#include "kube/kubeconfig.h"

namespace muster::config {
namespace {

constexpr std::int64_t nodes_max = 1'000'000;

std::string item(std::string_view list, std::size_t index) {
  return fmt::format("{}[{}]", list, index);
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

class Checks {
 public:
  Checks(const Node& root, Problems& problems) : root_(root), problems_(problems) {}

  void error(const std::string& path, std::string message) {
    add(path, std::move(message), Severity::Error);
  }
  void warning(const std::string& path, std::string message) {
    add(path, std::move(message), Severity::Warning);
  }
  void require(bool holds, const std::string& path, std::string_view message) {
    if (!holds) error(path, std::string(message));
  }
  /// The name is new among `names`. Nameless things were reported by the reader.
  void once(std::set<std::string, std::less<>>& names, const std::string& name,
            const std::string& path) {
    if (!name.empty() && !names.insert(name).second)
      error(path + ".name", fmt::format("'{}' is there twice", name));
  }
  void known(const std::set<std::string, std::less<>>& names, const std::string& name,
             const std::string& path, std::string_view kind) {
    if (name.empty() || names.contains(name)) return;
    const std::vector<std::string_view> words(names.begin(), names.end());
    const std::string near = nearest(name, words);
    error(path, near.empty() ? fmt::format("no {} '{}'", kind, name)
                             : fmt::format("no {} '{}'; did you mean '{}'?", kind, name, near));
  }

 private:
  void add(const std::string& path, std::string message, Severity severity) {
    if (problems_.size() > 200) return;
    const Node& node = locate(root_, path);
    problems_.push_back({node.line, node.column, path, std::move(message), severity});
  }

  const Node& root_;
  Problems& problems_;
};

using Names = std::set<std::string, std::less<>>;

std::int64_t plus(std::int64_t a, std::int64_t b) {
  return a > model::amount_max - b ? model::amount_max : a + b;
}

void check_server(const Config& config, Checks& checks) {
  const std::size_t colon = config.listen.rfind(':');
  const std::string host = config.listen.substr(0, colon);
  const bool has_port =
      colon != std::string::npos && parse_int(config.listen.substr(colon + 1), "", 0, 65535).ok();
  checks.require(has_port && !host.empty(), "listen",
                 "not an address with a port; write for example 127.0.0.1:8080");
  checks.require(!config.data_dir.empty(), "data_dir", "must not be empty");
  checks.require(config.store.sqlite.empty() || config.store.postgres.empty(), "store",
                 "sqlite and postgres are both given; drop one of them");
  const std::string& url = config.store.postgres;
  checks.require(url.empty() || url.starts_with("postgresql://") || url.starts_with("postgres://"),
                 "store.postgres", "not a connection URL; write postgresql://user@host/database");
  if (has_port && !host.empty() && !is_loopback(host)) {
    if (!config.tls)
      checks.warning("listen", "beyond this machine without tls: tokens travel in plain text");
    for (std::size_t i = 0; i < config.clusters.size(); ++i) {
      checks.require(config.clusters[i].type != ClusterType::Local, item("clusters", i) + ".type",
                     "a local cluster runs commands on this machine: listen on 127.0.0.1 only");
    }
  }
  checks.require(config.limits.batch <= config.limits.inbox, "limits.batch", "is above inbox");
}

void check_toleration(const TolerationEntry& t, const std::string& path, Checks& checks) {
  const bool exists = t.op == TolerationEntry::Op::Exists;
  checks.require(!t.key.empty() || exists, path,
                 "without a key it needs operator Exists, to tolerate everything");
  checks.require(!exists || t.value.empty(), path + ".value", "must be empty with operator Exists");
}

/// By the rules of jobs, which may say the same.
void check_pod(const PodDefaults& pod, const std::string& path, Checks& checks) {
  model::Command command;
  command.argv = {"x"};
  command.sets.emplace_back();
  command.environment = pod.env;
  command.container.image = pod.image;
  command.container.service_account = pod.service_account;
  command.container.pull_secrets = pod.pull_secrets;
  command.container.mounts = pod.mounts;
  if (const Status status = model::validate(command); !status)
    checks.error(path, status.error().message);
}

void check_kubeconfig(const Cluster& cluster, const std::string& path, Checks& checks) {
  const int given = int{cluster.kubeconfig.has_value()} +
                    int{cluster.kubeconfig_inline.has_value()} +
                    int{cluster.kubeconfig_secret.has_value()} + int{cluster.in_cluster};
  checks.require(given > 0, path,
                 "a kubernetes cluster needs kubeconfig, the file that says how to reach it, or "
                 "kubeconfig_inline, or kubeconfig_secret, or in_cluster");
  checks.require(given < 2, path,
                 "of kubeconfig, kubeconfig_inline, kubeconfig_secret and in_cluster only one can "
                 "be");
  checks.require(!cluster.in_cluster || !cluster.context, path + ".context",
                 "is for kubeconfigs; in_cluster has none");
  if (cluster.kubeconfig_secret)
    checks.require(cluster.kubeconfig_secret->cluster != cluster.name,
                   path + ".kubeconfig_secret.cluster", "is this cluster itself");
  if (!cluster.kubeconfig_inline || cluster.kubeconfig_inline->empty()) return;
  const auto config = kube::parse_kubeconfig(*cluster.kubeconfig_inline, "kubeconfig");
  if (!config) return checks.error(path + ".kubeconfig_inline", config.error().message);
  const auto access = kube::access_of(*config, cluster.context.value_or(""));
  if (!access) checks.error(path + ".kubeconfig_inline", access.error().message);
}

void check_ready_within(const std::optional<Duration>& given, const std::string& path,
                        Checks& checks) {
  checks.require(!given || given->ms >= 1000, path + ".ready_within",
                 "is less than 1s, in which no pod gets ready");
}

void check_type(const Cluster& cluster, const std::string& path, Checks& checks) {
  const auto only = [&](bool given, std::string_view key, ClusterType type, std::string_view word) {
    if (given && cluster.type != type)
      checks.error(fmt::format("{}.{}", path, key),
                   fmt::format("is for clusters of type {}", word));
  };
  only(cluster.slots.has_value(), "slots", ClusterType::Local, "local");
  only(cluster.gpu_type.has_value(), "gpu_type", ClusterType::Local, "local");
  only(cluster.cpu.has_value(), "cpu", ClusterType::Local, "local");
  only(cluster.memory.has_value(), "memory", ClusterType::Local, "local");
  only(cluster.stop_grace.has_value(), "stop_grace", ClusterType::Local, "local");
  only(!cluster.nodes.empty(), "nodes", ClusterType::Simulated, "simulated");
  only(cluster.run_time.has_value(), "run_time", ClusterType::Simulated, "simulated");
  const auto kubernetes = [&](const std::optional<std::string>& field, std::string_view key) {
    only(field.has_value(), key, ClusterType::Kubernetes, "kubernetes");
    checks.require(!field || !field->empty(), fmt::format("{}.{}", path, key), "is empty");
  };
  kubernetes(cluster.kubeconfig, "kubeconfig");
  kubernetes(cluster.kubeconfig_inline, "kubeconfig_inline");
  only(cluster.kubeconfig_secret.has_value(), "kubeconfig_secret", ClusterType::Kubernetes,
       "kubernetes");
  only(cluster.in_cluster, "in_cluster", ClusterType::Kubernetes, "kubernetes");
  kubernetes(cluster.context, "context");
  kubernetes(cluster.kube_namespace, "namespace");
  kubernetes(cluster.image, "image");
  only(!cluster.namespaces.empty(), "namespaces", ClusterType::Kubernetes, "kubernetes");
  only(cluster.node_binding.has_value(), "node_binding", ClusterType::Kubernetes, "kubernetes");
  only(cluster.ready_within.has_value(), "ready_within", ClusterType::Kubernetes, "kubernetes");
  check_ready_within(cluster.ready_within, path, checks);
  only(cluster.pod.has_value(), "pod", ClusterType::Kubernetes, "kubernetes");
  if (cluster.pod) check_pod(*cluster.pod, path + ".pod", checks);
  checks.require(!cluster.image || !cluster.pod || cluster.pod->image.empty(), path + ".pod.image",
                 "is given as the cluster's image too; drop one of them");
  checks.require(cluster.type != ClusterType::Simulated || !cluster.nodes.empty(), path,
                 "a simulated cluster needs nodes");
  if (cluster.type == ClusterType::Kubernetes) check_kubeconfig(cluster, path, checks);
}

void check_nodes(const Cluster& cluster, const std::string& path, Checks& checks) {
  Names prefixes;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
    const NodeGroup& group = cluster.nodes[i];
    const std::string at = item(path + ".nodes", i);
    count += group.count;
    if (!prefixes.insert(group.name).second)
      checks.error(
          at, fmt::format("nodes called '{}' are there twice; give each group a name", group.name));
    checks.require(group.gpu.size() <= 1, at + ".gpu", "a node has GPUs of one type");
    checks.require(group.gpu_memory.v == 0 || !group.gpu.empty(), at + ".gpu_memory",
                   "is for nodes with gpu");
    for (const auto& [resource, amount] : group.resources.of) {
      if (resource.find('/') == std::string::npos)
        checks.error(fmt::format("{}.resources.{}", at, resource),
                     "belongs beside resources, not in it");
    }
  }
  checks.require(count <= nodes_max, path + ".nodes", "more than 1000000 nodes");
}

Names check_clusters(const Config& config, Checks& checks) {
  Names names;
  int local = 0;
  for (std::size_t i = 0; i < config.clusters.size(); ++i) {
    const Cluster& cluster = config.clusters[i];
    const std::string at = item("clusters", i);
    checks.once(names, cluster.name, at);
    check_type(cluster, at, checks);
    check_nodes(cluster, at, checks);
    local += cluster.type == ClusterType::Local && !cluster.name.empty() ? 1 : 0;
    if (local == 2 && cluster.type == ClusterType::Local) {
      checks.error(at + ".type", "a second local cluster; this machine is one");
      ++local;
    }
  }
  return names;
}

/// Which one the context of a kubeconfig names is not known here.
void check_pool_namespace(const Config& config, const Pool& pool, const std::string& at,
                          Checks& checks) {
  if (!pool.kube_namespace) return;
  for (const Cluster& cluster : config.clusters) {
    if (cluster.name != pool.cluster) continue;
    const auto names = [&](const std::string& ns) {
      return std::find(cluster.namespaces.begin(), cluster.namespaces.end(), ns) !=
             cluster.namespaces.end();
    };
    const bool is_allowed =
        cluster.kube_namespace == pool.kube_namespace || names(*pool.kube_namespace) || names("*");
    checks.require(
        is_allowed, at + ".namespace",
        cluster.type == ClusterType::Kubernetes
            ? fmt::format("is not one of cluster {}; add it to its namespaces", cluster.name)
            : std::string("is for pools of clusters of type kubernetes"));
  }
}

/// Clusters found elsewhere may be named too: only those that must be in this file are looked for.
void check_sources(const Config& config, const Names& clusters, Checks& checks) {
  for (std::size_t i = 0; i < config.clusters.size(); ++i) {
    const auto& secret = config.clusters[i].kubeconfig_secret;
    if (secret)
      checks.known(clusters, secret->cluster, item("clusters", i) + ".kubeconfig_secret.cluster",
                   "cluster");
  }
  for (std::size_t i = 0; i < config.cluster_sources.size(); ++i) {
    const ClusterSource& source = config.cluster_sources[i];
    const std::string at = item("cluster_sources", i);
    const int given = int{source.directory.has_value()} + int{source.secrets.has_value()} +
                      int{source.profiles.has_value()};
    checks.require(given == 1, at, "is one of directory, secrets and profiles");
    checks.require(!source.directory || !source.directory->empty(), at + ".directory", "is empty");
    if (source.secrets)
      checks.known(clusters, source.secrets->cluster, at + ".secrets.cluster", "cluster");
    if (source.profiles)
      checks.known(clusters, source.profiles->cluster, at + ".profiles.cluster", "cluster");
    check_ready_within(source.ready_within, at, checks);
    if (source.pod) check_pod(*source.pod, at + ".pod", checks);
    checks.require(!source.image || !source.pod || source.pod->image.empty(), at + ".pod.image",
                   "is given as the source's image too; drop one of them");
  }
}

/// "batch/Job", "Pod" or "*".
bool is_kind(std::string_view text) {
  const std::string_view kind = text.substr(text.rfind('/') + 1);  // npos + 1 is the beginning
  const bool has_name = !kind.empty() && kind.front() >= 'A' && kind.front() <= 'Z';
  return text == "*" ||
         (has_name && text.front() != '/' && std::count(text.begin(), text.end(), '/') <= 1);
}

/// The hub's own cluster makes what AppWrappers wrap in their namespaces, which may be any.
void check_appwrappers(const Config& config, const Names& clusters, Checks& checks) {
  if (!config.appwrappers) return;
  const std::string& hub = config.appwrappers->cluster;
  checks.known(clusters, hub, "appwrappers.cluster", "cluster");
  for (const Cluster& cluster : config.clusters) {
    checks.require(cluster.name != hub || cluster.type == ClusterType::Kubernetes,
                   "appwrappers.cluster", "AppWrappers are in clusters of type kubernetes");
  }
  const std::vector<std::string>& kinds = config.appwrappers->kinds;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    checks.require(is_kind(kinds[i]), item("appwrappers.kinds", i),
                   "is no kind; write group/Kind as batch/Job, Kind as Pod, or '*'");
  }
}

void check_pools(const Config& config, const Names& clusters, Checks& checks) {
  Names pools;
  for (std::size_t i = 0; i < config.pools.size(); ++i) {
    const Pool& pool = config.pools[i];
    const std::string at = item("pools", i);
    checks.once(pools, pool.name, at);
    if (config.cluster_sources.empty()) {  // else it may be found there
      checks.known(clusters, pool.cluster, at + ".cluster", "cluster");
    }
    check_pool_namespace(config, pool, at, checks);
    if (pool.pod) {
      check_pod(*pool.pod, at + ".pod", checks);
      const bool is_right =
          std::any_of(config.clusters.begin(), config.clusters.end(), [&](const Cluster& cluster) {
            return cluster.name == pool.cluster && cluster.type == ClusterType::Kubernetes;
          });
      checks.require(is_right || !clusters.contains(pool.cluster), at + ".pod",
                     "is for pools of clusters of type kubernetes");
    }
    for (std::size_t t = 0; t < pool.tolerations.size(); ++t)
      check_toleration(pool.tolerations[t], item(at + ".tolerations", t), checks);
  }
  Names all = pools;
  for (std::size_t i = 0; i < config.fleet_pools.size(); ++i) {
    const FleetPool& fleet = config.fleet_pools[i];
    const std::string at = item("fleet_pools", i);
    checks.once(all, fleet.name, at);
    checks.require(!fleet.pools.empty(), at, "needs at least one pool");
    Names seen;
    for (std::size_t p = 0; p < fleet.pools.size(); ++p) {
      const std::string where = item(at + ".pools", p);
      checks.known(pools, fleet.pools[p], where, "pool");
      if (!seen.insert(fleet.pools[p]).second)
        checks.error(where, fmt::format("'{}' is there twice", fleet.pools[p]));
    }
  }
}

class QueueChecks {
 public:
  explicit QueueChecks(Checks& checks) : checks_(checks) {}

  void walk(const std::vector<Queue>& queues, const std::string& path, const Queue* parent) {
    Amounts sum;
    for (std::size_t i = 0; i < queues.size(); ++i) {
      const Queue& queue = queues[i];
      const std::string at = item(path, i);
      checks_.once(names_, queue.name, at);
      check_limits(queue, at);
      if (parent != nullptr) check_below(queue, *parent, at);
      for (const auto& [resource, amount] : queue.guaranteed.of) {
        std::int64_t& total = sum.of[resource];
        total = plus(total, amount);
      }
      walk(queue.queues, at + ".queues", &queue);
    }
    if (parent != nullptr) {
      for (const auto& [resource, amount] : parent->guaranteed.of)
        compare(sum, resource, amount, path, fmt::format("'{}' has", parent->name));
    }
  }
  const Names& names() const { return names_; }

  void compare(const Amounts& sum, const std::string& resource, std::int64_t limit,
               const std::string& path, const std::string& who) {
    const auto found = sum.of.find(resource);
    if (found == sum.of.end() || found->second <= limit) return;
    const model::Scale scale = scale_of(resource);
    checks_.warning(path, fmt::format("guarantees {} {} in all, but {} {}",
                                      model::quantity_text(found->second, scale), resource, who,
                                      model::quantity_text(limit, scale)));
  }

 private:
  static std::optional<std::int64_t> find(const Amounts& amounts, const std::string& resource) {
    const auto found = amounts.of.find(resource);
    return found == amounts.of.end() ? std::nullopt : std::optional(found->second);
  }
  static std::string shown(std::int64_t amount, const std::string& resource) {
    return model::quantity_text(amount, scale_of(resource));
  }
  void check_limits(const Queue& queue, const std::string& path) {
    for (const auto& [resource, guaranteed] : queue.guaranteed.of) {
      if (const auto maximum = find(queue.maximum, resource); maximum && guaranteed > *maximum)
        checks_.error(fmt::format("{}.guaranteed.{}", path, resource),
                      fmt::format("{} is above the maximum of {}", shown(guaranteed, resource),
                                  shown(*maximum, resource)));
    }
    for (const auto& [resource, lend] : queue.lend.of) {
      const std::int64_t guaranteed = find(queue.guaranteed, resource).value_or(0);
      if (lend > guaranteed)
        checks_.error(fmt::format("{}.lend.{}", path, resource),
                      fmt::format("{} is above the guaranteed {}: it has no more to lend",
                                  shown(lend, resource), shown(guaranteed, resource)));
    }
    for (const auto& [resource, borrow] : queue.borrow.of) {
      const auto maximum = find(queue.maximum, resource);
      const std::int64_t guaranteed = find(queue.guaranteed, resource).value_or(0);
      if (maximum && plus(guaranteed, borrow) > *maximum)
        checks_.warning(fmt::format("{}.borrow.{}", path, resource),
                        fmt::format("guaranteed and borrow together are above the maximum of {}",
                                    shown(*maximum, resource)));
    }
  }
  void check_below(const Queue& queue, const Queue& parent, const std::string& path) {
    for (const auto& [resource, maximum] : queue.maximum.of) {
      if (const auto above = find(parent.maximum, resource); above && maximum > *above)
        checks_.warning(fmt::format("{}.maximum.{}", path, resource),
                        fmt::format("{} is above the {} of '{}'", shown(maximum, resource),
                                    shown(*above, resource), parent.name));
    }
    // The lowest guarantee on the way up is the one that counts, for all resources.
    if (queue.guaranteed.of.empty()) return;
    for (const auto& [resource, amount] : parent.guaranteed.of) {
      if (!find(queue.guaranteed, resource))
        checks_.warning(path + ".guaranteed",
                        fmt::format("names no {}, so the {} guaranteed to '{}' do not count for "
                                    "its jobs; say how much of it is theirs",
                                    resource, shown(amount, resource), parent.name));
    }
  }

  Checks& checks_;
  Names names_;
};

/// GPUs in thousandths, in all and by type, as far as the file says them.
Amounts gpus_of(const Config& config) {
  Amounts total;
  const auto add = [&](const std::string& type, std::int64_t gpus) {
    const std::int64_t amount = gpus * 1000;
    const auto weight = config.scheduling.gpu_weights.find(type);
    const bool weighs = weight != config.scheduling.gpu_weights.end();
    std::int64_t& all = total.of["gpu"];
    all = plus(all, weighs ? gpus * weight->second.v : amount);
    std::int64_t& typed = total.of["gpu." + type];
    typed = plus(typed, amount);
  };
  for (const Cluster& cluster : config.clusters) {
    if (cluster.slots) add(cluster.gpu_type.value_or("slot"), *cluster.slots);
    for (const NodeGroup& group : cluster.nodes) {
      for (const auto& [type, count] : group.gpu) add(type, std::int64_t{count} * group.count);
    }
  }
  return total;
}

/// Of a further tree: what it has lent is waited for, not taken back.
void warn_of_guarantees(const std::vector<Queue>& queues, const std::string& path, Checks& checks) {
  for (std::size_t i = 0; i < queues.size(); ++i) {
    const std::string at = item(path, i);
    if (!queues[i].guaranteed.of.empty())
      checks.warning(at + ".guaranteed",
                     "nobody is evicted to give it back: only guarantees of the main tree are "
                     "taken back from others");
    warn_of_guarantees(queues[i].queues, at + ".queues", checks);
  }
}

void check_queues(const Config& config, Checks& checks) {
  QueueChecks queues(checks);
  queues.walk(config.queues, "queues", nullptr);
  const Names main = queues.names();
  Names trees;
  for (std::size_t i = 0; i < config.trees.size(); ++i) {
    const std::string at = item("trees", i);
    checks.once(trees, config.trees[i].name, at);
    queues.walk(config.trees[i].queues, at + ".queues", nullptr);
    warn_of_guarantees(config.trees[i].queues, at + ".queues", checks);
  }
  const std::string& standard = config.defaults.queue;
  if (queues.names().contains(standard) && !main.contains(standard))
    checks.error("defaults.queue", fmt::format("'{}' is not in the main tree", standard));
  const bool are_gpus_known =
      !config.clusters.empty() &&
      std::none_of(config.clusters.begin(), config.clusters.end(),
                   [](const Cluster& cluster) { return cluster.type == ClusterType::Kubernetes; });
  if (!are_gpus_known) return;  // nothing to compare with
  Amounts promised;
  for (const Queue& queue : config.queues) {
    for (const auto& [resource, amount] : queue.guaranteed.of) {
      std::int64_t& total = promised.of[resource];
      total = plus(total, amount);
    }
  }
  const Amounts there = gpus_of(config);
  for (const auto& [resource, amount] : promised.of) {
    if (resource != "gpu" && !resource.starts_with("gpu.")) continue;
    const auto found = there.of.find(resource);
    queues.compare(promised, resource, found == there.of.end() ? 0 : found->second, "queues",
                   "the clusters have");
  }
}

}  // namespace

void check_together(const Config& config, const Node& root, Problems& problems) {
  Checks checks(root, problems);
  check_server(config, checks);
  const Names clusters = check_clusters(config, checks);
  check_sources(config, clusters, checks);
  check_pools(config, clusters, checks);
  check_appwrappers(config, clusters, checks);
  check_queues(config, checks);
}

}  // namespace muster::config
