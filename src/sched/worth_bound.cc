#include "sched/worth_bound.h"

#include "sched/worth_tables.h"

namespace muster::sched::worth {

Appraisal appraise(const Mix& mix, const NodeState& node) {
  const Valuation found = valuate(mix, room_of(mix, node));
  return {found.worth, static_cast<std::uint32_t>(found.table)};
}

LeastLoss::LeastLoss(const Mix& mix, const PodShape& pod)
    : mix_(mix), gpus_(static_cast<std::size_t>(pod.num_gpu)) {
  for (std::size_t i = 0; i < spent_.size(); ++i) {
    const PricePair prices = prices_of(mix, i);
    spent_[i] = (prices.cpu * pod.cpu_milli + prices.mem * pod.memory_mib) >> price_bits;
  }
}

}  // namespace muster::sched::worth
