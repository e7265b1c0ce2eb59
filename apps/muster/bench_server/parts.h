// The parts of `muster bench server`, one file each. Every part starts a server of its own,
// measures the limits of the machine beside it, and adds its rows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apps/muster/measuring/parts.h"
#include "base/result.h"
#include "base/time.h"

namespace muster::app {

struct ServerBenchOptions {
  std::int64_t jobs = 1'000'000;  // that wait at a restart, and while pages are read
  std::int64_t clients = 10'000;  // of the event stream
  Duration length = seconds(10);  // of a measure that goes on for a while
  int starts = 50;                // jobs started one by one
};

/// Durable submits over REST, in batches and singly.
Status measure_submits(const ServerBenchOptions& options, Sheet& sheet);
/// From the submit to the process, on an idle local cluster.
Status measure_starts(const ServerBenchOptions& options, Sheet& sheet);
/// Restart with many waiting jobs; pages, explanations and single jobs among them.
Status measure_many_jobs(const ServerBenchOptions& options, Sheet& sheet);
/// The event stream with many clients.
Status measure_streams(const ServerBenchOptions& options, Sheet& sheet);

/// The body of a submit of `count` jobs that all differ, numbered from `first`.
std::string submit_body(std::uint64_t first, std::uint64_t count);
/// Clusters that are soon full, and the queues of submit_body.
std::string full_fleet_yaml();

}  // namespace muster::app
