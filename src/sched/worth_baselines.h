// Published ways to choose a node that worth is measured against: FGD (fragmentation gradient
// descent, Weng et al., ATC'23) and best fit.
#pragma once

#include <cstdint>
#include <span>

#include "sched/worth.h"

namespace muster::sched::worth {

/// FGD's typical pods: the most frequent shapes that make up 95% of the pods.
void add_typical(Mix& mix, std::span<const Mix::Typical> pods);

/// Idle GPU milli that the typical pods cannot use, times typical_total.
std::int64_t fragmentation(const Mix& mix, const NodeState& node);

/// FGD's own score of a growth of fragmentation, growth / total in GPU milli: floor(100 * sigmoid)
/// of it in whole GPUs, 0 to 99. The coarse steps make ties, and ties keep the node order, which
/// FGD depends on.
std::int64_t sigmoid_score(std::int64_t growth, std::int64_t total);

/// Best fit: what is left free on the node, in hundredths of the largest node.
std::int64_t left_over(const NodeState& node);

}  // namespace muster::sched::worth
