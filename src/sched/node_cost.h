// What it costs to put a pod on a node in a given state, lower being better: one number per policy
// of node choice. Pure functions of the state before, the pod and the mix of pods that are usually
// asked for.
#pragma once

#include <cstdint>
#include <optional>

#include "sched/fleet.h"
#include "sched/policy.h"
#include "sched/worth.h"
#include "sched/worth_bound.h"

namespace muster::sched {

class World;

/// What the policies know beyond the node: the mix of pods usually asked for with its prices, and
/// what was computed from it.
struct CostModel {
  worth::Mix mix;
  worth::WorthMemo memo;
  Time made_at;
  bool made = false;
  std::int64_t demand = 0;  // pods asked for until then
};

struct NodeCost {
  std::int64_t cost = 0;
  std::uint16_t device = 1000;  // a share goes to a device with this much free; there is one
};

/// The cost of a pod on a node it fits by the rules in force. `lot` matters to NodeChoice::Random
/// alone. `worth`: of the node, if it is known already.
NodeCost node_cost(NodeChoice choice, CostModel& model, const Fleet& fleet, const NodeClass& node,
                   const PodShapeRec& pod, std::uint16_t each, std::uint64_t lot,
                   std::optional<std::int64_t> worth = std::nullopt);

/// What the node is worth as it stands. The model must have been made.
worth::Appraisal appraise(const CostModel& model, const Fleet& fleet, const NodeClass& node);
/// Bounds of the cost of a pod by NodeChoice::Worth on all nodes it fits; nothing if it asks for a
/// share of a GPU, or for that choice no model was made.
std::optional<worth::LeastLoss> least_loss(const CostModel& model, const PodShapeRec& pod);

/// Makes the mix anew from the demand seen so far and the fleet as it stands, which may be empty.
void make_model(CostModel& model, const World& world, Time now);
/// True when the model was never made, or the fleet has changed so much since that its prices
/// mislead.
bool needs_model(const CostModel& model, const World& world, Time now);

}  // namespace muster::sched
