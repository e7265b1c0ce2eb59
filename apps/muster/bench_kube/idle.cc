#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "apps/muster/bench_kube/clusters.h"
#include "apps/muster/bench_kube/parts.h"

namespace muster::app {
namespace {

constexpr int clusters_count = 3;
constexpr double reach_percent = 1;

Result<double> events_of(ChildServer& server) {
  const auto samples = server.metrics();
  if (!samples) return samples.error();
  const auto events = samples->find("muster_events_total");
  if (events == samples->end()) return invalid("the server has no metric muster_events_total");
  return events->second;
}

}  // namespace

Status measure_idle(const KubeBenchOptions& options, Sheet& sheet) {
  bench_progress("idle: clusters");
  const auto clusters =
      BenchClusters::start({options.clusters_program, clusters_count, options.idle_nodes});
  if (!clusters) return clusters.error();
  const auto folder = BenchFolder::make();
  if (!folder) return folder.error();
  const auto server = ChildServer::start((*folder)->path(), (*clusters)->server_yaml());
  if (!server) return server.error();
  if (Status seen = wait_for_nodes(**server, clusters_count, options.idle_nodes); !seen)
    return seen;
  bench_progress("idle: doing nothing");
  std::this_thread::sleep_for(std::chrono::milliseconds(options.idle_settle.ms));
  const auto events_before = events_of(**server);
  if (!events_before) return events_before.error();
  const auto before = (*server)->cpu_seconds();
  if (!before) return before.error();
  std::this_thread::sleep_for(std::chrono::milliseconds(options.idle_length.ms));
  const auto after = (*server)->cpu_seconds();
  if (!after) return after.error();
  const auto events_after = events_of(**server);
  if (!events_after) return events_after.error();
  const double wall = static_cast<double>(options.idle_length.ms) / 1000;
  sheet.add({.measure = fmt::format("CPU, idle, three clusters of {} nodes", options.idle_nodes),
             .value = 100 * (*after - *before) / wall,
             .unit = "% of a core",
             .reach = reach_percent,
             .direction = Reach::AtMost,
             .note = fmt::format("over {:.0f} s; nodes changed {:.0f} times", wall,
                                 *events_after - *events_before)});
  return Ok{};
}

}  // namespace muster::app
