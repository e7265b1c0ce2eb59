#include "apps/muster/bench_appwrapper.h"

#include <string>

#include "apps/muster/bench_appwrapper/parts.h"
#include "apps/muster/measuring/bench_command.h"

namespace muster::app {
namespace {

void add_sizes(CLI::App& command, WrapperBenchOptions& sizes) {
  const auto size = [&](const std::string& name, int& value, int least, const std::string& help) {
    cli::add_option(command, name, value, help)
        ->check(CLI::Range(least, 1'000'000))
        ->capture_default_str();
  };
  size("--turns", sizes.turns, 1, "How often limit and Muster are measured in turns");
  size("--nodes", sizes.nodes, 1, "Of the cluster");
  size("--wrappers", sizes.wrappers, 1, "Of one Job with two pods, dispatched in a turn");
  size("--ended", sizes.ended, 1, "Followed from submit to completed, and their writes counted");
  size("--unfit", sizes.unfit, 1, "That do not fit, before one that does");
  size("--queued", sizes.queued, 1, "That wait while the server's memory is looked at");
  size("--queued-v1beta2", sizes.queued_v1beta2, 0, "The same, of v1beta2; 0: none");
  cli::add_option(command, "--clusters-program", sizes.clusters_program,
                  "Starts the control planes: clusters.py of Muster's source tree")
      ->capture_default_str();
}

}  // namespace

void add_bench_appwrapper(CLI::App& bench) {
  add_bench_of_parts<WrapperBenchOptions>(
      bench, "appwrapper",
      "AppWrappers on real Kubernetes control planes, beside the same writes done plainly",
      {{"dispatch", measure_wrapper_dispatch},
       {"writes", measure_wrapper_writes},
       {"unfit", measure_unfit_wrappers},
       {"queued", measure_queued_wrappers}},
      add_sizes);
}

}  // namespace muster::app
