// The model as JSON, for `-o json` and the API. Fields are only ever added. Amounts are Kubernetes
// quantities ("8", "500m", "64Gi"; a GPU is 1), times are milliseconds since the epoch and null for
// never, shares are millionths of the fleet. Where a sentence helps it stands in "text".
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/time.h"
#include "model/event.h"
#include "sched/policy.h"
#include "sched/quota.h"
#include "sched/route.h"
#include "sched/verdict.h"
#include "sched/whatif.h"
#include "sched/world.h"

namespace muster::view {

/// What the engine says about one job; verdict and estimate are for those that wait.
struct JobRow {
  sched::JobSlot job;
  std::optional<sched::Why> why;
  std::optional<sched::Estimate> estimate;
};

std::string job_json(const sched::World& world, const JobRow& row, Time now);
/// An array, in the order given.
std::string jobs_json(const sched::World& world, std::span<const JobRow> rows, Time now);
/// An array of all queues in the order of their names.
std::string queues_json(const sched::World& world, const sched::Capacity& capacity,
                        const sched::Policy& policy, Time now);
/// An array of all clusters that are joined, in the order of their names.
std::string clusters_json(const sched::World& world);
std::string decisions_json(std::span<const model::Decision> decisions, Time now);
std::string scores_json(const sched::World& world, std::span<const sched::ClusterScore> rows,
                        const sched::ClusterWeights& weights);
std::string counterfactuals_json(const sched::World& world,
                                 std::span<const sched::Counterfactual> changes, Time now);
std::string submit_json(const sched::World& world, const sched::SubmitAnswer& answer,
                        const sched::ClusterWeights& weights, Time now);

}  // namespace muster::view
