// The tables that chose the clusters of the last placements, for `explain`. The planner makes them
// and forgets them; so many of the newest are kept.
//
// Thread contract: the loop's thread only (Runner's publish, and closures of control/reads).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sched/plan.h"
#include "sched/world.h"

namespace muster::api {

class PlacementScores {
 public:
  explicit PlacementScores(std::size_t most = 50'000) : most_(most) {}

  /// A job that is placed again has its newest table.
  void remember(std::span<const sched::PlacementScore> scores) {
    for (const sched::PlacementScore& score : scores) {
      tables_[score.job] = {score.rows, ++stamp_};
      order_.emplace_back(score.job, stamp_);
    }
    while (order_.size() > most_) {
      const auto it = tables_.find(order_.front().first);
      if (it != tables_.end() && it->second.second == order_.front().second) tables_.erase(it);
      order_.pop_front();
    }
  }

  /// Empty if it is not known. Rows that name what this world does not have are left out: the
  /// world may have been recovered since.
  std::vector<sched::ClusterScore> of(const sched::World& world, const std::string& job) const {
    std::vector<sched::ClusterScore> rows;
    const auto it = tables_.find(job);
    if (it == tables_.end()) return rows;
    for (const sched::ClusterScore& row : it->second.first) {
      if (row.cluster.index() < world.fleet.cluster_count() &&
          row.type.index() < world.fleet.type_count())
        rows.push_back(row);
    }
    return rows;
  }
  std::size_t size() const { return tables_.size(); }

 private:
  const std::size_t most_;
  std::uint64_t stamp_ = 0;
  std::unordered_map<std::string, std::pair<std::vector<sched::ClusterScore>, std::uint64_t>>
      tables_;
  std::deque<std::pair<std::string, std::uint64_t>> order_;
};

}  // namespace muster::api
