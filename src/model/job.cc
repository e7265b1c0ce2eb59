#include "model/job.h"

#include <fmt/format.h>

#include <set>
#include <string_view>
#include <utility>

#include "model/host_port.h"

namespace muster::model {
namespace {

__extension__ using Wide = __int128;

constexpr int pods_max = 100'000;
constexpr int gpus_max = 16;
constexpr std::int64_t duration_ms_max = Time::never().ms / 2;

/// Where in the spec we are: a chain on the stack that becomes text only when something is wrong.
class Path {
 public:
  explicit Path(std::string_view name) : name_(name) {}
  Path(const Path& parent, std::string_view name) : parent_(&parent), name_(name) {}
  Path at(std::string_view name) const { return Path(*this, name); }
  Path at(std::size_t index) const {
    Path path(*this, {});
    path.index_ = index;
    return path;
  }
  std::string text() const {
    if (parent_ == nullptr) return std::string(name_);
    if (name_.empty()) return fmt::format("{}[{}]", parent_->text(), index_);
    return fmt::format("{}.{}", parent_->text(), name_);
  }

 private:
  const Path* parent_ = nullptr;
  std::string_view name_;
  std::size_t index_ = 0;
};

/// Keeps the first thing that is wrong.
class Checks {
 public:
  template <typename... Args>
  void require(bool holds, const Path& path, fmt::format_string<Args...> message, Args&&... args) {
    if (holds || !status_) return;
    status_ = invalid(path.text() + ": " + fmt::format(message, std::forward<Args>(args)...));
  }
  void in_range(std::int64_t value, std::int64_t low, std::int64_t high, const Path& path) {
    require(low <= value && value <= high, path, "{} is outside {} to {}", value, low, high);
  }
  void not_empty(std::string_view text, const Path& path) {
    require(!text.empty(), path, "must not be empty");
  }
  void names(const std::vector<std::string>& names, const Path& path) {
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < names.size(); ++i) {
      not_empty(names[i], path.at(i));
      require(seen.insert(names[i]).second, path.at(i), "'{}' is there twice", names[i]);
    }
  }
  void keys(const Labels& labels, const Path& path) {
    require(!labels.contains(""), path, "a label needs a name");
  }
  Status status() const { return status_; }

 private:
  Status status_ = Ok{};
};

void check_requirement(const Requirement& requirement, const Path& path, Checks& checks) {
  checks.not_empty(requirement.key, path.at("key"));
  const std::vector<std::string>& values = requirement.values;
  const Path at = path.at("values");
  switch (requirement.op) {
    case Operator::In:
    case Operator::NotIn:
      checks.require(!values.empty(), at, "{} needs at least one", to_text(requirement.op));
      break;
    case Operator::Exists:
    case Operator::DoesNotExist:
      checks.require(values.empty(), at, "{} takes none", to_text(requirement.op));
      break;
    case Operator::Gt:
    case Operator::Lt:
      checks.require(values.size() == 1 && whole_number(values[0]), at,
                     "{} needs exactly one whole number", to_text(requirement.op));
      break;
  }
}

/// Kubernetes' matchFields.
void check_field(const Requirement& requirement, const Path& path, Checks& checks) {
  checks.require(requirement.key == "metadata.name", path.at("key"),
                 "'{}' is not metadata.name, the only field of a node to match", requirement.key);
  checks.require(requirement.op == Operator::In || requirement.op == Operator::NotIn,
                 path.at("operator"), "{} is not In or NotIn", to_text(requirement.op));
  checks.require(requirement.values.size() == 1, path.at("values"),
                 "a node's name is matched with exactly one value, here are {}",
                 requirement.values.size());
}

void check_term(const NodeTerm& term, const Path& path, Checks& checks) {
  const Path expressions = path.at("expressions");
  for (std::size_t i = 0; i < term.expressions.size(); ++i) {
    check_requirement(term.expressions[i], expressions.at(i), checks);
  }
  const Path fields = path.at("fields");
  for (std::size_t i = 0; i < term.fields.size(); ++i) {
    check_field(term.fields[i], fields.at(i), checks);
  }
}

void check_selector(const LabelSelector& selector, const Path& path, Checks& checks) {
  checks.keys(selector.match_labels, path.at("match_labels"));
  const Path expressions = path.at("expressions");
  for (std::size_t i = 0; i < selector.expressions.size(); ++i) {
    const Requirement& requirement = selector.expressions[i];
    const Path at = expressions.at(i);
    checks.require(requirement.op != Operator::Gt && requirement.op != Operator::Lt,
                   at.at("operator"), "{} selects nodes, not pods", to_text(requirement.op));
    check_requirement(requirement, at, checks);
  }
}

void check_toleration(const Toleration& toleration, const Path& path, Checks& checks) {
  checks.require(!toleration.key.empty() || toleration.exists, path.at("key"),
                 "may be empty only with exists, to tolerate everything");
  checks.require(!toleration.exists || toleration.value.empty(), path.at("value"),
                 "must be empty with exists");
  if (toleration.effect.empty()) return;
  const Result<TaintEffect> effect = parse_effect(toleration.effect, "");
  checks.require(effect.ok(), path.at("effect"),
                 "'{}' is not NoSchedule, PreferNoSchedule or NoExecute", toleration.effect);
}

void check_pod_terms(const std::vector<PodAffinityTerm>& terms, const Path& path, Checks& checks) {
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Path at = path.at(i);
    checks.not_empty(terms[i].topology_key, at.at("topology_key"));
    check_selector(terms[i].selector, at.at("selector"), checks);
  }
}

/// Where the pod may stand: affinity, tolerations, spread, zones.
void check_rules(const PodShape& pod, const Path& path, Checks& checks) {
  checks.keys(pod.node_selector, path.at("node_selector"));
  checks.keys(pod.labels, path.at("labels"));
  const Path required = path.at("required_affinity");
  for (std::size_t i = 0; i < pod.required_affinity.size(); ++i) {
    check_term(pod.required_affinity[i], required.at(i), checks);
  }
  const Path preferred = path.at("preferred_affinity");
  for (std::size_t i = 0; i < pod.preferred_affinity.size(); ++i) {
    const Path at = preferred.at(i);
    checks.in_range(pod.preferred_affinity[i].weight, 1, 100, at.at("weight"));
    check_term(pod.preferred_affinity[i].term, at.at("term"), checks);
  }
  const Path tolerations = path.at("tolerations");
  for (std::size_t i = 0; i < pod.tolerations.size(); ++i) {
    check_toleration(pod.tolerations[i], tolerations.at(i), checks);
  }
  check_pod_terms(pod.pod_affinity, path.at("pod_affinity"), checks);
  check_pod_terms(pod.pod_anti_affinity, path.at("pod_anti_affinity"), checks);
  const Path spread = path.at("spread");
  for (std::size_t i = 0; i < pod.spread.size(); ++i) {
    const Path at = spread.at(i);
    checks.require(pod.spread[i].max_skew >= 1, at.at("max_skew"), "{} is below 1",
                   pod.spread[i].max_skew);
    checks.not_empty(pod.spread[i].topology_key, at.at("topology_key"));
    check_selector(pod.spread[i].selector, at.at("selector"), checks);
  }
  checks.names(pod.volume_zones, path.at("volume_zones"));
}

void check_gpu(const PodShape& pod, const Path& path, Checks& checks) {
  const GpuAsk& gpu = pod.gpu;
  const Path at = path.at("gpu");
  checks.in_range(gpu.count, 0, gpus_max, at.at("count"));
  checks.in_range(gpu.each.v, 1, 1000, at.at("each"));
  checks.in_range(gpu.memory_each.v, 0, amount_max, at.at("memory_each"));
  checks.require(gpu.each.v == 1000 || gpu.count == 1, at.at("each"),
                 "a share of a GPU needs count 1, not {}", gpu.count);
  checks.require(gpu.memory_each.v == 0 || gpu.count == 1, at.at("memory_each"),
                 "a share of a GPU needs count 1, not {}", gpu.count);
  checks.require(gpu.each.v == 1000 || gpu.memory_each.v == 0, at,
                 "a share is given by each or by memory_each, not by both");
  checks.names(pod.gpu_types, path.at("gpu_types"));
}

void check_pod(const PodShape& pod, const Path& path, Checks& checks) {
  const Path requests = path.at("requests");
  checks.in_range(pod.requests.cpu.v, 0, amount_max, requests.at("cpu"));
  checks.in_range(pod.requests.memory.v, 0, amount_max, requests.at("memory"));
  for (const auto& [name, amount] : pod.requests.extended) {
    checks.require(!name.empty(), requests, "a resource needs a name");
    checks.in_range(amount, 1, amount_max, requests.at(name));
  }
  check_gpu(pod, path, checks);
  check_rules(pod, path, checks);
  const Path ports = path.at("host_ports");
  std::set<int> seen;
  for (std::size_t i = 0; i < pod.host_ports.size(); ++i) {
    const int port = pod.host_ports[i];
    checks.require(is_host_port(port), ports.at(i), "{} is outside 1 to 65535", port);
    checks.require(seen.insert(port).second, ports.at(i), "{} is there twice", port);
  }
}

void check_set(const PodSet& set, const Path& path, Checks& checks) {
  checks.in_range(set.count, 1, pods_max, path.at("count"));
  checks.in_range(set.min_count, 0, set.count, path.at("min_count"));
  checks.require(set.pods_per_node >= 0, path.at("pods_per_node"), "{} is below 0",
                 set.pods_per_node);
  check_pod(set.pod, path.at("pod"), checks);
}

/// The whole gang's demand must be an amount too: quota and capacity add it up.
void check_totals(const Gang& gang, Checks& checks) {
  std::map<std::string_view, Wide> totals;
  Wide pods = 0;
  for (const PodSet& set : gang.sets) {
    pods += set.count;
    totals["cpu"] += Wide{set.count} * set.pod.requests.cpu.v;
    totals["memory"] += Wide{set.count} * set.pod.requests.memory.v;
    for (const auto& [name, amount] : set.pod.requests.extended) {
      totals[name] += Wide{set.count} * amount;
    }
  }
  const Path sets("sets");
  checks.require(pods <= pods_max, sets, "more than {} pods in all", pods_max);
  for (const auto& [name, total] : totals) {
    checks.require(total <= amount_max, sets, "{} of all pods together is above {}", name,
                   quantity_text(amount_max, name == "cpu" ? Scale::Milli : Scale::Whole));
  }
}

void check_gang(const Gang& gang, Checks& checks) {
  const Path sets("sets");
  checks.require(!gang.sets.empty(), sets, "a job needs at least one");
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < gang.sets.size(); ++i) {
    const Path at = sets.at(i);
    checks.require(names.insert(gang.sets[i].name).second, at.at("name"), "'{}' is there twice",
                   gang.sets[i].name);
    check_set(gang.sets[i], at, checks);
  }
  check_totals(gang, checks);
  if (gang.topology) checks.not_empty(gang.topology->key, Path("topology").at("key"));

  const Path excluded("excluded_clusters");
  checks.names(gang.clusters, Path("clusters"));
  checks.names(gang.excluded_clusters, excluded);
  checks.names(gang.kinds, Path("kinds"));
  const std::set<std::string_view> pinned(gang.clusters.begin(), gang.clusters.end());
  for (std::size_t i = 0; i < gang.excluded_clusters.size(); ++i) {
    checks.require(!pinned.contains(gang.excluded_clusters[i]), excluded.at(i),
                   "'{}' is in clusters too", gang.excluded_clusters[i]);
  }
  checks.in_range(gang.min_runtime.ms, 0, duration_ms_max, Path("min_runtime"));
  checks.require(gang.max_retries >= 0, Path("max_retries"), "{} is below 0", gang.max_retries);
}

}  // namespace

Status validate(const JobSpec& spec) {
  Checks checks;
  checks.not_empty(spec.id, Path("id"));
  checks.not_empty(spec.queue, Path("queue"));
  const Path extra("extra_queues");
  checks.names(spec.extra_queues, extra);
  for (std::size_t i = 0; i < spec.extra_queues.size(); ++i) {
    checks.require(spec.extra_queues[i] != spec.queue, extra.at(i), "'{}' is the job's queue",
                   spec.queue);
  }
  checks.in_range(spec.priority, priority_min, priority_max, Path("priority"));
  checks.in_range(spec.run_limit.ms, 0, duration_ms_max, Path("run_limit"));
  checks.in_range(spec.start_after.ms, 0, Time::never().ms, Path("start_after"));
  checks.in_range(spec.deadline.ms, 0, Time::never().ms, Path("deadline"));
  checks.require(spec.start_after <= spec.deadline, Path("deadline"), "is before start_after");
  const Path depends("depends_on");
  checks.names(spec.depends_on, depends);
  for (std::size_t i = 0; i < spec.depends_on.size(); ++i) {
    checks.require(spec.depends_on[i] != spec.id, depends.at(i), "a job cannot wait for itself");
  }
  check_gang(spec.gang, checks);
  return checks.status();
}

}  // namespace muster::model
