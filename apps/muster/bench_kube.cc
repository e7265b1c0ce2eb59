#include "apps/muster/bench_kube.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "apps/muster/bench_kube/parts.h"
#include "apps/muster/bench_server/parts.h"

namespace muster::app {
namespace {

struct Part {
  std::string name;
  Status (*measure)(const KubeBenchOptions&, Sheet&);
};
const std::vector<Part>& parts() {
  static const std::vector<Part> all = {{"gangs", measure_gangs},
                                        {"fleet", measure_fleet},
                                        {"starts", measure_job_starts},
                                        {"informers", measure_informers},
                                        {"idle", measure_idle}};
  return all;
}

struct Options {
  KubeBenchOptions bench;
  std::int64_t idle_s = 30;
  std::vector<std::string> only;
  std::string output = "text";
};

/// The exit code: 0 when everything could be measured.
int run(Options options) {
  options.bench.idle_length = seconds(options.idle_s);
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

void add_sizes(CLI::App& command, KubeBenchOptions& bench) {
  const auto size = [&](const std::string& name, int& value, int least, const std::string& help) {
    command.add_option(name, value, help)
        ->check(CLI::Range(least, 1'000'000))
        ->capture_default_str();
  };
  size("--turns", bench.turns, 1, "How often limit and Muster are measured in turns");
  size("--nodes", bench.nodes, 1, "Of a cluster that takes gangs");
  size("--gangs", bench.gangs, 1, "Of two pods, sent to one cluster");
  size("--fleet-gangs", bench.fleet_gangs, 3, "Of one pod, sent to three clusters");
  size("--starts", bench.starts, 1, "Jobs started one by one in a turn");
  size("--informer-nodes", bench.informer_nodes, 1, "Of the cluster that is seen first");
  size("--informer-pods", bench.informer_pods, 1, "The same of its pods");
  size("--idle-nodes", bench.idle_nodes, 1, "Of each of three clusters of an idle server");
}

}  // namespace

void add_bench_kube(CLI::App& bench) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand(
      "kube", "Gangs on real Kubernetes control planes, beside plain creates of the same Jobs");
  std::vector<std::string> names;
  for (const Part& part : parts()) names.push_back(part.name);
  add_sizes(*command, options->bench);
  command->add_option("--idle-seconds", options->idle_s, "How long an idle server is looked at")
      ->check(CLI::Range(1, 3'600))
      ->capture_default_str();
  command
      ->add_option("--clusters-program", options->bench.clusters_program,
                   "Starts the control planes: clusters.py of Muster's source tree")
      ->capture_default_str();
  command->add_option("--only", options->only, "Parts to run")->check(CLI::IsMember(names));
  command->add_option("-o,--output", options->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->callback([options] { std::exit(run(*options)); });
}

}  // namespace muster::app
