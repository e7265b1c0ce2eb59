// The parts of `muster bench kube`, one file each. Every part starts control planes of its own,
// measures what the API servers and the client reach beside the server, and adds its rows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apps/muster/measuring/child_server.h"
#include "apps/muster/measuring/parts.h"
#include "base/result.h"
#include "base/time.h"

namespace muster::app {

inline constexpr std::string_view bench_namespace = "default";
inline constexpr std::string_view bench_image = "example.com/tool:1";

struct KubeBenchOptions {
  std::string clusters_program = "tests/e2e/clusters.py";
  int turns = 5;  // limit and Muster one after the other, on fresh control planes each time
  int nodes = 200;
  int gangs = 500;
  int fleet_gangs = 5'000;
  int starts = 20;              // of a turn, one by one
  Duration rest = seconds(70);  // before the last one of a turn: longer than anything is kept warm
  int informer_nodes = 5'000;
  int informer_pods = 50'000;
  int idle_nodes = 1'000;
  Duration idle_settle = seconds(30);  // new nodes change for a while
  Duration idle_length = seconds(30);
};

/// Gangs of two pods in one cluster: the rate at which their Jobs are made.
Status measure_gangs(const KubeBenchOptions& options, Sheet& sheet);
/// Gangs of one pod over three clusters.
Status measure_fleet(const KubeBenchOptions& options, Sheet& sheet);
/// From the submit to the Job, on an idle server.
Status measure_job_starts(const KubeBenchOptions& options, Sheet& sheet);
/// The first sight of a large cluster, and what is kept of it.
Status measure_informers(const KubeBenchOptions& options, Sheet& sheet);
/// What a server costs that has nothing to do.
Status measure_idle(const KubeBenchOptions& options, Sheet& sheet);

/// What both did in one turn.
struct Turn {
  double muster = 0;
  double limit = 0;
};
/// A row of turns: medians, and the median of the ratios of each turn.
BenchRow row_of(std::string measure, std::string unit, const std::vector<Turn>& turns);

/// Returns when the server sees so many usable nodes in each of its clusters.
Status wait_for_nodes(ChildServer& server, std::size_t clusters, std::int64_t nodes_each);

}  // namespace muster::app
