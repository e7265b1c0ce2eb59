// What an administrator can choose about scheduling. A value handed to plan(); the core reads no
// global settings.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/time.h"
#include "sched/rules.h"

namespace muster::sched {

/// How a node is chosen among those that fit. Worth is the default: keep what is left most useful
/// for what is usually asked. BestFit packs, Spread spreads, Fgd is the published fragmentation
/// gradient, Random serves as a baseline.
enum class NodeChoice { Worth, Fgd, BestFit, Spread, Random };

/// Points of a candidate cluster are a weighted sum of named parts, each from 0 (bad) to 1000
/// (good).
struct ClusterWeights {
  std::int64_t fit = 1000;
  std::int64_t fragmentation = 300;
  std::int64_t price = 100;
  std::int64_t wait = 500;
  std::int64_t data = 200;
  std::int64_t spread = 50;
  std::int64_t damage = 400;
};

struct Policy {
  NodeChoice node_choice = NodeChoice::Worth;
  ClusterWeights cluster_weights;
  std::map<std::string, std::int64_t> gpu_weight_milli;  // by GPU type; missing: 1000
  Duration half_life = hours(24);                        // 0: no memory
  Duration share_tick = minutes(1);  // how often remembered use is brought up to date in the order
  int reservation_depth = 16;
  Duration default_run_time = hours(24);  // of a job without limit and history
  int evictions_per_round = 64;  // but for the first gang of a round, which takes what it needs
  Duration start_retry_pause = seconds(10);
  std::uint64_t random_seed = 1;  // NodeChoice::Random only
  Rules rules;
};

}  // namespace muster::sched
