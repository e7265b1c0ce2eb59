// The placement experiment of FGD (ATC'23) with the engine that serves: every pod of a list is
// offered as a job of its own to sched::plan on an empty cluster, in random order, until 130 % of
// the GPUs have been asked for; what does not fit is dropped. Which GPUs are left unused at the end
// tells how well nodes were chosen. Nothing here places a pod.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/job.h"
#include "model/node.h"
#include "sched/policy.h"
#include "sim/engine_measure.h"

namespace muster::sim {

struct FgdTrace {
  std::vector<model::NodeSpec> nodes;
  std::vector<model::Gang> gangs;   // distinct ones
  std::vector<std::int64_t> count;  // of each in the list
  std::vector<std::uint32_t> pods;  // the list, as indexes in gangs
  std::int64_t capacity_milli = 0;  // of all GPUs
};

/// The texts of the two lists (openb.h) and what errors call them.
struct FgdFiles {
  std::string nodes;
  std::string nodes_name;
  std::string pods;
  std::string pods_name;
};
Result<FgdTrace> read_fgd_trace(const FgdFiles& files);

/// The list thinned or drawn on to 130 % of the GPUs, shuffled.
std::vector<std::uint32_t> arrivals(const FgdTrace& trace, std::uint64_t seed);

struct FgdRun {
  double allocated_100_pct = 0;  // of all GPUs, when 100 % had been asked for
  double allocated_130_pct = 0;
  std::int64_t offered = 0;
  std::int64_t placed = 0;
};

FgdRun run_fgd(const FgdTrace& trace, sched::NodeChoice choice, std::uint64_t seed);

/// With the node table of the trace.
MachineLimits machine_limits(const FgdTrace& trace);

struct MeanAndDeviation {
  double mean = 0;
  double deviation = 0;  // of the sample, 0 for a single value
};
MeanAndDeviation mean_of(const std::vector<double>& values);

}  // namespace muster::sim
