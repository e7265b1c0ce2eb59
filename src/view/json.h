// The model as JSON, for `-o json` and the API. Fields are only ever added. Amounts are Kubernetes
// quantities ("8", "500m", "64Gi"; a GPU is 1), times are milliseconds since the epoch and null for
// never, shares are millionths of the fleet. Where a sentence helps it stands in "text".
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

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
/// What the tables do not have of a job that is not finished, as members of an object without its
/// braces: "nodes", "verdict", "estimate".
std::string live_members_json(const sched::World& world, const JobRow& row, Time now);
/// An array, in the order given.
std::string jobs_json(const sched::World& world, std::span<const JobRow> rows, Time now);
/// All that is known about why a job stands where it stands; parts that do not apply are empty.
struct Explanation {
  sched::JobSlot job;
  std::optional<sched::Why> why;
  std::optional<sched::Estimate> estimate;
  std::vector<sched::Counterfactual> changes;
  std::span<const sched::ClusterScore> scores;  // of its last placement
};
/// {"verdict", "estimate", "changes", "scores", "nodes", "text"}: "text" is all of it in lines.
std::string explanation_json(const sched::World& world, const Explanation& explanation,
                             const sched::ClusterWeights& weights, Time now);
/// {"job", "state", "estimate", "text"}; the estimate is for those that wait.
std::string when_json(const sched::World& world, sched::JobSlot job,
                      const std::optional<sched::Estimate>& estimate, Time now);

/// An array of all queues in the order of their names.
/// It was removed, and nothing of it is left to be seen.
bool is_gone(const sched::World& world, sched::QueueId queue);
/// Of all that are not gone.
std::string queues_json(const sched::World& world, const sched::Capacity& capacity,
                        const sched::Policy& policy, Time now);
std::string queue_json(const sched::World& world, sched::QueueId queue,
                       const sched::Capacity& capacity, const sched::Policy& policy, Time now);
/// What a queue and those below it use of what: limits, use, the fleet's capacity, jobs that wait
/// and that are active, and the users of the active ones. Looks at every active job once.
std::string queue_usage_json(const sched::World& world, sched::QueueId queue,
                             const sched::Capacity& capacity);
/// What the engine does not know of a cluster.
struct ClusterNote {
  std::string type = {};     // "local"
  std::string problem = {};  // why it cannot be reached, or work; "": it does
  std::string version = {};  // of its Kubernetes, "v1.34.4"; "": not known
  std::string user = {};     // as whom the server is known there; "": not known
  bool is_leaving = false;
};
using ClusterNotes = std::map<std::string, ClusterNote, std::less<>>;
/// An array of all clusters that are joined, in the order of their names.
std::string clusters_json(const sched::World& world, const ClusterNotes& notes = {});
std::string cluster_json(const sched::World& world, sched::ClusterId cluster,
                         const ClusterNotes& notes = {});
/// An array of sentences: of each joined cluster that cannot be reached, as what is listed of it is
/// what was seen last.
std::string unreachable_json(const sched::World& world, const ClusterNotes& notes, Time now);
std::string decisions_json(std::span<const model::Decision> decisions, Time now);
std::string scores_json(const sched::World& world, std::span<const sched::ClusterScore> rows,
                        const sched::ClusterWeights& weights);
std::string counterfactuals_json(const sched::World& world,
                                 std::span<const sched::Counterfactual> changes, Time now);
std::string submit_json(const sched::World& world, const sched::SubmitAnswer& answer,
                        const sched::ClusterWeights& weights, Time now);
std::string quota_answer_json(const sched::World& world, const sched::QuotaAsk& ask,
                              const sched::QuotaAnswer& answer);

}  // namespace muster::view
