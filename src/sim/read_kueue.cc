// Kueue's performance generator: cohorts of queues that receive classes of workloads.
#include "sim/read_kueue.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>

#include "base/text.h"

namespace muster::sim {
namespace {

/// Thrown inside this file only; read_kueue turns it into an Error.
struct Wrong {
  int line;
  std::string what;
};

int line_of(const YAML::Node& node) { return node.Mark().line + 1; }

class Reader {
 public:
  Reader(Workload& workload, const ReadLimits& limits) : w_(workload), limits_(limits) {}

  void read(const YAML::Node& root) {
    const YAML::Node cohorts = root.IsMap() && root["cohorts"] ? root["cohorts"] : root;
    if (!cohorts.IsSequence())
      throw Wrong{1, "expected `cohorts:` with a list, as in Kueue's generator.yaml"};
    for (const YAML::Node& cohort : cohorts) read_cohorts(cohort);
    if (w_.jobs.empty()) throw Wrong{1, "no workloads: every queue set needs `workloadsSets`"};
    std::sort(w_.jobs.begin(), w_.jobs.end(), [](const SimJob& a, const SimJob& b) {
      if (a.submit != b.submit) return a.submit < b.submit;
      return a.spec.id < b.spec.id;
    });
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
  static std::int64_t quantity(const YAML::Node& map, const char* key) {
    const YAML::Node value = map[key];
    if (!value || !value.IsScalar()) throw Wrong{line_of(map), fmt::format("`{}` is missing", key)};
    const auto parsed = model::parse_quantity(value.Scalar(), key, model::Scale::Milli);
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

  void read_cohorts(const YAML::Node& spec) {
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

  void read_workloads(const YAML::Node& spec, const std::string& queue) {
    const YAML::Node kinds = list(spec, "workloads");
    const std::int64_t count = number(spec, "count", 1);
    const std::int64_t interval_ms = number(spec, "creationIntervalMs", 0);
    for (const YAML::Node& kind : kinds) {
      const std::int64_t cpu = quantity(kind, "request");
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
        model::PodSet pods;
        pods.name = "main";
        pods.pod.requests.cpu = {cpu};
        job.spec.gang.sets.push_back(std::move(pods));
        w_.jobs.push_back(std::move(job));
      }
    }
  }

  Workload& w_;
  const ReadLimits& limits_;
  std::set<std::string> queue_names_;
  std::set<std::string> job_ids_;
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
