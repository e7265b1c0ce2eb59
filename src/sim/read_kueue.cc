// Kueue's performance generator: cohorts of queues that receive classes of workloads.
#include "sim/read_kueue.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace muster::sim {
namespace {

/// Thrown inside this file only; read_kueue turns it into an Error.
struct Wrong {
  int line;
  std::string what;
};

int line_of(const YAML::Node& node) { return node.Mark().line + 1; }

constexpr std::size_t levels_most = 16;
constexpr std::int64_t pods_most = 100'000;  // of a gang, as model::validate has it

using Keys = std::vector<std::string_view>;

/// Nothing in the file is passed over: a key is one of these, or one that is known and refused.
void only(const YAML::Node& map, const Keys& known, const Keys& refused = {}) {
  if (!map.IsMap()) throw Wrong{line_of(map), "expected a map"};
  for (const auto& member : map) {
    const std::string key = member.first.IsScalar() ? member.first.Scalar() : "";
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    if (std::find(refused.begin(), refused.end(), key) != refused.end())
      throw Wrong{line_of(member.first),
                  fmt::format("{}: devices of DRA are not simulated; leave them out", key)};
    const std::string near = nearest(key.substr(0, 100), known);
    throw Wrong{line_of(member.first),
                fmt::format("`{}` is not known{}", key,
                            near.empty() ? "" : fmt::format("; did you mean `{}`?", near))};
  }
}

std::string text_of(const YAML::Node& map, const char* key) {
  const YAML::Node value = map[key];
  if (!value || value.IsNull()) return {};
  if (!value.IsScalar()) throw Wrong{line_of(value), fmt::format("{}: not a text", key)};
  return value.Scalar();
}

/// Preemption is not a choice of a queue here: another value than what Muster does is refused.
void only_as(const YAML::Node& map, const char* key, const Keys& same) {
  const std::string value = text_of(map, key);
  if (value.empty() || std::find(same.begin(), same.end(), value) != same.end()) return;
  throw Wrong{line_of(map[key]),
              fmt::format("{}: '{}' cannot be simulated; Muster does what {} says", key, value,
                          same.front())};
}

class Reader {
 public:
  Reader(Workload& workload, const ReadLimits& limits) : w_(workload), limits_(limits) {}

  void read(const YAML::Node& root) {
    if (root.IsMap() && root["cohorts"]) {
      only(root, {"cohorts", "topology", "resourceFlavor"}, {"dra"});
      if (root["topology"]) read_topology(root["topology"]);
      if (root["resourceFlavor"])  // there is one only: every node is of it
        only(root["resourceFlavor"], {"name", "nodeLabel", "topologyName"});
    }
    const YAML::Node cohorts = root.IsMap() && root["cohorts"] ? root["cohorts"] : root;
    if (!cohorts.IsSequence())
      throw Wrong{1, "expected `cohorts:` with a list, as in Kueue's generator.yaml"};
    for (const YAML::Node& cohort : cohorts) read_cohorts(cohort);
    if (w_.jobs.empty()) throw Wrong{1, "no workloads: every queue set needs `workloadsSets`"};
    std::sort(w_.jobs.begin(), w_.jobs.end(), [](const SimJob& a, const SimJob& b) {
      if (a.submit != b.submit) return a.submit < b.submit;
      return a.spec.id < b.spec.id;
    });
    if (!w_.machines.empty()) return;
    // Kueue's test has quota and no nodes: one machine as large as the quota says the same.
    model::NodeSpec node;
    node.name = "quota";
    node.allocatable.cpu = {quota_};
    node.pods_max = 1'000'000;
    w_.machines.push_back({"simulated", std::move(node)});
  }

 private:
  static std::int64_t number(const YAML::Node& map, const char* key, std::int64_t low) {
    const YAML::Node value = map[key];
    if (!value) throw Wrong{line_of(map), fmt::format("`{}` is missing", key)};
    if (!value.IsScalar()) throw Wrong{line_of(value), fmt::format("{}: not a number", key)};
    const auto parsed = parse_int(value.Scalar(), key, low, 1'000'000'000);
    if (!parsed) throw Wrong{line_of(value), parsed.error().message};
    return *parsed;
  }
  static std::int64_t quantity(const YAML::Node& map, const char* key,
                               model::Scale scale = model::Scale::Milli) {
    const YAML::Node value = map[key];
    if (!value || !value.IsScalar()) throw Wrong{line_of(map), fmt::format("`{}` is missing", key)};
    const auto parsed = model::parse_quantity(value.Scalar(), key, scale);
    if (!parsed) throw Wrong{line_of(value), parsed.error().message};
    return *parsed;
  }
  static std::string name(const YAML::Node& map) {
    const YAML::Node value = map["className"];
    if (!value || !value.IsScalar() || value.Scalar().empty())
      throw Wrong{line_of(map), "`className` is missing"};
    return value.Scalar();
  }
  /// Two classes of one name in one place would be the same queue or job.
  static void once(std::set<std::string>& names, const std::string& made, const YAML::Node& map) {
    if (!names.insert(made).second)
      throw Wrong{line_of(map), fmt::format("className: '{}' is there twice", made)};
  }
  void add_queue(model::QueueSpec queue, const YAML::Node& map) {
    once(queue_names_, queue.name, map);
    if (w_.queues.size() >= limits_.queues)
      throw Wrong{line_of(map), fmt::format("more than {} queues in all", limits_.queues)};
    w_.queues.push_back(std::move(queue));
  }
  static YAML::Node list(const YAML::Node& map, const char* key) {
    if (!map.IsMap()) throw Wrong{line_of(map), "expected a map"};
    const YAML::Node value = map[key];
    if (!value || !value.IsSequence())
      throw Wrong{line_of(map), fmt::format("`{}` is missing or not a list", key)};
    return value;
  }

  void read_topology(const YAML::Node& spec) {
    only(spec, {"name", "levels"});
    const YAML::Node levels = list(spec, "levels");
    model::NodeSpec node;
    node.allocatable.cpu = {96'000};  // Kueue's own, where the file does not say
    node.allocatable.memory = {std::int64_t{256} << 30};
    node.pods_max = 110;
    for (const YAML::Node& level : levels) {
      only(level, {"name", "count", "nodeLabel", "capacity"});
      if (text_of(level, "name").empty() || text_of(level, "nodeLabel").empty())
        throw Wrong{line_of(level), "a level needs `name` and `nodeLabel`"};
      number(level, "count", 1);
      level_keys_.push_back(text_of(level, "nodeLabel"));
      const YAML::Node capacity = level["capacity"];
      if (!capacity) continue;
      only(capacity, {"cpu", "memory"});
      if (capacity["cpu"]) node.allocatable.cpu = {quantity(capacity, "cpu")};
      if (capacity["memory"])
        node.allocatable.memory = {quantity(capacity, "memory", model::Scale::Whole)};
    }
    if (level_keys_.empty() || level_keys_.size() > levels_most)
      throw Wrong{line_of(levels), fmt::format("levels: 1 to {} are allowed", levels_most)};
    add_nodes(levels, 0, "", node);
  }

  /// A rack's value has its block's in it: racks of two blocks that are called alike are two racks.
  void add_nodes(const YAML::Node& levels, std::size_t depth, const std::string& above,
                 const model::NodeSpec& so_far) {
    if (depth == level_keys_.size()) {
      if (w_.machines.size() >= limits_.machines)
        throw Wrong{line_of(levels), fmt::format("more than {} nodes in all", limits_.machines)};
      model::NodeSpec node = so_far;
      node.name = above;
      w_.machines.push_back({"simulated", std::move(node)});
      return;
    }
    const std::int64_t count = number(levels[depth], "count", 1);
    for (std::int64_t i = 0; i < count; ++i) {
      model::NodeSpec node = so_far;
      const std::string value = fmt::format("{}{}{}-{}", above, above.empty() ? "" : ".",
                                            text_of(levels[depth], "name"), i);
      node.labels[level_keys_[depth]] = value;
      add_nodes(levels, depth + 1, value, node);
    }
  }

  void read_cohorts(const YAML::Node& spec) {
    only(spec, {"className", "count", "queuesSets"});
    const YAML::Node sets = list(spec, "queuesSets");
    const std::int64_t count = number(spec, "count", 1);
    for (std::int64_t c = 0; c < count; ++c) {
      model::QueueSpec cohort;
      cohort.name = fmt::format("{}-{}", name(spec), c);
      const std::size_t at = w_.queues.size();
      add_queue(cohort, spec);
      std::int64_t total = 0;
      for (const YAML::Node& set : sets) {
        total += read_queues(set, cohort.name);
        if (quota_ + total > model::amount_max)
          throw Wrong{line_of(set), "nominalQuota: too much over all queues"};
      }
      w_.queues[at].limits["cpu"].maximum = total;  // nothing to borrow from other cohorts
      quota_ += total;
    }
  }

  std::int64_t read_queues(const YAML::Node& spec, const std::string& cohort) {
    only(spec,
         {"className", "count", "nominalQuota", "borrowingLimit", "reclaimWithinCohort",
          "withinClusterQueue", "workloadsSets"},
         {"deviceNominalQuota", "deviceBorrowingLimit"});
    only_as(spec, "reclaimWithinCohort", {"Any"});
    only_as(spec, "withinClusterQueue", {"LowerPriority"});
    const YAML::Node sets = list(spec, "workloadsSets");
    const std::int64_t count = number(spec, "count", 1);
    const std::int64_t nominal = quantity(spec, "nominalQuota");
    if (count > model::amount_max / std::max<std::int64_t>(nominal, 1))
      throw Wrong{line_of(spec), "nominalQuota: too much over all queues"};
    for (std::int64_t q = 0; q < count; ++q) {
      model::QueueSpec queue;
      queue.name = fmt::format("{}-{}-{}", cohort, name(spec), q);
      queue.parent = cohort;
      queue.strategy = model::Strategy::SkipAhead;  // Kueue's BestEffortFIFO
      queue.limits["cpu"].guaranteed = nominal;
      if (spec["borrowingLimit"]) queue.limits["cpu"].borrow = quantity(spec, "borrowingLimit");
      add_queue(queue, spec);
      for (const YAML::Node& set : sets) read_workloads(set, queue.name);
    }
    return nominal * count;
  }

  /// All pods under one value of a label, wanted or wished.
  std::optional<model::TopologyDomain> domain_of(const YAML::Node& kind) const {
    const std::string constraint = text_of(kind, "tasConstraint");
    const std::string level = text_of(kind, "tasLevel");
    if (constraint.empty() && level.empty()) return std::nullopt;
    if (constraint != "required" && constraint != "preferred")
      throw Wrong{line_of(kind),
                  fmt::format("tasConstraint: '{}' cannot be simulated, only required and "
                              "preferred: a gang has one domain, not one a slice",
                              constraint)};
    if (std::find(level_keys_.begin(), level_keys_.end(), level) == level_keys_.end())
      throw Wrong{line_of(kind),
                  fmt::format("tasLevel: '{}' is no nodeLabel of a level in `topology`", level)};
    return model::TopologyDomain{level, constraint == "required"};
  }

  model::Gang gang_of(const YAML::Node& kind) const {
    only(kind,
         {"className", "runtimeMs", "priority", "request", "podCount", "tasConstraint", "tasLevel",
          "sliceSize"},
         {"devices"});
    model::Gang gang;
    model::PodSet pods;
    pods.name = "main";
    pods.pod.requests.cpu = {quantity(kind, "request")};
    if (kind["podCount"]) {
      const std::int64_t count = number(kind, "podCount", 0);
      if (count > pods_most)
        throw Wrong{line_of(kind["podCount"]), fmt::format("podCount: more than {}", pods_most)};
      pods.count = static_cast<int>(std::max<std::int64_t>(1, count));
    }
    gang.sets.push_back(std::move(pods));
    gang.topology = domain_of(kind);
    if (kind["sliceSize"] && number(kind, "sliceSize", 0) > 0)
      throw Wrong{line_of(kind["sliceSize"]), "sliceSize: slices of a gang cannot be simulated"};
    return gang;
  }

  void read_workloads(const YAML::Node& spec, const std::string& queue) {
    only(spec, {"count", "creationIntervalMs", "workloads"});
    const YAML::Node kinds = list(spec, "workloads");
    const std::int64_t count = number(spec, "count", 1);
    const std::int64_t interval_ms = number(spec, "creationIntervalMs", 0);
    for (const YAML::Node& kind : kinds) {
      const model::Gang gang = gang_of(kind);
      const std::int64_t run_ms = number(kind, "runtimeMs", 0);
      const std::int64_t priority = number(kind, "priority", model::priority_min);
      const std::string class_name = name(kind);
      if (static_cast<std::size_t>(count) > limits_.jobs - w_.jobs.size())
        throw Wrong{line_of(spec), fmt::format("more than {} workloads in all", limits_.jobs)};
      for (std::int64_t i = 0; i < count; ++i) {
        SimJob job;
        job.spec.id = fmt::format("{}-{}-{}", queue, class_name, i);
        once(job_ids_, job.spec.id, kind);
        job.spec.name = class_name;
        job.spec.user = "kueue";
        job.spec.queue = queue;
        job.spec.priority = static_cast<int>(priority);
        job.submit = Time{i * interval_ms};
        job.run_time = Duration{run_ms};
        job.spec.gang = gang;
        w_.jobs.push_back(std::move(job));
      }
    }
  }

  Workload& w_;
  const ReadLimits& limits_;
  std::set<std::string> queue_names_;
  std::set<std::string> job_ids_;
  std::vector<std::string> level_keys_;  // labels of the topology, widest first
  std::int64_t quota_ = 0;
};

constexpr const char* baseline = R"(
cohorts:
- className: cohort
  count: 5
  queuesSets:
  - className: cq
    count: 6
    nominalQuota: 20
    borrowingLimit: 100
    workloadsSets:
    - count: 350
      creationIntervalMs: 100
      workloads: [{className: small, runtimeMs: 200, priority: 50, request: 1}]
    - count: 100
      creationIntervalMs: 500
      workloads: [{className: medium, runtimeMs: 500, priority: 100, request: 5}]
    - count: 50
      creationIntervalMs: 1200
      workloads: [{className: large, runtimeMs: 1000, priority: 200, request: 20}]
)";

}  // namespace

Result<Workload> read_kueue(const std::string& text, const std::string& source,
                            const ReadLimits& limits) {
  Workload w;
  w.name = source;
  w.clusters.push_back({"simulated", {}, {}, minutes(5)});
  w.timing = {milliseconds(1), milliseconds(1), milliseconds(1), milliseconds(1)};
  try {
    Reader(w, limits).read(YAML::Load(text));
  } catch (const Wrong& wrong) {
    return invalid(fmt::format("{}:{}: {}", source, wrong.line, wrong.what));
  } catch (const YAML::Exception& error) {
    return invalid(fmt::format("{}:{}: {}", source, error.mark.line + 1, error.msg));
  }
  return w;
}

Workload kueue_workload() {
  Result<Workload> w = read_kueue(baseline, "kueue");
  MUSTER_CHECK(w.ok(), "{}", w.error().message);
  return std::move(*w);
}

}  // namespace muster::sim
