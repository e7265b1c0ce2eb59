#include "apps/muster/bench_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "apps/muster/bench_server/parts.h"

namespace muster::app {
namespace {

struct Part {
  std::string name;
  Status (*measure)(const ServerBenchOptions&, Sheet&);
};
const std::vector<Part>& parts() {
  static const std::vector<Part> all = {{"submits", measure_submits},
                                        {"starts", measure_starts},
                                        {"many-jobs", measure_many_jobs},
                                        {"streams", measure_streams}};
  return all;
}

struct Options {
  ServerBenchOptions bench;
  std::int64_t seconds = 10;
  std::vector<std::string> only;
  std::string output = "text";
};

/// The exit code: 0 when everything could be measured.
int run(Options options) {
  options.bench.length = seconds(options.seconds);
  Sheet sheet(options.output == "json");
  for (const Part& part : parts()) {
    const std::vector<std::string>& only = options.only;
    if (!only.empty() && std::find(only.begin(), only.end(), part.name) == only.end()) continue;
    const Status measured = part.measure(options.bench, sheet);
    bench_progress("");
    if (!measured) sheet.fail(part.name, measured.error().message);
  }
  return sheet.is_whole() ? 0 : 1;
}

}  // namespace

void add_bench_server(CLI::App& bench) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand(
      "server", "Submits, starts, restart, pages and event streams of a real server");
  std::vector<std::string> names;
  for (const Part& part : parts()) names.push_back(part.name);
  command->add_option("--jobs", options->bench.jobs, "Waiting jobs at the restart")
      ->check(CLI::Range(1'000, 100'000'000))
      ->capture_default_str();
  command->add_option("--clients", options->bench.clients, "Clients of the event stream")
      ->check(CLI::Range(200, 19'000))
      ->capture_default_str();
  command->add_option("--starts", options->bench.starts, "Jobs started one by one")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "Length of each load")
      ->check(CLI::Range(1, 3'600))
      ->capture_default_str();
  command->add_option("--only", options->only, "Parts to run")->check(CLI::IsMember(names));
  command->add_option("-o,--output", options->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->callback([options] { std::exit(run(*options)); });
}

}  // namespace muster::app
