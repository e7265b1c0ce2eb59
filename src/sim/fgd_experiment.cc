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
#include "base/time.h"
#include "sched/plan.h"
#include "sched/world.h"
#include "sim/openb.h"

namespace muster::sim {
namespace {

constexpr std::string_view cluster_name = "openb";
constexpr std::string_view queue_name = "all";
constexpr std::size_t rows_max = 1'000'000;  // of each list
/// The shapes of the list count this many times more than the arrivals that JobSubmitted adds.
constexpr std::int64_t known_weight = 1'000;

std::int64_t gpu_milli(const model::Gang& gang) {
  const model::GpuAsk& gpu = gang.sets.front().pod.gpu;
  return gpu.count * gpu.each.v;
}

}  // namespace

Result<FgdTrace> read_fgd_trace(const FgdFiles& files) {
  FgdTrace trace;
  auto nodes = read_openb_nodes(files.nodes, files.nodes_name, rows_max);
  if (!nodes) return nodes.error();
  trace.nodes = std::move(*nodes);
  for (const model::NodeSpec& node : trace.nodes)
    trace.capacity_milli += node.gpu_count * std::int64_t{1000};
  if (trace.capacity_milli == 0)
    return invalid(fmt::format("{}: the list has no GPU", files.nodes_name));
  using Key = std::tuple<std::int64_t, std::int64_t, int, std::int64_t, std::vector<std::string>>;
  std::map<Key, std::uint32_t> known;
  auto pods = read_openb_pods(files.pods, files.pods_name, rows_max);
  if (!pods) return pods.error();
  for (OpenbPod& listed : *pods) {
    const model::PodShape& pod = listed.set.pod;
    const Key key{pod.requests.cpu.v, pod.requests.memory.v, pod.gpu.count, pod.gpu.each.v,
                  pod.gpu_types};
    const auto next = static_cast<std::uint32_t>(trace.gangs.size());
    const auto [it, is_new] = known.emplace(key, next);
    if (is_new) {
      trace.gangs.emplace_back().sets.push_back(std::move(listed.set));
      trace.count.push_back(0);
    }
    ++trace.count[it->second];
    trace.pods.push_back(it->second);
  }
  if (trace.pods.empty()) return invalid(fmt::format("{}: the list is empty", files.pods_name));
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

  const sched::World& world() const { return world_; }

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

MachineLimits machine_limits(const FgdTrace& trace) {
  return measure_machine(Experiment(trace, sched::NodeChoice::Worth, 0).world());
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
