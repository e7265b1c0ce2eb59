// A whole history on virtual time: the real control::Loop and sched, memory ports, simulated
// clusters. With faults it has two phases: faults on, where the rules of safety are checked after
// every step, and faults off, where every job must come to its end within a limit. A seed fixes
// everything: the same seed gives the same trace hash.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "sched/job_table.h"
#include "sim/record.h"
#include "sim/workload.h"

namespace muster::sim {

struct Progress {
  Time now;
  std::size_t jobs = 0;
  std::size_t submitted = 0;
  std::size_t running = 0;
  std::size_t ended = 0;
};

struct SimulateOptions {
  std::uint64_t seed = 1;
  bool faults = false;
  /// Check the world after every so many steps; 0: at the end only. Without a number every step of
  /// a workload with few jobs and nodes, else now and then. With faults: every step.
  std::optional<int> check_every = {};
  std::function<void(const Progress&)> progress;  // called now and then
};

/// Something worth telling about the history.
struct Moment {
  Time at;
  std::string what;
};

/// Hours, minutes and seconds since the beginning: 07:05:09.
std::string clock_text(Time t);

/// Jobs and nodes of a workload whose world is checked after every step.
constexpr std::size_t checked_every_step_max = 3000;

struct Outcome {
  std::string violation;  // the first rule that was broken, with the time; empty: all is well
  std::uint64_t hash = 0;
  Time end;
  std::uint64_t steps = 0;
  std::uint64_t checks = 0;  // of the rules of safety
  std::uint64_t events = 0;
  std::uint64_t journal = 0;
  std::uint64_t tried = 0;
  std::map<std::string, std::uint64_t> decisions;  // by kind
  std::map<std::string, std::size_t> states;       // jobs by their last state
  std::string faults;                              // kinds that were on; empty without faults
  std::map<std::string, int> fault_counts;
  std::vector<Moment> moments;   // the first ones
  std::size_t moments_more = 0;  // not kept
  std::vector<Run> runs;
  sched::EstimateScore estimates;
};

Outcome simulate(const Workload& workload, const SimulateOptions& options);

}  // namespace muster::sim
