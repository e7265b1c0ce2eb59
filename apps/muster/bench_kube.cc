#include "apps/muster/bench_kube.h"

#include <string>

#include "apps/muster/bench_kube/parts.h"
#include "apps/muster/measuring/bench_command.h"

namespace muster::app {
namespace {

void add_sizes(CLI::App& command, KubeBenchOptions& sizes) {
  const auto size = [&](const std::string& name, int& value, int least, const std::string& help) {
    cli::add_option(command, name, value, help)
        ->check(CLI::Range(least, 1'000'000))
        ->capture_default_str();
  };
  size("--turns", sizes.turns, 1, "How often limit and Muster are measured in turns");
  size("--nodes", sizes.nodes, 1, "Of a cluster that takes gangs");
  size("--gangs", sizes.gangs, 1, "Of two pods, sent to one cluster");
  size("--fleet-gangs", sizes.fleet_gangs, 3, "Of one pod, sent to three clusters");
  size("--starts", sizes.starts, 1, "Jobs started one by one in a turn");
  add_seconds(command, "--rest-seconds", sizes.rest, "Before one more start in a turn");
  size("--informer-nodes", sizes.informer_nodes, 1, "Of the cluster that is seen first");
  size("--informer-pods", sizes.informer_pods, 1, "The same of its pods");
  size("--idle-nodes", sizes.idle_nodes, 1, "Of each of three clusters of an idle server");
  add_seconds(command, "--settle-seconds", sizes.idle_settle, "Before that: nodes come to rest");
  add_seconds(command, "--idle-seconds", sizes.idle_length, "How long an idle server is looked at");
  cli::add_option(command, "--clusters-program", sizes.clusters_program,
                  "Starts the control planes: clusters.py of Muster's source tree")
      ->capture_default_str();
}

}  // namespace

void add_bench_kube(CLI::App& bench) {
  add_bench_of_parts<KubeBenchOptions>(
      bench, "kube",
      "Gangs on real Kubernetes control planes, beside plain creates of the same Jobs",
      {{"gangs", measure_gangs},
       {"fleet", measure_fleet},
       {"starts", measure_job_starts},
       {"informers", measure_informers},
       {"idle", measure_idle}},
      add_sizes);
}

}  // namespace muster::app
