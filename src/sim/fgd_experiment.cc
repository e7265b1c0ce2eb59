#include "sim/fgd_experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "base/prng.h"
#include "base/text.h"
#include "base/time.h"
#include "sched/plan.h"
#include "sched/world.h"

namespace muster::sim {
namespace {

constexpr std::string_view cluster_name = "openb";
constexpr std::string_view queue_name = "all";
constexpr std::int64_t mib = std::int64_t{1} << 20;
/// The shapes of the list count this many times more than the arrivals that JobSubmitted adds.
constexpr std::int64_t known_weight = 1'000;

/// A CSV text without quotes: the first line names the columns.
class Table {
 public:
  Table(std::string_view text, std::string_view what) : what_(what) {
    for (const std::string_view raw : split(text, '\n')) {
      const std::string_view line = trim(raw);
      if (!line.empty()) lines_.push_back(line);
    }
    if (!lines_.empty()) columns_ = split(lines_.front(), ',');
  }
  std::size_t rows() const { return lines_.empty() ? 0 : lines_.size() - 1; }
  void go_to(std::size_t row) {
    row_ = row;
    cells_ = split(lines_[row + 1], ',');
  }
  /// Empty when the table has no such column.
  std::string_view text(std::string_view column) const {
    const auto it = std::find(columns_.begin(), columns_.end(), column);
    const auto at = static_cast<std::size_t>(it - columns_.begin());
    return at < cells_.size() ? cells_[at] : std::string_view();
  }
  Result<std::int64_t> number(std::string_view column, std::int64_t high) const {
    return parse_int(text(column), fmt::format("{} line {}: {}", what_, row_ + 2, column), 0, high);
  }

 private:
  std::string what_;
  std::vector<std::string_view> lines_;
  std::vector<std::string_view> columns_;
  std::vector<std::string_view> cells_;
  std::size_t row_ = 0;
};

constexpr std::int64_t milli_max = 1'000'000'000;
constexpr std::int64_t mib_max = 1'000'000'000;

Result<model::NodeSpec> node_of(const Table& table) {
  model::NodeSpec node;
  node.name = table.text("sn");
  const auto cpu = table.number("cpu_milli", milli_max);
  if (!cpu) return cpu.error();
  const auto memory = table.number("memory_mib", mib_max);
  if (!memory) return memory.error();
  const auto gpus = table.number("gpu", 16);
  if (!gpus) return gpus.error();
  node.allocatable.cpu.v = *cpu;
  node.allocatable.memory.v = *memory * mib;
  node.gpu_count = static_cast<int>(*gpus);
  node.gpu_type = table.text("model");
  node.pods_max = 1'000;  // the experiment knows no limit of pods
  return node;
}

Result<model::Gang> gang_of(const Table& table) {
  model::PodSet set;
  set.name = "pod";
  const auto cpu = table.number("cpu_milli", milli_max);
  if (!cpu) return cpu.error();
  const auto memory = table.number("memory_mib", mib_max);
  if (!memory) return memory.error();
  const auto gpus = table.number("num_gpu", 16);
  if (!gpus) return gpus.error();
  set.pod.requests.cpu.v = *cpu;
  set.pod.requests.memory.v = *memory * mib;
  set.pod.gpu.count = static_cast<int>(*gpus);
  if (*gpus > 0) {
    const auto each = table.number("gpu_milli", 1000);
    if (!each) return each.error();
    set.pod.gpu.each.v = *each;
  }
  for (const std::string_view type : split(table.text("gpu_spec"), '|')) {
    if (!type.empty() && *gpus > 0) set.pod.gpu_types.emplace_back(type);
  }
  model::Gang gang;
  gang.sets.push_back(std::move(set));
  return gang;
}

std::int64_t gpu_milli(const model::Gang& gang) {
  const model::GpuAsk& gpu = gang.sets.front().pod.gpu;
  return gpu.count * gpu.each.v;
}

}  // namespace

Result<FgdTrace> read_fgd_trace(const std::string& nodes_csv, const std::string& pods_csv) {
  FgdTrace trace;
  Table nodes(nodes_csv, "nodes");
  for (std::size_t row = 0; row < nodes.rows(); ++row) {
    nodes.go_to(row);
    auto node = node_of(nodes);
    if (!node) return node.error();
    trace.capacity_milli += node->gpu_count * std::int64_t{1000};
    trace.nodes.push_back(std::move(*node));
  }
  if (trace.capacity_milli == 0) return invalid("nodes: the list has no GPU");
  using Key = std::tuple<std::int64_t, std::int64_t, int, std::int64_t, std::vector<std::string>>;
  std::map<Key, std::uint32_t> known;
  Table pods(pods_csv, "pods");
  for (std::size_t row = 0; row < pods.rows(); ++row) {
    pods.go_to(row);
    auto gang = gang_of(pods);
    if (!gang) return gang.error();
    const model::PodShape& pod = gang->sets.front().pod;
    const Key key{pod.requests.cpu.v, pod.requests.memory.v, pod.gpu.count, pod.gpu.each.v,
                  pod.gpu_types};
    const auto next = static_cast<std::uint32_t>(trace.gangs.size());
    const auto [it, is_new] = known.emplace(key, next);
    if (is_new) {
      trace.gangs.push_back(std::move(*gang));
      trace.count.push_back(0);
    }
    ++trace.count[it->second];
    trace.pods.push_back(it->second);
  }
  if (trace.pods.empty()) return invalid("pods: the list is empty");
  return trace;
}

std::vector<std::uint32_t> arrivals(const FgdTrace& trace, std::uint64_t seed) {
  Prng prng(seed);
  std::vector<std::uint32_t> list = trace.pods;
  const auto milli_of = [&](std::uint32_t gang) { return gpu_milli(trace.gangs[gang]); };
  std::int64_t sum = 0;
  for (const std::uint32_t gang : list) sum += milli_of(gang);
  const std::int64_t limit = trace.capacity_milli * 13 / 10;
  while (sum > 0 && sum < limit) {
    const std::uint32_t drawn = trace.pods[prng.below(trace.pods.size())];
    if (sum + milli_of(drawn) > limit) break;
    sum += milli_of(drawn);
    list.push_back(drawn);
  }
  while (sum > limit) {
    std::uint32_t& drawn = list[prng.below(list.size())];
    sum -= milli_of(drawn);
    drawn = list.back();
    list.pop_back();
  }
  prng.shuffle(list);
  return list;
}

namespace {

class Experiment {
 public:
  Experiment(const FgdTrace& trace, sched::NodeChoice choice, std::uint64_t seed) : trace_(trace) {
    policy_.node_choice = choice;
    policy_.random_seed = seed;
    policy_.reservation_depth = 0;
    policy_.half_life = Duration{0};
    model::ClusterSpec cluster;
    cluster.name = cluster_name;
    take(model::ClusterSet{std::move(cluster)});
    model::QueueSpec queue;
    queue.name = queue_name;
    queue.strategy = model::Strategy::SkipAhead;
    take(model::QueueSet{std::move(queue)});
    for (const model::NodeSpec& node : trace.nodes)
      take(model::NodeSeen{std::string(cluster_name), node});
    // What is usually asked, never the order in which it will come.
    for (std::size_t i = 0; i < trace.gangs.size(); ++i) {
      const sched::ShapeId shape = world_.shapes.intern(trace.gangs[i]);
      world_.shapes.expect(world_.shapes[shape].sets.front().pod, trace.count[i] * known_weight);
    }
  }

  FgdRun run(const std::vector<std::uint32_t>& list) {
    FgdRun result;
    std::int64_t asked = 0;
    std::int64_t allocated = 0;
    bool reached_100 = false;
    const auto percent = [&] {
      return 100.0 * static_cast<double>(allocated) / static_cast<double>(trace_.capacity_milli);
    };
    for (const std::uint32_t gang : list) {
      ++result.offered;
      asked += gpu_milli(trace_.gangs[gang]);
      if (offer(trace_.gangs[gang], result.offered)) {
        ++result.placed;
        allocated += gpu_milli(trace_.gangs[gang]);
      }
      if (!reached_100 && asked >= trace_.capacity_milli) {
        reached_100 = true;
        result.allocated_100_pct = percent();
      }
    }
    result.allocated_130_pct = percent();
    return result;
  }

 private:
  void take(model::EventBody body) { sched::apply(world_, {now_, std::move(body)}, policy_); }

  bool offer(const model::Gang& gang, std::int64_t number) {
    now_ = now_ + seconds(1);
    model::JobSpec spec;
    spec.id = fmt::format("{}", number);
    spec.name = "pod";
    spec.user = "fgd";
    spec.queue = queue_name;
    spec.gang = gang;
    take(model::JobSubmitted{spec, static_cast<std::uint64_t>(number)});
    sched::Plan plan = sched::plan(world_, agenda_, policy_, now_);
    bool placed = false;
    for (model::Decision& decision : plan.decisions) {
      placed = placed || std::holds_alternative<model::Placed>(decision);
      take(model::to_event(std::move(decision)));
    }
    if (!placed) take(model::JobCancelled{spec.id});
    return placed;
  }

  const FgdTrace& trace_;
  sched::Policy policy_;
  sched::World world_;
  sched::Agenda agenda_;
  Time now_;
};

}  // namespace

FgdRun run_fgd(const FgdTrace& trace, sched::NodeChoice choice, std::uint64_t seed) {
  return Experiment(trace, choice, seed).run(arrivals(trace, seed));
}

MeanAndDeviation mean_of(const std::vector<double>& values) {
  MeanAndDeviation m;
  if (values.empty()) return m;
  for (const double value : values) m.mean += value / static_cast<double>(values.size());
  if (values.size() < 2) return m;
  double squares = 0;
  for (const double value : values) squares += (value - m.mean) * (value - m.mean);
  m.deviation = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return m;
}

}  // namespace muster::sim
