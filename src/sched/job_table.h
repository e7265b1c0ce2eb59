// What the engine remembers of each job, and the lines in which equal waiting jobs stand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/time.h"
#include "model/event.h"
#include "model/state.h"
#include "sched/fleet.h"
#include "sched/ids.h"
#include "sched/quota.h"
#include "sched/spare_labels.h"
#include "sched/verdict.h"

namespace muster::sched {

/// An attempt that holds nodes and quota.
struct Active {
  ClusterId cluster;
  std::vector<PodOn> pods;
  Charges charges;
  std::int64_t gpu_milli = 0;
  Time expected_end;  // as seen when it was placed, for the outlook
  Time placed_at;
  Time started_at = Time::never();
  Time checkpoint_at{0};
  bool stopping = false;
  model::StopWhy stop = model::StopWhy::Priority;
  bool cancelled = false;
  bool held = false;                // of stopping: when its pods are gone the job is held
  model::Demise demise;             // its cluster removes it, because of that
  JobSlot beneficiary;              // the job it is stopped for
  std::uint32_t at_in_cluster = 0;  // index in World::active_in(cluster), stays_in, stakes_in
  int counted_at = 0;               // its class while it counts among those who may be evicted
  std::vector<TypeId> counted;      // and the GPU type of each pod's node then
  std::uint64_t counted_types = 0;  // all of those, a bit for each
};

/// Types beyond the last bit share it.
inline std::uint64_t type_bit(TypeId type) {
  return std::uint64_t{1} << std::min<std::uint32_t>(type.v, 63);
}

/// What it has of its queue's guarantee is its own until it leaves for another's sake.
inline bool counts_in_guarantee(const Active& active) {
  return !active.stopping || active.beneficiary.is_none();
}

struct Job {
  std::string id;  // empty: the slot is free
  std::uint64_t seq = 0;
  QueueId queue;
  ShapeId shape;
  int priority = 0;
  std::uint32_t attempt = 0;  // of the newest placement; 0: never placed
  std::uint32_t failures = 0;
  std::uint32_t requeues = 0;  // as its cluster counted them: see model::StartFailed
  bool ran = false;            // started at least once: its deadline is met
  model::JobState state = model::JobState::Waiting;
  LineId line;  // while it stands in one
  TextId user;
  TextId name;
  HistoryId history;  // of its user and name
  ReservationId reservation;
  Time submitted;
  Time eligible_at{0};  // start-after, or the end of a pause after a failed start
  Time deadline = Time::never();
  Time finished{0};  // once it is final
  Duration run_limit{0};
  std::vector<ClusterId> failed_in;  // where its starts failed since it last ran, the latest last
  std::vector<QueueId> extra_queues;
  std::vector<std::string> depends_on;  // those not yet succeeded
  std::unique_ptr<Active> active;
  SpareLabels spare;            // of its pods, not in its shape
  std::uint64_t gang_hash = 0;  // of what was asked for, with those
  // The estimate given when it was queued, for the score; none was while `first_high` is 0.
  Time first_low{0};
  Time first_expected{0};
  Time first_high{0};
};

/// What the end of an attempt is reckoned from, apart from the job: all running jobs of a cluster
/// are looked through whenever nodes are reserved.
struct Stay {
  Time from;  // its start, or its placement until it has started
  Duration run_limit{0};
  HistoryId history;
  bool stopping = false;
  friend bool operator==(const Stay&, const Stay&) = default;
};

inline Stay stay_of(const Job& job) {
  const Active& a = *job.active;
  return {a.started_at.is_never() ? a.placed_at : a.started_at, job.run_limit, job.history,
          a.stopping};
}

/// What stopping an attempt would cost, apart from the job: all running jobs of a cluster are
/// looked through whenever somebody must go, and while it is lost or drains.
struct Stake {
  bool stopping = false;
  bool preemptible = false;
  bool reruns = false;      // elsewhere, when its cluster is lost
  int priority = 0;         // class, and
  std::uint64_t types = 0;  // GPU types of its nodes, a bit for each, if others may evict it
  std::int64_t gpu_milli = 0;
  Time started_at = Time::never();
  Time checkpoint_at{0};
  Duration min_runtime{0};
  friend bool operator==(const Stake&, const Stake&) = default;
};

inline Stake stake_of(const Job& job, const model::Gang& gang) {
  const Active& a = *job.active;
  const bool reruns = gang.on_cluster_loss == model::OnClusterLoss::Rerun;
  return {a.stopping,  gang.preemptible, reruns,          a.counted_at,    a.counted_types,
          a.gpu_milli, a.started_at,     a.checkpoint_at, gang.min_runtime};
}

/// Order inside a queue: the user's priority, then the order of submission.
inline bool comes_before(const Job& a, const Job& b) {
  return std::tie(b.priority, a.seq, a.id) < std::tie(a.priority, b.seq, b.id);
}

/// Clusters where its starts failed come after all others, the one that failed last at the end:
/// otherwise it would try the same one for ever. 0: none failed there.
inline std::ptrdiff_t turn_of(const Job& job, ClusterId cluster) {
  const auto it = std::find(job.failed_in.begin(), job.failed_in.end(), cluster);
  return it == job.failed_in.end() ? 0 : 1 + (it - job.failed_in.begin());
}

/// Jobs of one queue, shape, priority and run-time limit: equal in everything that decides, so only
/// the first is tried.
struct Line {
  QueueId queue;
  std::vector<QueueId> extra_queues;
  ShapeId shape;
  int priority = 0;
  Duration run_limit{0};
  std::map<std::pair<std::uint64_t, std::string_view>, JobSlot> jobs;  // by (sequence, its id)
  HistoryId history;              // of the first job, while it has jobs
  std::uint32_t at_in_shape = 0;  // index in World::lines_of_shape(shape), while it has jobs
};

/// The same for a line and for jobs that stand in it, and for few others.
template <typename LineOrJob>
std::uint64_t line_key(const LineOrJob& of) {
  Hasher hash;
  hash.add(of.queue.v).add(of.shape.v).add(of.priority).add(of.run_limit.ms);
  for (const QueueId queue : of.extra_queues) hash.add(queue.v);
  return hash.value();
}

/// Order of lines inside a queue: user's priority, then the first job's sequence and id.
struct LineRank {
  int priority = 0;
  JobSlot job;  // the first
  std::uint64_t seq = 0;
  LineId line;
  ShapeId shape;
};

struct Reservation {
  JobSlot job;
  ClusterId cluster;
  Time start;
  bool preempting = false;
  std::vector<NodeId> nodes;
  Charges charges;  // what it will use; held in its queues while its victims leave
};

/// How long jobs of one user and name took lately, and the lines whose first job is one of them.
struct History {
  TextId user;
  TextId name;
  std::vector<std::int64_t> recent_ms;  // ring of the last eight
  std::size_t next = 0;
  std::set<LineId> lines;
  std::uint32_t jobs = 0;  // in the table; without any it is idle, and forgotten after a while
  Time idle_since;
};

/// Past estimates against what happened.
struct EstimateScore {
  std::uint64_t scored = 0;
  std::uint64_t inside_band = 0;
  std::uint64_t early = 0;        // started before the band
  std::uint64_t late = 0;         // started after it
  std::int64_t error_sum_ms = 0;  // absolute error of the expected start
  /// Counts of actual/estimated wait in 16 steps of a factor of two around 1, for the width of the
  /// band.
  std::array<std::uint32_t, 16> ratio{};
};

}  // namespace muster::sched
