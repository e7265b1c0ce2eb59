// The numbers people ask for after a simulation, computed from the clusters' own record.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/simulation.h"
#include "sim/workload.h"

namespace muster::sim {

struct QueueSummary {
  std::string name;
  std::size_t jobs = 0;
  double hours = 0;  // GPU-hours used, or core-hours in a fleet without GPUs
  Duration wait_median;
  Duration wait_p90;
};

struct Summary {
  std::size_t jobs = 0;
  std::size_t nodes = 0;
  std::int64_t capacity_milli = 0;  // GPUs, or cores in a fleet without GPUs
  bool by_gpu = true;
  double use = 0;         // of the capacity, from the start to the last submit
  double hours = 0;       // used
  double hours_lost = 0;  // by attempts that did not end by themselves
  std::size_t attempts = 0;
  std::size_t stopped = 0;           // attempts removed before their end
  std::size_t lost = 0;              // attempts that failed with their node
  std::vector<Duration> waits;       // submit to first start, ascending
  std::vector<QueueSummary> queues;  // top queues, by name
  Duration wait(int percent) const;
};

/// What can be said before the run: jobs, nodes and the capacity.
Summary outline(const Workload& workload);
Summary summarize(const Workload& workload, const Outcome& outcome);

/// The top queue above each queue, by name.
std::map<std::string, std::string> top_queues(const Workload& workload);

/// What a run holds, in the unit of the summary.
inline std::int64_t amount(const Run& run, bool by_gpu) {
  return by_gpu ? run.gpu_milli : run.cpu_milli;
}

}  // namespace muster::sim
