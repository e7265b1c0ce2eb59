#include "apps/muster/sim_fgd.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/options.h"
#include "sim/fgd_experiment.h"

namespace muster::app {
namespace {

using sched::NodeChoice;
using sim::MeanAndDeviation;

const std::map<std::string, NodeChoice> policies = {{"random", NodeChoice::Random},
                                                    {"best-fit", NodeChoice::BestFit},
                                                    {"fgd", NodeChoice::Fgd},
                                                    {"default", NodeChoice::Worth}};

struct Options {
  std::string nodes;
  std::string pods;
  std::string policy = "default";
  std::string seeds = "42..51";
  std::string output = "text";
};

struct Summary {
  MeanAndDeviation at_100;
  MeanAndDeviation unallocated_130;
  double seconds_per_run = 0;
  std::int64_t runs = 0;
  sim::MachineLimits machine;
};

std::string read_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    throw CLI::ValidationError(fmt::format("{}: is a folder; name a file in it", path));
  std::ifstream in(path, std::ios::binary);
  if (!in) throw CLI::ValidationError(fmt::format("{}: cannot be read", path));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// "42..51", both included, or a single seed.
std::pair<std::int64_t, std::int64_t> parse_seeds(const std::string& text) {
  constexpr std::int64_t most = 1'000'000'000;
  const std::size_t dots = text.find("..");
  const auto first = parse_int(text.substr(0, dots), "--seeds", 0, most);
  const auto last =
      dots == std::string::npos ? first : parse_int(text.substr(dots + 2), "--seeds", 0, most);
  if (!first) throw CLI::ValidationError(first.error().message);
  if (!last) throw CLI::ValidationError(last.error().message);
  if (*last < *first) throw CLI::ValidationError("--seeds: A..B with A at most B");
  return {*first, *last};
}

Summary run_all(const Options& options) {
  const auto [first, last] = parse_seeds(options.seeds);
  const auto trace = sim::read_fgd_trace(
      {read_file(options.nodes), options.nodes, read_file(options.pods), options.pods});
  if (!trace) throw CLI::ValidationError(trace.error().message);
  std::vector<double> at_100;
  std::vector<double> unallocated;
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t seed = first; seed <= last; ++seed) {
    if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\rseed {} of {}..{} ", seed, first, last);
    const sim::FgdRun run =
        sim::run_fgd(*trace, policies.at(options.policy), static_cast<std::uint64_t>(seed));
    at_100.push_back(run.allocated_100_pct);
    unallocated.push_back(100.0 - run.allocated_130_pct);
  }
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r{:40}\r", "");
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  Summary summary;
  summary.runs = last - first + 1;
  summary.at_100 = sim::mean_of(at_100);
  summary.unallocated_130 = sim::mean_of(unallocated);
  summary.seconds_per_run = spent.count() / static_cast<double>(summary.runs);
  summary.machine = sim::machine_limits(*trace);
  return summary;
}

void print(const Options& options, const Summary& s) {
  if (options.output == "json") {
    const boost::json::object out = {{"policy", options.policy},
                                     {"nodes", options.nodes},
                                     {"pods", options.pods},
                                     {"seeds", options.seeds},
                                     {"allocated_100_pct", s.at_100.mean},
                                     {"allocated_100_sd", s.at_100.deviation},
                                     {"allocated_130_pct", 100.0 - s.unallocated_130.mean},
                                     {"unallocated_130_pct", s.unallocated_130.mean},
                                     {"unallocated_130_sd", s.unallocated_130.deviation},
                                     {"seconds_per_run", s.seconds_per_run},
                                     {"machine_scan_ns_per_node", s.machine.scan_ns_per_node},
                                     {"machine_copy_gb_per_s", s.machine.copy_gb_per_s},
                                     {"machine_lookups_per_s", s.machine.lookups_per_s}};
    fmt::print("{}\n", boost::json::serialize(out));
    return;
  }
  fmt::print("{} with policy {}, seeds {}\n", options.pods, options.policy, options.seeds);
  fmt::print("  GPUs allocated at 100 % asked     {:6.2f} %  ± {:.2f}\n", s.at_100.mean,
             s.at_100.deviation);
  fmt::print("  GPUs allocated at 130 % asked     {:6.2f} %  ± {:.2f}\n",
             100.0 - s.unallocated_130.mean, s.unallocated_130.deviation);
  fmt::print("  GPUs unallocated at 130 % asked   {:6.2f} %  ± {:.2f}\n", s.unallocated_130.mean,
             s.unallocated_130.deviation);
  fmt::print("  seconds per run                   {:6.2f}\n", s.seconds_per_run);
  fmt::print("  this machine: node table scanned  {:6.2f} ns/node\n", s.machine.scan_ns_per_node);
  fmt::print("  this machine: memory copied       {:6.2f} GB/s\n", s.machine.copy_gb_per_s);
  fmt::print("  this machine: hash map lookups    {:6.2f} million/s\n",
             s.machine.lookups_per_s / 1e6);
}

}  // namespace

void add_sim_fgd(CLI::App& sim) {
  CLI::App* fgd = cli::add_command(
      sim, "fgd",
      "The placement experiment of FGD: pods of a trace offered one by one to the planner");
  const auto options = std::make_shared<Options>();
  cli::add_option(*fgd, "--nodes", options->nodes, "CSV of nodes (openb)")
      ->required()
      ->check(cli::not_empty());
  cli::add_option(*fgd, "--pods", options->pods, "CSV of pods (openb)")
      ->required()
      ->check(cli::not_empty());
  std::vector<std::string> names;
  for (const auto& [name, choice] : policies) names.push_back(name);
  cli::add_option(*fgd, "--policy", options->policy, "How nodes are chosen")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  cli::add_option(*fgd, "--seeds", options->seeds, "A..B, both included")->capture_default_str();
  cli::add_option(*fgd, "-o,--output", options->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  fgd->callback([options] { print(*options, run_all(*options)); });
}

}  // namespace muster::app
