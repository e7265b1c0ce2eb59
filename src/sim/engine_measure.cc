#include "sim/engine_measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "base/check.h"
#include "sched/whatif.h"
#include "sim/trace_hash.h"

namespace muster::sim {
namespace {

/// Processor time of this thread: what else runs on the machine does not count.
class Stopwatch {
 public:
  double seconds() const { return now() - start_; }

 private:
  static double now() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  }
  double start_ = now();
};

double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(std::ceil(part * last))];
}

std::int64_t gpus_of(const model::Placed& placed) {
  std::int64_t gpus = 0;
  for (const model::PodPlace& pod : placed.pods) gpus += __builtin_popcount(pod.devices);
  return gpus;
}

/// Keeps the compiler from dropping work whose result nobody uses.
template <typename T>
void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

}  // namespace

// ------------------------------------------------------------------------------------ the engine

EngineRun::EngineRun(const FleetGenerator& generator, sched::Policy policy, Time now)
    : generator_(generator), policy_(std::move(policy)), now_(now) {}

void EngineRun::apply_untimed(model::EventBody body) {
  sched::apply(world_, {now_, std::move(body)}, policy_);
}

void EngineRun::load_fleet() {
  for (const model::Event& event : generator_.fleet()) sched::apply(world_, event, policy_);
}

void EngineRun::occupy(int percent) {
  for (const model::Event& event : generator_.occupation(percent))
    sched::apply(world_, event, policy_);
}

double EngineRun::submit(std::int64_t first, std::int64_t last) {
  constexpr std::int64_t batch = 4096;
  double spent = 0;
  std::vector<model::Event> events;
  for (std::int64_t from = first; from < last; from += batch) {
    events.clear();
    generator_.jobs(from, std::min(from + batch, last),
                    [&](model::Event event) { events.push_back(std::move(event)); });
    const Stopwatch watch;
    for (const model::Event& event : events) sched::apply(world_, event, policy_);
    spent += watch.seconds();
  }
  return spent;
}

EngineRun::Round EngineRun::plan_and_apply() {
  Round round;
  const Stopwatch planning;
  sched::Plan plan = sched::plan(world_, agenda_, policy_, now_);
  round.plan_s = planning.seconds();
  round.tried = plan.tried;
  std::vector<model::Event> events;
  for (model::Decision& decision : plan.decisions) {
    if (const auto* placed = std::get_if<model::Placed>(&decision)) {
      ++round.placed;
      round.pods += static_cast<std::int64_t>(placed->pods.size());
      round.gpus += gpus_of(*placed);
      placed_.push_back({placed->job, placed->attempt});
    } else if (const auto* stopped = std::get_if<model::Stopped>(&decision)) {
      ++round.stopped;
      leaving_.push_back({stopped->job, stopped->attempt});
    }
    events.push_back({now_, model::to_event(std::move(decision))});
  }
  const Stopwatch applying;
  for (const model::Event& event : events) sched::apply(world_, event, policy_);
  round.apply_s = applying.seconds();
  return round;
}

void EngineRun::start_placed() {
  for (Attempt& attempt : placed_) {
    apply_untimed(model::Started{attempt.job, attempt.number});
    at_[attempt.job] = running_.size();
    running_.push_back(std::move(attempt));
  }
  placed_.clear();
  for (const Attempt& attempt : leaving_) {
    const auto it = at_.find(attempt.job);
    if (it != at_.end()) take_running(it->second);
  }
}

EngineRun::Attempt EngineRun::take_running(std::size_t index) {
  Attempt taken = std::move(running_[index]);
  at_.erase(taken.job);
  if (index + 1 != running_.size()) {
    running_[index] = std::move(running_.back());
    at_[running_[index].job] = index;
  }
  running_.pop_back();
  return taken;
}

FillMeasure EngineRun::fill() {
  const Round round = plan_and_apply();
  FillMeasure fill;
  fill.gangs = round.placed;
  fill.pods = round.pods;
  fill.gpus = round.gpus;
  fill.tried = round.tried;
  fill.plan_s = round.plan_s;
  fill.apply_s = round.apply_s;
  for (std::size_t i = 0; i < world_.job_count(); ++i) {
    const sched::JobSlot slot{static_cast<std::uint32_t>(i)};
    if (world_.job(slot).state != model::JobState::Waiting) continue;
    if (std::holds_alternative<sched::NotTried>(sched::verdict(world_, agenda_, slot, now_)))
      ++fill.unanswered;
  }
  start_placed();
  return fill;
}

std::size_t EngineRun::lines_waiting() const {
  std::size_t lines = 0;
  for (const sched::QueueId queue : world_.quota.by_name()) lines += world_.lines_of(queue).size();
  return lines;
}

// ---------------------------------------------------------------------------------------- events

/// Pods of stopped jobs go first, in the order they were stopped; else any running job ends.
model::EventBody EngineRun::next_end(Prng& prng) {
  if (!leaving_.empty()) {
    Attempt gone = std::move(leaving_.front());
    leaving_.pop_front();
    return model::Gone{std::move(gone.job), gone.number};
  }
  Attempt ended = take_running(prng.below(running_.size()));
  return model::Finished{std::move(ended.job), ended.number, true};
}

namespace {

/// So that a job runs for eight minutes on average: most end before their limits, as in a fleet
/// that has been running for long, and not thousands at once when the limits of the first plan's
/// jobs come.
std::int64_t between_ends_ms(std::size_t running) {
  return minutes(8).ms / std::max<std::int64_t>(1, static_cast<std::int64_t>(running));
}

}  // namespace

EventMeasure EngineRun::end_jobs(std::int64_t events, Prng& prng) {
  EventMeasure m;
  std::vector<double> per_placement;
  std::vector<double> whole;
  for (; m.events < events && !(running_.empty() && leaving_.empty()); ++m.events) {
    now_ = now_ + Duration{std::max<std::int64_t>(1, between_ends_ms(running_.size()))};
    const model::Event event{now_, next_end(prng)};
    const Stopwatch watch;
    sched::apply(world_, event, policy_);
    const double taken_in = watch.seconds();
    const Round round = plan_and_apply();
    const double us = (taken_in + round.plan_s + round.apply_s) * 1e6;
    whole.push_back(us);
    per_placement.push_back(us / static_cast<double>(std::max<std::int64_t>(1, round.placed)));
    m.placements += round.placed;
    m.stops += round.stopped;
    m.tried += round.tried;
    start_placed();
  }
  m.p50_us = quantile(per_placement, 0.5);
  m.p99_us = quantile(per_placement, 0.99);
  m.max_us = quantile(per_placement, 1);
  m.whole_p50_us = quantile(whole, 0.5);
  m.whole_p99_us = quantile(whole, 0.99);
  m.whole_max_us = quantile(whole, 1);
  return m;
}

// ------------------------------------------------------------------------------------- saying no

namespace {

/// Gangs that cannot run on any node or any set of nodes, each of another kind and of a shape that
/// nobody asked for before.
std::vector<model::JobSpec> impossible_jobs(const FleetGenerator& generator) {
  std::vector<model::JobSpec> jobs;
  for (int i = 0; i < 30; ++i) {
    model::JobSpec spec =
        std::get<model::JobSubmitted>(generator.job(generator.size().jobs + i).body).spec;
    spec.id = fmt::format("impossible-{}", i);
    spec.priority = 50;
    spec.gang.topology.reset();
    model::PodSet& set = spec.gang.sets.front();
    set.pod = model::PodShape{};
    set.pod.requests.cpu.v = 1'000 + i;
    set.pod.gpu.count = fleet_gpus_per_node;
    if (i % 3 == 0) {
      set.count = generator.size().nodes + 1;  // too many pods
    } else if (i % 3 == 1) {
      set.pod.gpu.count = fleet_gpus_per_node + 1;  // too large a pod
    } else {
      set.pod.node_selector["topology.kubernetes.io/zone"] = "nowhere";
    }
    jobs.push_back(std::move(spec));
  }
  return jobs;
}

/// Gangs of whole nodes that an empty fleet would take at once, of shapes that nobody asked for
/// before and in queues that have jobs waiting.
std::vector<model::JobSpec> jobs_without_room(const FleetGenerator& generator) {
  const FleetSize& size = generator.size();
  std::vector<model::JobSpec> jobs;
  for (int i = 0; i < 30; ++i) {
    model::JobSpec spec =
        std::get<model::JobSubmitted>(generator.job(size.jobs + 100 + i).body).spec;
    spec.id = fmt::format("no-room-{}", i);
    spec.priority = 50;
    spec.gang.topology.reset();
    model::PodSet& set = spec.gang.sets.front();
    constexpr std::array<int, 3> pods = {1, 64, 200};
    set.count = std::min(pods[static_cast<std::size_t>(i) % pods.size()],
                         std::max(1, size.nodes / size.clusters / 2));
    set.pod = model::PodShape{};
    set.pod.requests.cpu.v = 2'000 + i;
    set.pod.gpu.count = fleet_gpus_per_node;
    jobs.push_back(std::move(spec));
  }
  return jobs;
}

}  // namespace

/// Milliseconds from the submit to the verdict; the job is cancelled afterwards.
double EngineRun::ask(const model::JobSpec& spec, sched::Why& why) {
  now_ = now_ + seconds(1);
  const model::Event event{now_, model::JobSubmitted{spec, std::uint64_t{1} << 40}};
  const Stopwatch watch;
  sched::apply(world_, event, policy_);
  const Round round = plan_and_apply();
  const sched::JobSlot slot = world_.find_job(spec.id);
  why = sched::verdict(world_, agenda_, slot, now_);
  const double ms = watch.seconds() * 1e3;
  keep(round.placed);
  start_placed();
  return ms;
}

/// What keeps a gang out that would fit if the fleet were empty.
bool is_for_want_of_room(const sched::Why& why) {
  return std::holds_alternative<sched::NoRoom>(why) ||
         std::holds_alternative<sched::WouldDelay>(why) ||
         std::holds_alternative<sched::HasReservation>(why) ||
         std::holds_alternative<sched::Preempting>(why) ||
         std::holds_alternative<sched::OverQuota>(why);
}

NoMeasure EngineRun::say_no_to(const std::vector<model::JobSpec>& jobs,
                               bool (*expected)(const sched::Why&)) {
  NoMeasure m;
  std::vector<double> times;
  for (const model::JobSpec& spec : jobs) {
    sched::Why why;
    const double ms = ask(spec, why);
    const sched::JobSlot slot = world_.find_job(spec.id);
    if (world_.job(slot).state == model::JobState::Waiting) {
      times.push_back(ms);
      if (!expected(why) && m.wrong.empty())
        m.wrong = fmt::format("{} has verdict {}", spec.id, why.index());
      const Stopwatch watch;
      keep(sched::what_if(world_, agenda_, policy_, slot, now_).size());
      m.counterfactuals_ms = std::max(m.counterfactuals_ms, watch.seconds() * 1e3);
    } else {
      ++m.started;
    }
    apply_untimed(model::JobCancelled{spec.id});
    plan_and_apply();
    start_placed();
  }
  m.worst_ms = quantile(times, 1);
  m.median_ms = quantile(times, 0.5);
  return m;
}

NoMeasure EngineRun::say_no() {
  // Whatever is still under way must not be counted.
  for (int i = 0; i < 10; ++i) {
    now_ = now_ + seconds(1);
    plan_and_apply();
    start_placed();
  }
  NoMeasure m = say_no_to(impossible_jobs(generator_), [](const sched::Why& why) {
    return std::holds_alternative<sched::Infeasible>(why);
  });
  model::JobSpec stranger = impossible_jobs(generator_).front();
  stranger.id = "stranger";
  stranger.gang.sets.front().pod.node_selector["example.com/unheard-of"] = "yes";
  sched::Why why;
  m.new_label_ms = ask(stranger, why);
  apply_untimed(model::JobCancelled{stranger.id});
  return m;
}

NoMeasure EngineRun::say_not_now() {
  return say_no_to(jobs_without_room(generator_), is_for_want_of_room);
}

// ----------------------------------------------------------------------------------- determinism

std::uint64_t hash_of(const sched::Plan& plan) {
  TraceHash hash;
  for (const model::Decision& decision : plan.decisions) hash.add(Time{0}, decision);
  return hash.value();
}

namespace {

/// The clusters must be known before their nodes; everything else may come in any order.
std::vector<model::Event> shuffled_facts(const FleetGenerator& generator, std::uint64_t order) {
  std::vector<model::Event> clusters;
  std::vector<model::Event> rest;
  for (model::Event& event : generator.fleet())
    (std::holds_alternative<model::ClusterSet>(event.body) ? clusters : rest).push_back(event);
  for (model::Event& event : generator.occupation(30)) rest.push_back(std::move(event));
  generator.jobs(0, generator.size().jobs, [&](model::Event event) {
    auto& submitted = std::get<model::JobSubmitted>(event.body);
    submitted.seq /= 64;  // 64 jobs of each sequence
    rest.push_back(std::move(event));
  });
  if (order > 0) {
    Prng prng(order);
    prng.shuffle(clusters);
    prng.shuffle(rest);
  }
  for (model::Event& event : rest) clusters.push_back(std::move(event));
  return clusters;
}

}  // namespace

DeterminismMeasure measure_determinism(std::uint64_t seed) {
  FleetSize size;
  size.clusters = 4;
  size.nodes = 400;
  size.queues = 64;
  size.jobs = 8'000;
  size.seed = seed;
  const FleetGenerator generator(size, Time{0});
  DeterminismMeasure m;
  for (const unsigned order : {0u, 0u, 1u, 2u, 3u}) {
    sched::Policy policy;
    sched::World world;
    sched::Agenda agenda;
    for (const model::Event& event : shuffled_facts(generator, order))
      sched::apply(world, event, policy);
    const std::uint64_t hash = hash_of(sched::plan(world, agenda, policy, Time{1000}));
    if (m.runs++ == 0) m.plan_hash = hash;
    m.same = m.same && hash == m.plan_hash;
  }
  return m;
}

// ---------------------------------------------------------------------------------------- growth

GrowthPoint measure_growth_point(const FleetSize& size, std::int64_t events) {
  const FleetGenerator generator(size, Time{0});
  EngineRun run(generator, sched::Policy{}, Time{0});
  run.load_fleet();
  run.submit(0, size.jobs);
  run.fill();
  Prng prng(size.seed);
  // The plans after the first one settle what it left: the same share of the fleet at each size.
  run.end_jobs(std::max<std::int64_t>(events / 2, size.nodes / 5), prng);
  const EventMeasure m = run.end_jobs(events, prng);
  return {size.nodes, size.jobs, m.whole_p50_us, m.whole_max_us};
}

double growth_exponent(const std::vector<GrowthPoint>& points) {
  double n = 0;
  double sx = 0;
  double sy = 0;
  double sxx = 0;
  double sxy = 0;
  for (const GrowthPoint& point : points) {
    const double x = std::log(static_cast<double>(point.nodes));
    const double y = std::log(std::max(point.event_p50_us, 1e-3));
    n += 1;
    sx += x;
    sy += y;
    sxx += x * x;
    sxy += x * y;
  }
  const double width = n * sxx - sx * sx;
  return width > 0 ? (n * sxy - sx * sy) / width : 0;
}

// --------------------------------------------------------------------------------------- machine

MachineLimits measure_machine(const sched::World& world) {
  MachineLimits limits;
  constexpr int scans = 50;
  std::int64_t sum = 0;
  const Stopwatch scanning;
  for (int i = 0; i < scans; ++i) {
    for (std::size_t n = 0; n < world.fleet.node_count(); ++n) {
      const sched::Node& node = world.fleet.node(sched::NodeId{static_cast<std::uint32_t>(n)});
      sum += node.cpu + node.memory + node.devices[0];
    }
    keep(sum);
  }
  limits.scan_ns_per_node =
      scanning.seconds() * 1e9 / scans / static_cast<double>(world.fleet.node_count());

  constexpr std::size_t bytes = std::size_t{256} << 20;
  const auto from = std::make_unique<char[]>(bytes);
  const auto to = std::make_unique<char[]>(bytes);
  std::memset(from.get(), 1, bytes);
  std::memset(to.get(), 2, bytes);
  const Stopwatch copying;
  for (int i = 0; i < 4; ++i) {
    std::memcpy(to.get(), from.get(), bytes);
    keep(to.get()[bytes / 2]);
  }
  limits.copy_gb_per_s = 4 * static_cast<double>(bytes) / 1e9 / copying.seconds();

  constexpr std::uint64_t entries = 1'000'000;
  std::unordered_map<std::uint64_t, std::uint64_t> map;
  for (std::uint64_t i = 0; i < entries; ++i) map.emplace(i * 0x9e3779b97f4a7c15ULL, i);
  Prng prng(1);
  std::uint64_t found = 0;
  const Stopwatch finding;
  for (std::uint64_t i = 0; i < entries; ++i)
    found += map.find(prng.below(entries) * 0x9e3779b97f4a7c15ULL)->second;
  keep(found);
  limits.lookups_per_s = static_cast<double>(entries) / finding.seconds();
  return limits;
}

}  // namespace muster::sim
