// How little a pod can cost on a node, from what is known of the node before it comes: a search for
// the cheapest node computes the true cost of few.
//
// A node's worth is the least over all prices of CPU and memory (worth_tables.h). The prices it has
// before the pod comes bound its worth after it from above, so its loss from below: by the pod's
// CPU and memory at those prices and by what the GPUs lose in that one table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "sched/worth.h"

namespace muster::sched::worth {

/// What a state is worth, and the table of prices that says so.
struct Appraisal {
  std::int64_t worth = 0;
  std::uint32_t table = 0;
};
/// The mix must have been made.
Appraisal appraise(const Mix& mix, const NodeState& node);

/// For pods without GPUs or with whole ones; of shares it depends on the device.
class LeastLoss {
 public:
  /// `pod` must not ask for more than judge() will be asked about.
  LeastLoss(const Mix& mix, const PodShape& pod);

  /// Not above the score judge() finds (Choice::Default) for any state with this table and so many
  /// idle GPUs that it fits.
  std::int64_t score(std::uint32_t table, std::size_t idle_gpus) const {
    const auto& whole = mix_.tables[table].whole;
    return (spent_[table % Mix::tables_per_class] + whole[idle_gpus] - whole[idle_gpus - gpus_]) >>
           tie_bits;
  }

 private:
  const Mix& mix_;
  std::size_t gpus_;
  std::array<std::int64_t, Mix::tables_per_class> spent_{};  // its CPU and memory, by prices
};

}  // namespace muster::sched::worth
