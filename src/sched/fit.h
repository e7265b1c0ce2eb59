// Which pods fit which nodes, remembered. Static demands (selector, affinity, taints, GPU type) are
// judged once per pod shape and profile, room and cost once per pod shape and class. A cache: it
// can be dropped at any time without changing a decision.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/fleet.h"
#include "sched/ids.h"
#include "sched/node_cost.h"
#include "sched/policy.h"
#include "sched/shapes.h"

namespace muster::sched {

struct Match {
  bool known = false;
  bool allowed = false;
  std::uint16_t each = 0;       // thousandths of a device for this pod on this profile
  std::int32_t preference = 0;  // weights of preferred terms that hold, less those of soft taints
};

struct ClassFit {
  std::uint32_t generation = 0;  // of the class this was computed for
  std::uint16_t pods = 0;        // how many of the pod fit on one node of the class
  std::uint16_t device = 1000;
  std::int64_t cost = 0;
};

class World;

class FitCache {
 public:
  const Match& match(const World& world, const Policy& policy, PodShapeId pod, ProfileId profile);
  const ClassFit& fit(const World& world, const Policy& policy, PodShapeId pod, ClassId cls);
  CostModel model;
  void forget_costs() { fits_.clear(); }

 private:
  std::vector<std::vector<Match>> matches_;  // [pod shape][profile]
  std::vector<std::vector<ClassFit>> fits_;  // [pod shape][class]
};

/// How many pods of this shape fit on a node with these free amounts.
int pods_that_fit(const PodShapeRec& pod, std::uint16_t each, const NodeClass& node,
                  const GpuState& gpu, const Rules& rules);

}  // namespace muster::sched
