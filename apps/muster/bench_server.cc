#include "apps/muster/bench_server.h"

#include "apps/muster/bench_server/parts.h"
#include "apps/muster/measuring/bench_command.h"

namespace muster::app {
namespace {

void add_sizes(CLI::App& command, ServerBenchOptions& sizes) {
  cli::add_option(command, "--jobs", sizes.jobs, "Waiting jobs at the restart")
      ->check(CLI::Range(1'000, 100'000'000))
      ->capture_default_str();
  cli::add_option(command, "--clients", sizes.clients, "Clients of the event stream")
      ->check(CLI::Range(200, 19'000))
      ->capture_default_str();
  cli::add_option(command, "--starts", sizes.starts, "Jobs started one by one")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  add_seconds(command, "--seconds", sizes.length, "Length of each load");
}

}  // namespace

void add_bench_server(CLI::App& bench) {
  add_bench_of_parts<ServerBenchOptions>(
      bench, "server", "Submits, starts, restart, pages and event streams of a real server",
      {{"submits", measure_submits},
       {"starts", measure_starts},
       {"many-jobs", measure_many_jobs},
       {"streams", measure_streams}},
      add_sizes);
}

}  // namespace muster::app
