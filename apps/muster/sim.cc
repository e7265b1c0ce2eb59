#include "apps/muster/sim.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>

#include "apps/muster/sim_fgd.h"
#include "apps/muster/version.h"
#include "cli/options.h"
#include "sim/report.h"
#include "sim/simulation.h"
#include "sim/summary.h"
#include "sim/workload.h"

namespace muster::app {
namespace {

struct RunFlags {
  std::string file;
  std::string generate;
  std::uint64_t seed = 1;
  int jobs = 0;
  double hours = 0;
  int gpus = 0;
  bool faults = false;
  bool progress = false;
  std::string report;
  std::string output = "text";
  std::string nodes;
};

[[noreturn]] void fail(const std::string& message) {
  fmt::print(stderr, "muster sim run: {}\n", message);
  throw CLI::RuntimeError(2);
}

/// What would change nothing is a mistake of whoever wrote it.
void check_flags(const RunFlags& flags) {
  if (std::isnan(flags.hours)) fail("--hours: not a number");  // which no range keeps out
  if (!flags.file.empty() && !flags.generate.empty())
    fail("both a FILE and --generate are given: drop one of them");
  const bool generated = flags.file.empty();
  const std::string what = generated ? "a generated workload" : flags.file;
  const auto refuse = [&](const char* option, const char* of) {
    fail(fmt::format("{} is for {}, and does nothing for {}: drop it", option, of, what));
  };
  if (flags.gpus > 0 && !flags.file.ends_with(".trace")) refuse("--gpus", "a .trace file");
  if (!flags.nodes.empty() && !flags.file.ends_with(".csv"))
    refuse("--nodes", "an openb pod list (.csv)");
  if (flags.hours > 0 && !generated) refuse("--hours", "generated workloads");
}

/// Before the run, which may take long, and without touching a report that is there.
void check_report(const std::string& path) {
  if (path.empty()) return;
  std::error_code error;
  const bool existed = std::filesystem::exists(path, error);
  const bool writable = std::ofstream(path, std::ios::binary | std::ios::app).good();
  if (!writable) fail(fmt::format("--report {}: cannot be written", path));
  if (!existed) std::filesystem::remove(path, error);
}

sim::Workload make_workload(const RunFlags& flags) {
  if (!flags.file.empty()) {
    const auto first_jobs = static_cast<std::size_t>(flags.jobs);
    auto read = sim::read_workload(flags.file, {flags.nodes, flags.gpus, first_jobs});
    if (!read) fail(read.error().message);
    if (first_jobs > 0 && read->jobs.size() > first_jobs) read->jobs.resize(first_jobs);
    return std::move(*read);
  }
  const sim::GenerateOptions options{flags.seed, flags.jobs,
                                     Duration{static_cast<std::int64_t>(flags.hours * 3.6e6)}};
  // A history with faults is random unless said otherwise: the demo is made to be looked at.
  const std::string kind = !flags.generate.empty() ? flags.generate
                           : flags.faults          ? "random"
                                                   : "demo";
  if (kind == "demo") return sim::demo_workload(options);
  if (kind == "random") return sim::random_workload(options);
  if (kind == "kueue") {
    if (flags.jobs > 0 || flags.hours > 0)
      fail("--generate kueue is a fixed set of 15,000 workloads: drop --jobs and --hours");
    return sim::kueue_workload();
  }
  fail(fmt::format("--generate {}: expected demo, random or kueue", kind));
}

void show_progress(const sim::Progress& p) {
  fmt::print(stderr, "\r{:>7.1f} h  {:>6} of {} jobs arrived, {:>6} run, {:>6} ended ",
             static_cast<double>(p.now.ms) / 3.6e6, p.submitted, p.jobs, p.running, p.ended);
}

std::string round_time(Duration d) {
  return to_text(d.ms < 10'000 ? d : Duration{d.ms / 1000 * 1000});
}

std::string counts_text(const auto& counts) {
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  return text;
}

const char* unit_of(const sim::Summary& s) { return s.by_gpu ? "GPU" : "core"; }

/// Before the run: one that ends in an abort can be repeated, too.
void print_first_line(const RunFlags& flags, const sim::Workload& w) {
  const sim::Summary s = sim::outline(w);
  fmt::print("{}: {} jobs on {} nodes with {:.0f} {}s in {} clusters, seed {}, muster {}\n", w.name,
             s.jobs, s.nodes, static_cast<double>(s.capacity_milli) / 1000, unit_of(s),
             w.clusters.size(), flags.seed, build_text());
  std::fflush(stdout);
}

void print_text(const sim::Workload& w, const sim::Outcome& o) {
  const sim::Summary s = sim::summarize(w, o);
  const char* unit = unit_of(s);
  if (!o.faults.empty()) {
    fmt::print("faults     {}\n", o.faults);
    fmt::print("           {}\n", counts_text(o.fault_counts));
  }
  if (!o.moments.empty() && o.faults.empty()) {
    fmt::print("\n");
    const std::size_t kept = o.moments.size();
    const std::size_t shown = std::min<std::size_t>(kept, 12);
    for (std::size_t i = 0; i < shown; ++i)
      fmt::print("  {}  {}\n", sim::clock_text(o.moments[i].at), o.moments[i].what);
    if (kept > shown)
      fmt::print("            ... and {} more; {} in --report\n", kept - shown + o.moments_more,
                 o.moments_more > 0 ? fmt::format("the first {} are", kept) : "all are");
    fmt::print("\n");
  }
  fmt::print("jobs       {}\n", counts_text(o.states));
  fmt::print("decisions  {}\n", counts_text(o.decisions));
  fmt::print("{} use{}    {:.1f}% while jobs arrived; {:.0f} {}-hours, {:.1f}% of them lost\n",
             unit, s.by_gpu ? " " : "", s.use * 100, s.hours, unit,
             s.hours > 0 ? 100 * s.hours_lost / s.hours : 0);
  fmt::print("wait       half under {}, 90% under {}, 99% under {}\n", round_time(s.wait(50)),
             round_time(s.wait(90)), round_time(s.wait(99)));
  if (o.estimates.scored > 0)
    fmt::print("estimates  {:.0f}% of {} starts inside the promised band\n",
               100.0 * static_cast<double>(o.estimates.inside_band) /
                   static_cast<double>(o.estimates.scored),
               o.estimates.scored);
  fmt::print("ended      at {} after {} steps; journal of {} events\n", sim::clock_text(o.end),
             o.steps, o.journal);
  fmt::print("trace      {:016x}\n", o.hash);
}

void print_json(const RunFlags& flags, const sim::Workload& w, const sim::Outcome& o) {
  const sim::Summary s = sim::summarize(w, o);
  boost::json::object states;
  for (const auto& [name, count] : o.states) states[name] = count;
  boost::json::object decisions;
  for (const auto& [name, count] : o.decisions) decisions[name] = count;
  boost::json::object faults;
  for (const auto& [name, count] : o.fault_counts) faults[name] = count;
  boost::json::array queues;
  for (const auto& q : s.queues)
    queues.push_back({{"name", q.name},
                      {"jobs", q.jobs},
                      {"hours", q.hours},
                      {"wait_median_ms", q.wait_median.ms},
                      {"wait_p90_ms", q.wait_p90.ms}});
  const boost::json::object out = {
      {"name", w.name},
      {"seed", flags.seed},
      {"build", build_text()},
      {"trace", fmt::format("{:016x}", o.hash)},
      {"violation", o.violation},
      {"end_ms", o.end.ms},
      {"steps", o.steps},
      {"events", o.events},
      {"journal", o.journal},
      {"lines_tried", o.tried},
      {"jobs", s.jobs},
      {"states", states},
      {"decisions", decisions},
      {"faults", faults},
      {"unit", s.by_gpu ? "gpu" : "cpu"},
      {"use", s.use},
      {"hours", s.hours},
      {"hours_lost", s.hours_lost},
      {"wait_ms", {{"p50", s.wait(50).ms}, {"p90", s.wait(90).ms}, {"p99", s.wait(99).ms}}},
      {"queues", queues},
      {"estimates",
       {{"scored", o.estimates.scored},
        {"inside_band", o.estimates.inside_band},
        {"early", o.estimates.early},
        {"late", o.estimates.late},
        {"error_sum_ms", o.estimates.error_sum_ms}}},
  };
  fmt::print("{}\n", boost::json::serialize(out));
}

void run(const RunFlags& flags) {
  check_flags(flags);
  check_report(flags.report);
  const sim::Workload workload = make_workload(flags);
  sim::SimulateOptions options;
  options.seed = flags.seed;
  options.faults = flags.faults;
  const bool progress = flags.progress || isatty(STDERR_FILENO) == 1;
  if (progress) options.progress = show_progress;
  if (flags.output == "text") print_first_line(flags, workload);
  const sim::Outcome outcome = sim::simulate(workload, options);
  if (progress) fmt::print(stderr, "\r{:80}\r", "");
  if (flags.output == "json") {
    print_json(flags, workload, outcome);
  } else {
    print_text(workload, outcome);
  }
  if (!flags.report.empty()) {
    std::ofstream out(flags.report, std::ios::binary);
    out << sim::html_report(workload, outcome, flags.seed);
    out.close();
    if (!out) fail(fmt::format("--report {}: cannot be written", flags.report));
    if (flags.output == "text") fmt::print("report     {}\n", flags.report);
  }
  if (!outcome.violation.empty()) {
    fmt::print(stderr, "muster sim run: a rule was broken {}\n", outcome.violation);
    throw CLI::RuntimeError(1);
  }
}

}  // namespace

void add_sim(CLI::App& app) {
  CLI::App* sim = cli::add_command(app, "sim", "Run fleets that do not exist, on virtual time");
  sim->require_subcommand(1);
  CLI::App* command = cli::add_command(
      *sim, "run", "Run a workload through the real scheduler and control loop on virtual time");
  command->footer(
      "Examples:\n"
      "  muster sim run                                   the demonstration\n"
      "  muster sim run --report out.html                 with pictures\n"
      "  muster sim run --faults --seed 7                 a random history with faults\n"
      "  muster sim run --generate kueue                  Kueue's published baseline\n"
      "  muster sim run openb_pod_list_default.csv --nodes openb_node_list_gpu_node.csv\n"
      "  muster sim run 6c71a0.trace --gpus 256 -o json");
  auto flags = std::make_shared<RunFlags>();
  cli::add_option(*command, "FILE", flags->file,
                  "a Kueue generator (.yaml), openb pod list (.csv) or philly-gavel trace "
                  "(.trace)")
      ->check(cli::not_empty());
  cli::add_option(*command, "--generate", flags->generate,
                  "instead of a file: demo (default), random (default with --faults) or kueue")
      ->check(cli::not_empty());
  cli::add_option(*command, "--seed", flags->seed,
                  "fixes everything that is random: a demo, a random workload, faults; nothing is "
                  "in a FILE or in kueue without --faults")
      ->capture_default_str();
  cli::add_option(*command, "--jobs", flags->jobs, "how many jobs; of a file, the first so many")
      ->check(CLI::Range(1, 10'000'000));
  cli::add_option(*command, "--hours", flags->hours, "over how many hours generated jobs arrive")
      ->check(CLI::Range(0.01, 100'000.0));
  cli::add_option(*command, "--gpus", flags->gpus, "GPUs of the fleet made for a .trace file")
      ->check(CLI::Range(8, 1'000'000));
  cli::add_option(*command, "--nodes", flags->nodes,
                  "node list of an openb pod list; without it, the one that stands beside it")
      ->check(cli::not_empty());
  cli::add_flag(*command, "--faults", flags->faults,
                "let things go wrong, and check the rules of safety after every step; without it "
                "they are checked after every step of up to 3,000 jobs and nodes, else after every "
                "1,000th");
  static_assert(sim::checked_every_step_max == 3000);
  cli::add_option(*command, "--report", flags->report, "write a page with pictures to this file")
      ->check(cli::not_empty());
  cli::add_option(*command, "-o,--output", flags->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  cli::add_flag(*command, "--progress", flags->progress,
                "show progress even when stderr is no terminal");
  command->callback([flags] { run(*flags); });
  add_sim_fgd(*sim);
}

}  // namespace muster::app
