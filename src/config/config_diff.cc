#include "config/config_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "config/config_fields.h"

namespace muster::config {
namespace {

/// A queue by itself, apart from those below it.
struct Flat {
  Queue own;
  std::string parent;
  std::string tree;
  friend bool operator==(const Flat&, const Flat&) = default;
};

void flatten(const std::vector<Queue>& queues, const std::string& parent, const std::string& tree,
             std::map<std::string, Flat>& out) {
  for (const Queue& queue : queues) {
    Queue own = queue;
    own.queues.clear();
    out.emplace(queue.name, Flat{std::move(own), parent, tree});
    flatten(queue.queues, queue.name, tree, out);
  }
}

std::map<std::string, Flat> flatten(const Config& config) {
  std::map<std::string, Flat> out;
  flatten(config.queues, "", "", out);
  for (const QueueTree& tree : config.trees) flatten(tree.queues, "", tree.name, out);
  Queue standard;
  standard.name = config.defaults.queue;
  if (!standard.name.empty()) out.emplace(standard.name, Flat{standard, "", ""});
  return out;
}

std::string shown(const Node* node) {
  if (node == nullptr) return "(not set)";
  if (node->is_scalar()) return node->text.empty() ? "''" : std::string(node->text);
  std::string text = to_json(*node, JsonStyle::Compact);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text;
}

std::string shown_whole(const Node* node) { return node == nullptr ? "" : to_json(*node); }

/// The leaves that differ, as "key old -> new"; of secrets only that they do.
void compare(const Node& before, const Node& after, const std::string& prefix,
             std::vector<std::string>& out) {
  std::vector<std::string_view> keys;
  for (const Member& member : before.members()) keys.push_back(member.key);
  for (const Member& member : after.members()) {
    if (before.find(member.key) == nullptr) keys.push_back(member.key);
  }
  for (const std::string_view key : keys) {
    const Node* a = before.find(key);
    const Node* b = after.find(key);
    const bool maps =
        a != nullptr && b != nullptr && a->kind == Node::Kind::Map && b->kind == Node::Kind::Map;
    if (maps) {
      compare(*a, *b, fmt::format("{}{}.", prefix, key), out);
    } else if (key == "kubeconfig_inline") {
      if (shown_whole(a) != shown_whole(b)) out.push_back(fmt::format("{}{} changes", prefix, key));
    } else if (shown(a) != shown(b) ||
               (a != nullptr && b != nullptr && to_json(*a) != to_json(*b))) {
      out.push_back(fmt::format("{}{} {} -> {}", prefix, key, shown(a), shown(b)));
    }
  }
}

template <typename T>
std::vector<std::string> changes(const T& before, const T& after) {
  Tree tree;
  Writer writer{tree, true};
  std::vector<std::string> out;
  compare(Codec<T>::write(writer, before, {}), Codec<T>::write(writer, after, {}), "", out);
  return out;
}

template <typename T>
std::map<std::string, const T*> by_name(const std::vector<T>& items) {
  std::map<std::string, const T*> out;
  for (const T& item : items) out.emplace(item.name, &item);
  return out;
}

class Differ {
 public:
  Differ(const Config& before, const Config& after) : before_(before), after_(after) {}

  Diff run() {
    sections();
    clusters();
    pools();
    queues();
    for (std::string& gone : diff_.clusters_removed)
      diff_.events.emplace_back(model::ClusterLeft{gone});
    return std::move(diff_);
  }

 private:
  void line(std::string text) { diff_.lines.push_back(std::move(text)); }
  void needs_restart(std::string text) {
    text += " (after a restart)";
    diff_.restart.push_back(text);
    line(std::move(text));
  }

  void sections() {
    // Only the keys of the top that are no lists of named things.
    const auto server = [](const Config& config) {
      Config top;
      top.data_dir = config.data_dir;
      top.listen = config.listen;
      top.tls = config.tls;
      top.store = without_secrets(config).store;
      top.gpu_aliases = config.gpu_aliases;
      top.appwrappers = config.appwrappers;
      return top;
    };
    for (std::string& text : changes(server(before_), server(after_)))
      needs_restart(std::move(text));
    if (before_.store != after_.store && server(before_).store == server(after_).store)
      needs_restart("store.postgres has another password");
    const auto joining = [](const Config& config) {
      Config top;
      top.cluster_sources = config.cluster_sources;
      top.exec_plugins = config.exec_plugins;
      return top;
    };
    for (std::string& text : changes(joining(before_), joining(after_))) line(std::move(text));
    sources();
    section("scheduling", before_.scheduling, after_.scheduling, {"start_retry_pause"});
    section("retention", before_.retention, after_.retention);
    section("limits", before_.limits, after_.limits,
            {"inbox", "batch", "request_bytes", "connections"});
    section("log", before_.log, after_.log, {"format"});
    section("defaults", before_.defaults, after_.defaults);
    diff_.policy = before_.scheduling != after_.scheduling;
  }
  void sources() {
    for (const ClusterSource& now : after_.cluster_sources) {
      const bool moves = std::any_of(
          before_.cluster_sources.begin(), before_.cluster_sources.end(),
          [&](const ClusterSource& old) {
            return old.directory == now.directory && old.secrets == now.secrets &&
                   old.profiles == now.profiles &&
                   (old.kube_namespace != now.kube_namespace || old.namespaces != now.namespaces);
          });
      if (moves) needs_restart("cluster_sources: namespaces of clusters that were found already");
    }
  }
  /// `fixed`: keys that hold from the start of the server to its end.
  template <typename T>
  void section(std::string_view name, const T& before, const T& after,
               const std::vector<std::string_view>& fixed = {}) {
    for (const std::string& change : changes(before, after)) {
      const std::string_view key = std::string_view(change).substr(0, change.find(' '));
      std::string text = fmt::format("{}.{}", name, change);
      if (std::find(fixed.begin(), fixed.end(), key) != fixed.end()) {
        needs_restart(std::move(text));
      } else {
        line(std::move(text));
      }
    }
  }

  /// Of a Kubernetes cluster that is open: where its jobs are. How it is reached and what its pods
  /// are made of may change, and all of the others.
  static bool is_fixed(std::string_view change) {
    constexpr std::array<std::string_view, 3> keys = {"type ", "namespace ", "namespaces "};
    return std::any_of(keys.begin(), keys.end(),
                       [&](std::string_view key) { return change.starts_with(key); });
  }

  void clusters() {
    const auto old = by_name(before_.clusters);
    const auto now = by_name(after_.clusters);
    for (const auto& [name, cluster] : old) {
      if (now.contains(name)) continue;
      diff_.clusters_removed.push_back(name);
      line(fmt::format("cluster {}: takes no new jobs and leaves when its last one has ended",
                       name));
    }
    const std::vector<model::ClusterSpec> specs = cluster_specs(after_);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const Cluster& cluster = after_.clusters[i];
      const auto known = old.find(cluster.name);
      if (known == old.end()) {
        diff_.clusters_added.push_back(cluster.name);
        line(fmt::format("cluster {}: joins", cluster.name));
      } else if (*known->second == cluster) {
        continue;
      } else {
        diff_.clusters_changed.push_back(cluster.name);
        for (const std::string& change : changes(*known->second, cluster)) {
          std::string text = fmt::format("cluster {}: {}", cluster.name, change);
          if (is_fixed(change))
            needs_restart(std::move(text));
          else
            line(std::move(text));
        }
      }
      diff_.events.emplace_back(model::ClusterSet{specs[i]});
    }
  }

  /// A pool that is no more becomes a slice of nothing: jobs sent there wait and say so.
  void pools() {
    const auto old = by_name(before_.pools);
    const auto now = by_name(after_.pools);
    const std::vector<model::PoolSpec> specs = pool_specs(after_);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (!differs("pool", old, after_.pools[i])) continue;
      const auto known = old.find(after_.pools[i].name);
      // Of a cluster that is open; see cluster_part.h. One that is new there has its own at once.
      const bool moves = known != old.end() && known->second->cluster == after_.pools[i].cluster &&
                         known->second->kube_namespace != after_.pools[i].kube_namespace;
      if (moves) needs_restart(fmt::format("pool {}: namespace", after_.pools[i].name));
      diff_.events.emplace_back(model::PoolSet{specs[i]});
    }
    for (const auto& [name, pool] : old) {
      if (now.contains(name)) continue;
      diff_.pools.push_back(name);
      line(fmt::format("pool {}: is removed; jobs sent there wait", name));
      diff_.events.emplace_back(model::PoolSet{{name, "", {}, {}}});
    }
    const auto old_fleet = by_name(before_.fleet_pools);
    const auto now_fleet = by_name(after_.fleet_pools);
    const std::vector<model::FleetPoolSpec> fleet = fleet_pool_specs(after_);
    for (std::size_t i = 0; i < fleet.size(); ++i) {
      if (differs("fleet pool", old_fleet, after_.fleet_pools[i]))
        diff_.events.emplace_back(model::FleetPoolSet{fleet[i]});
    }
    for (const auto& [name, pool] : old_fleet) {
      if (now_fleet.contains(name)) continue;
      diff_.pools.push_back(name);
      line(fmt::format("fleet pool {}: is removed; jobs sent there wait", name));
      diff_.events.emplace_back(model::FleetPoolSet{{name, {}}});
    }
  }
  /// A pool, or a fleet pool.
  template <typename T>
  bool differs(std::string_view kind, const std::map<std::string, const T*>& old, const T& now) {
    const auto known = old.find(now.name);
    if (known == old.end()) {
      line(fmt::format("{} {}: is new", kind, now.name));
      return true;
    }
    if (*known->second == now) return false;
    diff_.pools.push_back(now.name);
    for (const std::string& change : changes(*known->second, now))
      line(fmt::format("{} {}: {}", kind, now.name, change));
    return true;
  }

  void queues() {
    const std::map<std::string, Flat> old = flatten(before_);
    const std::map<std::string, Flat> now = flatten(after_);
    for (const model::QueueSpec& spec : queue_specs(after_)) {  // parents first
      const Flat& flat = now.at(spec.name);
      const auto known = old.find(spec.name);
      if (known != old.end() && known->second == flat) continue;
      diff_.queues.push_back(spec.name);
      diff_.events.emplace_back(model::QueueSet{spec});
      if (known == old.end()) {
        line(spec.parent.empty()
                 ? fmt::format("queue {}: is new", spec.name)
                 : fmt::format("queue {}: is new, below {}", spec.name, spec.parent));
        continue;
      }
      if (known->second.parent != flat.parent || known->second.tree != flat.tree)
        line(fmt::format("queue {}: moves from {} to {}", spec.name, above(known->second),
                         above(flat)));
      for (const std::string& change : changes(known->second.own, flat.own))
        line(fmt::format("queue {}: {}", spec.name, change));
    }
    std::vector<model::QueueSpec> removed = queue_specs(before_);
    std::reverse(removed.begin(), removed.end());  // children first
    for (const model::QueueSpec& spec : removed) {
      if (now.contains(spec.name)) continue;
      diff_.queues.push_back(spec.name);
      diff_.events.emplace_back(model::QueueRemoved{spec.name});
      line(fmt::format("queue {}: is removed; its jobs wait until they are moved", spec.name));
    }
  }
  static std::string above(const Flat& flat) {
    if (!flat.parent.empty()) return flat.parent;
    return flat.tree.empty() ? "the top" : "the top of " + flat.tree;
  }

  const Config& before_;
  const Config& after_;
  Diff diff_;
};

}  // namespace

Diff diff(const Config& before, const Config& after) { return Differ(before, after).run(); }

std::vector<model::EventBody> events_of(const Config& config) {
  Config nothing;
  nothing.defaults.queue.clear();  // so that the default queue is new
  return diff(nothing, config).events;
}

}  // namespace muster::config
