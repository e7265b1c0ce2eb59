// Public traces: openb (Alibaba 2023, csv) and Philly as prepared for Gavel (tab-separated).
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "sim/workload.h"

namespace muster::sim {

/// One job per pod: arrives at its creation, runs from scheduled to deleted. Pods without times
/// (the multigpu lists) arrive a second apart and run for an hour. `nodes` is the text of a node
/// list.
struct OpenbFiles {
  std::string pods;
  std::string pods_name;
  std::string nodes;
  std::string nodes_name;
};
Result<Workload> read_openb(const OpenbFiles& files, const ReadLimits& limits = {});

/// Whole GPUs, run time from steps and the rate of the model on a V100. The fleet has `gpus` GPUs
/// in nodes of eight; 0: the mean demand of the trace, a third more, and at least the largest job.
/// Only the first `first_jobs` must find room in a fleet that is named; 0: all.
Result<Workload> read_gavel(const std::string& text, const std::string& source, int gpus,
                            const ReadLimits& limits = {}, std::size_t first_jobs = 0);

}  // namespace muster::sim
