// What would have to be different for a waiting job to start: counterfactuals, computed on request.
// Each is true because it was tried: the change is made on the world, the engine places the gang,
// and everything is taken back (a test compares hashes). A change that does not help by itself is
// not reported. What stays behind are caches: shapes and resource names seen for the first time.
//
// "Starts now" means what it means to plan(): quota in every tree, whole gang on real nodes of one
// cluster, nobody's reservation delayed. Not thread-safe: it borrows the world and the agenda
// between two plans.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/cluster.h"
#include "model/job.h"
#include "sched/agenda.h"
#include "sched/ids.h"
#include "sched/policy.h"
#include "sched/route.h"
#include "sched/verdict.h"
#include "sched/world.h"

namespace muster::sched {

/// The largest smaller gang that starts now. `counts`: pods per set.
struct FewerPods {
  int from = 0;
  int to = 0;
  ClusterId cluster;
  std::vector<int> counts;
};
/// What keeps a job out of a cluster.
enum class Bar { Pinned, Excluded, Pool };
/// The best cluster the job does not allow itself and where it would start now.
struct OtherCluster {
  ClusterId cluster;
  Bar bar = Bar::Pinned;
};
/// It would start now on a GPU type that it does not ask for.
struct OtherGpuType {
  TypeId type;
  ClusterId cluster;
};
/// The smallest priority at which it would go on. With victims: they are stopped for it. Without:
/// it starts now, past the first of its fifo queue or on nodes reserved for a lower class.
struct HigherPriority {
  int priority = 0;
  int victims = 0;
};
/// `bound` tells the limit to raise: the maximum, the borrow limit, or (Held) the guarantee.
struct QuotaRaise {
  QueueId queue;
  ResourceId resource;
  QuotaBound bound = QuotaBound::Maximum;
  std::int64_t amount = 0;
};
/// It would start now if these limits, all of them, were higher by these amounts.
struct MoreQuota {
  std::vector<QuotaRaise> raises;
};
/// There is room (and quota) when this job ends and those that are expected to end before it.
struct WhenJobEnds {
  JobSlot job;
  Time time;
  ClusterId cluster;  // where it will fit
};
/// It would be backfilled now if it ran at most this long.
struct ShorterRunLimit {
  Duration limit;
  ClusterId cluster;
};
/// It would start now if these nodes were not cordoned and were ready.
struct NodesUnavailable {
  int count = 0;
  ClusterId cluster;
  std::vector<NodeId> nodes;
};
/// It would start now in a cluster that it may use but that takes no jobs.
struct ClusterBack {
  ClusterId cluster;
  model::Health health = model::Health::Unreachable;
};
/// No change: others were not tried to the end, because that would have kept the engine from its
/// work for too long. A higher priority may help.
struct CutShort {};

using Counterfactual =
    std::variant<FewerPods, OtherCluster, OtherGpuType, HigherPriority, MoreQuota, WhenJobEnds,
                 ShorterRunLimit, NodesUnavailable, ClusterBack, CutShort>;

/// Everything found for one job, in the order of the types above. Empty for a job that is not
/// waiting for room or quota: its verdict says what it waits for.
std::vector<Counterfactual> what_if(World& world, Agenda& agenda, const Policy& policy, JobSlot job,
                                    Time now);

struct NodeShare {
  NodeId node;
  int pods = 0;
};
/// Would this job start, where, and if not now, why and when.
struct SubmitAnswer {
  bool starts_now = false;
  ClusterId cluster;                // where, if it starts
  PoolId pool;                      // none() without one
  std::vector<NodeShare> nodes;     // if it starts, in order of their names
  std::vector<ClusterScore> table;  // candidates that have room now, best first
  Why why = NotTried{};             // if it does not start
  Estimate estimate;                // of its start
  std::optional<WhenJobEnds> ends;  // if it does not start
};
/// Nothing is submitted. The error is that of model::validate, or of an id that is taken.
Result<SubmitAnswer> what_if_submit(World& world, Agenda& agenda, const Policy& policy,
                                    const model::JobSpec& spec, Time now);

/// Limits of a queue raised by `extra`: the maximum and the guarantee, where they are set.
struct QuotaAsk {
  std::string queue;
  std::string resource;
  std::int64_t extra = 0;
};
struct QuotaAnswer {
  int count = 0;               // jobs of the queue and of those below it that would start now
  bool at_least = false;       // more may start: counting was cut short
  std::vector<JobSlot> first;  // the first ten of them
};
Result<QuotaAnswer> what_if_quota(World& world, Agenda& agenda, const Policy& policy,
                                  const QuotaAsk& ask, Time now);

}  // namespace muster::sched
