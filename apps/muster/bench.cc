#include "apps/muster/bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/muster/bench_appwrapper.h"
#include "apps/muster/bench_kube.h"
#include "apps/muster/bench_server.h"
#include "apps/muster/free_memory.h"
#include "apps/muster/measuring/row_lines.h"
#include "cli/options.h"
#include "sim/engine_measure.h"
#include "sim/fleet_generator.h"

namespace muster::app {
namespace {

using sim::EngineRun;
using sim::FleetGenerator;
using sim::FleetSize;
using sim::GrowthPoint;

constexpr int used_percent = 60;
constexpr int promised_percent = 60;
constexpr double growth_reach = 0.3;  // the exponent stays below it

struct Options {
  FleetSize size;
  std::int64_t events = 2'000;
  std::int64_t growth_events = 1'000;
  bool no_growth = false;
  std::string output = "text";
  std::string rows = {};  // file for the rows as JSON lines
};

/// Everything `bench plan` measures; the growth points stay empty when they were not asked for.
struct Report {
  sim::FillMeasure empty;
  sim::FillMeasure used;
  sim::EventMeasure event;
  sim::EventMeasure promised;  // with guaranteed amounts, on a small fleet
  sim::EventMeasure nested;    // with such on all levels of its queues
  int promised_nodes = 0;      // of both
  sim::NoMeasure no;
  sim::NoMeasure no_room;
  sim::DeterminismMeasure same;
  sim::MachineLimits machine;
  std::vector<GrowthPoint> growth;
  double submit_us = 0;  // a job
  double first_plan_wall_s = 0;
  double bytes_per_waiting_job = 0;
  double bytes_with_caches = 0;
  std::size_t shapes = 0;
  std::size_t pod_shapes = 0;
  std::size_t lines = 0;
  std::size_t node_classes = 0;  // of the full fleet
  std::size_t used_node_classes = 0;
};

/// Shown on a terminal only.
void progress(std::string_view what) {
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\033[K{} ", what);
}

/// Resident memory of this process: what the allocator keeps for later counts too.
std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t all = 0;
  std::int64_t resident = 0;
  statm >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

double per_job(std::int64_t bytes, std::int64_t jobs) {
  return static_cast<double>(bytes) / static_cast<double>(jobs);
}

// ----------------------------------------------------------------------------------------- runs

void measure_empty_fleet(const Options& options, const FleetGenerator& generator, Report& report) {
  EngineRun run(generator, sched::Policy{}, Time{0});
  progress("an empty fleet: nodes and queues");
  run.load_fleet();
  progress("an empty fleet: submitting");
  return_free_memory();  // else jobs go into what was freed before, and nothing grows
  const std::int64_t before = resident_bytes();
  report.submit_us =
      run.submit(0, options.size.jobs) * 1e6 / static_cast<double>(options.size.jobs);
  report.bytes_per_waiting_job = per_job(resident_bytes() - before, options.size.jobs);
  report.lines = run.lines_waiting();
  progress("an empty fleet: the first plan");
  const auto start = std::chrono::steady_clock::now();
  report.empty = run.fill();
  report.first_plan_wall_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.bytes_with_caches = per_job(resident_bytes() - before, options.size.jobs);
  report.shapes = run.world().shapes.size();
  report.pod_shapes = run.world().shapes.pod_count();
  report.node_classes = run.world().fleet.class_count();
  Prng prng(options.size.seed);
  progress("a full fleet: one job ends, again and again");
  run.end_jobs(options.events / 2, prng);  // the plans after the first one settle what it left
  report.event = run.end_jobs(options.events, prng);
  progress("a full fleet: saying no");
  report.no = run.say_no();
  report.no_room = run.say_not_now();
  progress("this machine");
  report.machine = sim::measure_machine(run.world());  // last: it frees a lot
}

void measure_used_fleet(const Options& options, const FleetGenerator& generator, Report& report) {
  EngineRun run(generator, sched::Policy{}, Time{0});
  progress("a used fleet: foreign pods");
  run.load_fleet();
  run.occupy(used_percent);
  progress("a used fleet: submitting");
  run.submit(0, options.size.jobs);
  progress("a used fleet: the first plan");
  report.used = run.fill();
  report.used_node_classes = run.world().fleet.class_count();
}

/// A fiftieth of the fleet, most of it promised: who is inside what was promised stands higher, and
/// that moves with every start and end.
FleetSize promised_size(const Options& options) {
  FleetSize size = options.size;
  size.nodes = std::max(4 * size.clusters, size.nodes / 50);
  size.jobs = std::max<std::int64_t>(4, size.jobs / 50);
  if (size.guaranteed_percent == 0) size.guaranteed_percent = promised_percent;
  return size;
}

sim::EventMeasure measure_promised_fleet(const Options& options, const FleetSize& size) {
  const FleetGenerator generator(size, Time{0});
  EngineRun run(generator, sched::Policy{}, Time{0});
  run.load_fleet();
  run.submit(0, size.jobs);
  run.fill();
  Prng prng(size.seed);
  run.end_jobs(options.events / 20, prng);
  return run.end_jobs(options.events / 10, prng);
}

void measure_promised_fleets(const Options& options, Report& report) {
  FleetSize size = promised_size(options);
  report.promised_nodes = size.nodes;
  progress("queues with guarantees: one job ends, again and again");
  report.promised = measure_promised_fleet(options, size);
  progress("guarantees within guarantees: one job ends, again and again");
  size.nested_guarantees = true;
  size.queues = std::max(1, size.queues / 8);  // else a team is promised less than a GPU
  report.nested = measure_promised_fleet(options, size);
}

/// Five points from a quarter of the fleet to four times it.
std::vector<GrowthPoint> measure_growth(const Options& options) {
  std::vector<GrowthPoint> points;
  for (int i = 0; i < 5; ++i) {
    FleetSize size = options.size;
    size.nodes = options.size.nodes / 4 << i;
    size.jobs = options.size.jobs / 4 << i;
    progress(fmt::format("growth: {} nodes, {} jobs", size.nodes, size.jobs));
    points.push_back(sim::measure_growth_point(size, options.growth_events));
  }
  return points;
}

/// Beside the growth, on the nodes of the middle point.
sim::MachineLimits measure_limits(const Options& options) {
  progress("this machine");
  const FleetGenerator generator(options.size, Time{0});
  EngineRun run(generator, sched::Policy{}, Time{0});
  run.load_fleet();
  return sim::measure_machine(run.world());
}

// ------------------------------------------------------------------------------------------ text

struct Row {
  std::string what;
  std::string measured;
  std::string reach;
  std::optional<bool> ok;
  // For programs:
  boost::json::value value = nullptr;
  std::string unit = {};
  boost::json::value reach_value = nullptr;
};

void print_lines(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const std::string_view ok = !row.ok ? "" : *row.ok ? "yes" : "NO";
    fmt::print("{:<46} {:>16}   {:<18} {}\n", row.what, row.measured, row.reach, ok);
  }
}

void print(const std::vector<Row>& rows) {
  fmt::print("{:<46} {:>16}   {:<18} {}\n", "measure", "measured", "reach", "ok");
  print_lines(rows);
}

std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

Row at_least(std::string what, double value, double reach) {
  return {std::move(what),
          grouped(value),
          fmt::format(">= {}", grouped(reach)),
          value >= reach,
          value,
          "",
          reach};
}

Row at_most(std::string what, double value, double reach, std::string_view unit, int digits) {
  return {std::move(what),
          fmt::format("{:.{}f} {}", value, digits, unit),
          fmt::format("<= {} {}", reach, unit),
          value <= reach,
          value,
          std::string(unit),
          reach};
}

/// A time that is short because the answer was wrong reaches nothing.
Row only_if(bool is_right, Row row) {
  row.ok = row.ok.value_or(true) && is_right;
  return row;
}

/// Growth of resident memory: if there is none, jobs went into what the allocator had kept.
boost::json::value grown(double bytes) {
  return bytes > 0 ? boost::json::value(bytes) : boost::json::value(nullptr);
}

Row memory_row(double bytes) {
  if (bytes > 0) return at_most("memory per waiting job", bytes, 1024, "B", 0);
  return {
      "memory per waiting job", "not measurable", "<= 1024 B", std::nullopt, nullptr, "B", 1024};
}

/// Several numbers: a text for programs, too.
Row plain(std::string what, const std::string& measured) {
  return {std::move(what), measured, "", std::nullopt, boost::json::value(measured)};
}

Row plain(std::string what, double value, std::string_view unit, int digits) {
  return {std::move(what),  fmt::format("{:.{}f} {}", value, digits, unit), "", std::nullopt, value,
          std::string(unit)};
}

Row counted(std::string what, double value, std::string_view unit = "") {
  return {std::move(what),  fmt::format("{}{}", grouped(value), unit), "", std::nullopt, value,
          std::string(unit)};
}

boost::json::object line_of(const Row& row) {
  return {{"measure", row.what},
          {"value", row.value},
          {"unit", row.unit},
          {"limit", nullptr},
          {"ratio", nullptr},
          {"reach", row.reach_value},
          {"ok", row.ok ? boost::json::value(*row.ok) : boost::json::value(nullptr)}};
}

std::vector<Row> fill_rows(const Report& r) {
  return {
      at_least("empty fleet: gangs placed per second", r.empty.gangs_per_s(), 20'000),
      counted("  pods placed per second", r.empty.pods_per_s()),
      plain("  gangs, pods, GPUs placed",
            fmt::format("{} {} {}", r.empty.gangs, r.empty.pods, r.empty.gpus)),
      only_if(r.empty.unanswered == 0,
              at_most("  first plan, every line has its verdict", r.empty.plan_s, 3, "s", 3)),
      counted("  jobs without a verdict", static_cast<double>(r.empty.unanswered)),
      plain("  applying its decisions", r.empty.apply_s, "s", 3),
      at_least("used fleet: gangs placed per second", r.used.gangs_per_s(), 10'000),
      counted("  pods placed per second", r.used.pods_per_s()),
      plain("  gangs, pods, GPUs placed",
            fmt::format("{} {} {}", r.used.gangs, r.used.pods, r.used.gpus)),
      plain("  first plan", r.used.plan_s, "s", 3),
  };
}

/// Somebody was told no.
bool is_measured(const sim::NoMeasure& no) { return no.counterfactuals_ms >= 0; }

Row counterfactuals(const sim::NoMeasure& no) {
  return only_if(is_measured(no),
                 at_most("  counterfactuals, worst", no.counterfactuals_ms, 10, "ms", 3));
}

std::vector<Row> event_rows(const Report& r) {
  return {
      plain("a job ends: p50 per placement", r.event.p50_us, "us", 1),
      at_most("  p99 per placement", r.event.p99_us, 1000, "us", 1),
      plain("  max per placement", r.event.max_us, "us", 1),
      plain("  whole event p50, p99, max",
            fmt::format("{:.0f} {:.0f} {:.0f} us", r.event.whole_p50_us, r.event.whole_p99_us,
                        r.event.whole_max_us)),
      plain("  events, placements, lines tried",
            fmt::format("{} {} {}", r.event.events, r.event.placements, r.event.tried)),
      plain(fmt::format("a job ends, guarantees, {} nodes: p50", r.promised_nodes),
            r.promised.p50_us, "us", 1),
      at_most("  p99 per placement", r.promised.p99_us, 1000, "us", 1),
      plain("  events, placements, lines tried",
            fmt::format("{} {} {}", r.promised.events, r.promised.placements, r.promised.tried)),
      plain(fmt::format("a job ends, nested guarantees, {} nodes: p50", r.promised_nodes),
            r.nested.p50_us, "us", 1),
      at_most("  p99 per placement", r.nested.p99_us, 1000, "us", 1),
      plain("  events, placements, lines tried",
            fmt::format("{} {} {}", r.nested.events, r.nested.placements, r.nested.tried)),
      memory_row(r.bytes_per_waiting_job),
      plain("  with running jobs, agenda and caches", r.bytes_with_caches, "B", 0),
      only_if(r.no.wrong.empty() && r.no.started == 0,
              at_most("saying no: verdict, worst", r.no.worst_ms, 1, "ms", 3)),
      plain("  median", r.no.median_ms, "ms", 3),
      at_most("  with a label nobody asked for before", r.no.new_label_ms, 1, "ms", 3),
      counterfactuals(r.no),
      only_if(r.no_room.wrong.empty() && is_measured(r.no_room),
              at_most("no room now: verdict, worst", r.no_room.worst_ms, 1, "ms", 3)),
      plain("  median", r.no_room.median_ms, "ms", 3),
      counterfactuals(r.no_room),
      {"determinism: plans of 5 arrival orders equal", r.same.same ? "equal" : "differ", "equal",
       r.same.same, r.same.same ? "equal" : "differ", "", "equal"},
  };
}

std::vector<Row> machine_rows(const sim::MachineLimits& limits) {
  return {
      plain("this machine: scan of the node table", limits.scan_ns_per_node, "ns/node", 1),
      plain("this machine: memory copy", limits.copy_gb_per_s, "GB/s", 1),
      counted("this machine: hash map lookups", limits.lookups_per_s, "/s"),
  };
}

std::vector<Row> size_rows(const Report& r) {
  return {
      plain("shapes, pod shapes, lines", fmt::format("{} {} {}", r.shapes, r.pod_shapes, r.lines)),
      plain("node classes: full fleet, used fleet",
            fmt::format("{} {}", r.node_classes, r.used_node_classes)),
      plain("submitting a job", r.submit_us, "us", 2),
  };
}

std::vector<Row> growth_rows(const std::vector<GrowthPoint>& points) {
  std::vector<Row> rows;
  for (const GrowthPoint& p : points) {
    const std::string size = fmt::format("{} nodes, {} jobs", p.nodes, p.jobs);
    rows.push_back(plain("a job ends: p50, " + size, p.event_p50_us, "us", 1));
    rows.push_back(plain("a job ends: max, " + size, p.event_max_us, "us", 1));
  }
  if (points.empty()) return rows;
  Row slope = plain("growth exponent", sim::growth_exponent(points), "", 3);
  slope.ok = sim::growth_exponent(points) < growth_reach;
  slope.reach_value = growth_reach;
  rows.push_back(std::move(slope));
  return rows;
}

void print_growth(const std::vector<GrowthPoint>& points) {
  fmt::print("\n{:>8} {:>10} {:>16} {:>16}\n", "nodes", "jobs", "event p50 us", "event max us");
  for (const GrowthPoint& p : points) {
    fmt::print("{:>8} {:>10} {:>16.1f} {:>16.1f}\n", p.nodes, p.jobs, p.event_p50_us,
               p.event_max_us);
  }
  const double slope = sim::growth_exponent(points);
  fmt::print("growth exponent {:.3f}   reach < {}   {}\n", slope, growth_reach,
             slope < growth_reach ? "yes" : "NO");
}

// ------------------------------------------------------------------------------------------ json

boost::json::array json_of(const std::vector<GrowthPoint>& points) {
  boost::json::array out;
  for (const GrowthPoint& p : points) {
    out.push_back(boost::json::object{{"nodes", p.nodes},
                                      {"jobs", p.jobs},
                                      {"event_p50_us", p.event_p50_us},
                                      {"event_max_us", p.event_max_us}});
  }
  return out;
}

void add_growth(boost::json::object& out, const std::vector<GrowthPoint>& points) {
  if (points.empty()) {
    out["growth_exponent"] = nullptr;
    return;
  }
  out["growth_exponent"] = sim::growth_exponent(points);
  out["growth"] = json_of(points);
}

void add_machine(boost::json::object& out, const sim::MachineLimits& limits) {
  out["machine_scan_ns_per_node"] = limits.scan_ns_per_node;
  out["machine_copy_gb_per_s"] = limits.copy_gb_per_s;
  out["machine_lookups_per_s"] = limits.lookups_per_s;
}

boost::json::object json_of(const Options& o, const Report& r) {
  boost::json::object out = {
      {"nodes", o.size.nodes},
      {"jobs", o.size.jobs},
      {"queues", o.size.queues},
      {"clusters", o.size.clusters},
      {"seed", o.size.seed},
      {"clock", "processor time of one thread"},
      {"gangs_per_s", r.empty.gangs_per_s()},
      {"pods_per_s", r.empty.pods_per_s()},
      {"gangs_placed", r.empty.gangs},
      {"pods_placed", r.empty.pods},
      {"first_plan_s", r.empty.plan_s},
      {"first_plan_wall_s", r.first_plan_wall_s},
      {"first_apply_s", r.empty.apply_s},
      {"jobs_without_verdict", r.empty.unanswered},
      {"used_gangs_per_s", r.used.gangs_per_s()},
      {"used_pods_per_s", r.used.pods_per_s()},
      {"used_gangs_placed", r.used.gangs},
      {"used_plan_s", r.used.plan_s},
      {"events", r.event.events},
      {"event_placements", r.event.placements},
      {"event_p50_us", r.event.p50_us},
      {"event_p99_us", r.event.p99_us},
      {"event_max_us", r.event.max_us},
      {"event_whole_p50_us", r.event.whole_p50_us},
      {"event_whole_p99_us", r.event.whole_p99_us},
      {"event_whole_max_us", r.event.whole_max_us},
      {"guarantees_event_p50_us", r.promised.p50_us},
      {"guarantees_event_p99_us", r.promised.p99_us},
      {"guarantees_event_tried", r.promised.tried},
      {"guarantees_nodes", r.promised_nodes},
      {"nested_guarantees_event_p50_us", r.nested.p50_us},
      {"nested_guarantees_event_p99_us", r.nested.p99_us},
      {"nested_guarantees_event_tried", r.nested.tried},
      {"bytes_per_waiting_job", grown(r.bytes_per_waiting_job)},
      {"bytes_per_waiting_job_with_caches", grown(r.bytes_with_caches)},
      {"no_verdict_ms", r.no.worst_ms},
      {"no_verdict_median_ms", r.no.median_ms},
      {"no_verdict_new_label_ms", r.no.new_label_ms},
      {"no_counterfactuals_ms", r.no.counterfactuals_ms},
      {"no_started", r.no.started},
      {"no_wrong", r.no.wrong},
      {"no_room_verdict_ms", r.no_room.worst_ms},
      {"no_room_verdict_median_ms", r.no_room.median_ms},
      {"no_room_counterfactuals_ms", r.no_room.counterfactuals_ms},
      {"no_room_started", r.no_room.started},
      {"no_room_wrong", r.no_room.wrong},
      {"deterministic", r.same.same},
      {"plan_hash", fmt::format("{:016x}", r.same.plan_hash)},
      {"shapes", r.shapes},
      {"pod_shapes", r.pod_shapes},
      {"lines", r.lines},
      {"node_classes", r.node_classes},
      {"used_node_classes", r.used_node_classes},
      {"submit_us", r.submit_us},
  };
  add_machine(out, r.machine);
  add_growth(out, r.growth);
  return out;
}

// -------------------------------------------------------------------------------------- commands

void check_sizes(const Options& options) {
  if (options.size.nodes / 4 < options.size.clusters)
    throw CLI::ValidationError("--clusters: at least four nodes a cluster");
}

void run_plan(const Options& options) {
  check_sizes(options);
  RowLines lines(options.rows);
  Report report;
  {
    const FleetGenerator generator(options.size, Time{0});
    measure_empty_fleet(options, generator, report);
    measure_used_fleet(options, generator, report);
  }
  measure_promised_fleets(options, report);
  progress("determinism");
  report.same = sim::measure_determinism(options.size.seed);
  if (!options.no_growth) report.growth = measure_growth(options);
  progress("");
  std::vector<Row> rows = fill_rows(report);
  for (Row& row : event_rows(report)) rows.push_back(std::move(row));
  for (Row& row : size_rows(report)) rows.push_back(std::move(row));
  for (Row& row : machine_rows(report.machine)) rows.push_back(std::move(row));
  for (const Row& row : rows) lines.add(line_of(row));
  for (const Row& row : growth_rows(report.growth)) lines.add(line_of(row));
  if (options.output == "json") {
    fmt::print("{}\n", boost::json::serialize(json_of(options, report)));
    return;
  }
  fmt::print(
      "{} nodes in {} clusters, {} jobs in {} queues, seed {}; processor time of one thread\n\n",
      options.size.nodes, options.size.clusters, options.size.jobs, options.size.queues,
      options.size.seed);
  print(rows);
  for (const sim::NoMeasure* no : {&report.no, &report.no_room}) {
    if (!no->wrong.empty()) fmt::print("saying no: {}\n", no->wrong);
  }
  if (!report.growth.empty()) print_growth(report.growth);
}

void run_growth(const Options& options) {
  check_sizes(options);
  RowLines lines(options.rows);
  const std::vector<GrowthPoint> points = measure_growth(options);
  const sim::MachineLimits limits = measure_limits(options);
  progress("");
  for (const Row& row : growth_rows(points)) lines.add(line_of(row));
  for (const Row& row : machine_rows(limits)) lines.add(line_of(row));
  if (options.output == "json") {
    boost::json::object out;
    add_growth(out, points);
    add_machine(out, limits);
    fmt::print("{}\n", boost::json::serialize(out));
  } else {
    print_growth(points);
    print_lines(machine_rows(limits));
  }
}

void add_options(CLI::App& command, const std::shared_ptr<Options>& options) {
  FleetSize& size = options->size;
  cli::add_option(command, "--nodes", size.nodes, "Nodes of 8 GPUs")
      ->check(CLI::Range(4, 1'000'000))
      ->capture_default_str();
  cli::add_option(command, "--jobs", size.jobs, "Waiting jobs")
      ->check(CLI::Range(4, 100'000'000))
      ->capture_default_str();
  cli::add_option(command, "--queues", size.queues, "Queues of the lowest of three levels")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  cli::add_option(command, "--clusters", size.clusters, "Clusters")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  cli::add_option(command, "--seed", size.seed, "Of the generated fleet")->capture_default_str();
  cli::add_option(command, "--guaranteed", size.guaranteed_percent,
                  "Percent of the fleet's GPUs promised to the top queues")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  cli::add_option(command, "--growth-events", options->growth_events, "Jobs that end at each point")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  cli::add_option(command, "-o,--output", options->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  cli::add_option(command, "--rows", options->rows, "File for the rows, one JSON line each")
      ->check(cli::not_empty());
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App* bench =
      cli::add_command(app, "bench", "What the engine and the server reach on this machine");
  bench->require_subcommand(1);
  const auto options = std::make_shared<Options>();
  CLI::App* plan = cli::add_command(
      *bench, "plan",
      "Filling an empty and a used fleet, single events, memory, saying no, growth");
  add_options(*plan, options);
  cli::add_option(*plan, "--events", options->events, "Jobs that end on the full fleet")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  cli::add_flag(*plan, "--no-growth", options->no_growth,
                "Leave out the five sizes of `bench growth`")
      ->excludes(plan->get_option("--growth-events"));
  plan->callback([options] { run_plan(*options); });
  CLI::App* growth = cli::add_command(
      *bench, "growth",
      "Time of one event on fleets from a quarter of --nodes and --jobs to four times");
  add_options(*growth, options);
  growth->callback([options] { run_growth(*options); });
  add_bench_server(*bench);
  add_bench_kube(*bench);
  add_bench_appwrapper(*bench);
}

}  // namespace muster::app
