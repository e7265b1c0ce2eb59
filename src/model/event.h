// Everything that changes the world is an event. Books (what people asked, what Muster decided,
// what came of it) are journaled; sight (nodes, foreign pods, health) is not. A decision of the
// planner is an event as well: Plan holds Decisions, the control loop commits them and applies them
// like any other event.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "model/ailment.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/node.h"
#include "model/queue.h"

namespace muster::model {

// ---- what people ask
struct JobSubmitted {
  JobSpec spec;
  std::uint64_t seq = 0;
  Labels labels = {};  // for people and filters: the engine forgets them
};
struct JobCancelled {
  std::string job;
};
/// It is not placed until it is released. One that has nodes is left alone, unless `stops`: then
/// its attempt is stopped, which is no failure, and it is held when its pods are gone.
struct JobHeld {
  std::string job;
  bool stops = false;
};
/// Also of one that is being stopped to be held: it then queues again.
struct JobReleased {
  std::string job;
};
struct PriorityChanged {
  std::string job;
  int priority = 0;
};
struct QueueChanged {
  std::string job;
  std::string queue;
};
struct QueueSet {
  QueueSpec spec;
};
struct QueueRemoved {
  std::string queue;
};
struct PoolSet {
  PoolSpec spec;
};
struct FleetPoolSet {
  FleetPoolSpec spec;
};
struct ClusterSet {
  ClusterSpec spec;
};
struct ClusterLeft {
  std::string cluster;
};

// ---- what the planner decides
struct PodPlace {
  std::uint32_t set = 0;  // index in Gang::sets
  std::string node;
  std::string gpu_type;       // empty without GPUs
  std::uint32_t devices = 0;  // bit i: device i of the node
  std::uint16_t each = 0;     // thousandths taken of each of them
  friend bool operator==(const PodPlace&, const PodPlace&) = default;
};
struct Placed {
  std::string job;
  std::uint32_t attempt = 0;
  std::string cluster;
  std::string pool;
  std::vector<PodPlace> pods;
};
enum class StopWhy { Priority, Reclaim, Drain, RunLimit, ClusterLost };
/// Ends an attempt. Preemption and drain return the job to its queue; RunLimit fails it;
/// ClusterLost starts it again elsewhere at once because its owner chose `rerun`.
struct Stopped {
  std::string job;
  std::uint32_t attempt = 0;
  StopWhy why = StopWhy::Priority;
  std::string beneficiary;  // for Priority and Reclaim: the job that fits because of it
};
/// Nodes kept for a job from `start` on. `preempting`: its victims are on their way out.
struct Reserved {
  std::string job;
  std::string cluster;
  Time start;
  bool preempting = false;
  std::vector<std::string> nodes;
  /// What its queues are charged meanwhile, by resource. Said here because it depends on the GPUs
  /// of nodes, which no journal knows. Old journals do not say it.
  std::map<std::string, std::int64_t> charges{};
};
struct ReservationDropped {
  std::string job;
};
enum class FailWhy { DependencyFailed, DeadlinePassed, RetriesExhausted /* of old journals */ };
struct GivenUp {
  std::string job;
  FailWhy why = FailWhy::DependencyFailed;
};

// ---- what came of it
struct Started {
  std::string job;
  std::uint32_t attempt = 0;
};
struct Finished {
  std::string job;
  std::uint32_t attempt = 0;
  bool success = true;
  int exit_code = 0;     // of the first pod that failed; 128 + n when signal n ended it
  std::string reason{};  // for people: which pod failed and how; empty when all went well
  Ailment ailment = Ailment::None;  // what the reason says; None also where nobody tells
};
/// The attempt did not come to run (conflict, node lost, not ready in time): whole gang back to the
/// queue after a pause.
struct StartFailed {
  std::string job;
  std::uint32_t attempt = 0;
  Time not_before;
  std::string reason{};  // for people
  /// How often the job was requeued so far in a way that its own limit counts; 0: as before.
  std::uint32_t requeues = 0;
  Ailment ailment = Ailment::None;  // what the reason says; None also where nobody tells
};
/// Its cluster is about to remove the attempt; StartFailed, or Finished, follows when its pods are
/// gone. Told so that a server that starts in between knows that nobody else removed it.
struct Ailing {
  std::string job;
  std::uint32_t attempt = 0;
  Demise demise;
};
/// A stopped attempt's pods are gone.
struct Gone {
  std::string job;
  std::uint32_t attempt = 0;
};
/// Where the pods of an attempt are, when that is not where they were planned: the whole gang as it
/// stands now. Of `devices` only the number counts: nobody says which of them a pod got.
struct PodsBound {
  std::string job;
  std::uint32_t attempt = 0;
  std::vector<PodPlace> pods;
};
struct Checkpointed {
  std::string job;
};
struct ClusterHealth {
  std::string cluster;
  Health health = Health::Ready;
};

// ---- sight
/// Which kinds of objects a cluster serves, "ray.io/v1/RayCluster". One that never says so takes
/// whatever is sent there.
struct ClusterKinds {
  std::string cluster;
  std::vector<std::string> kinds;  // in order, each once
  bool is_known = true;            // false: as if it had never said so
};
struct NodeSeen {
  std::string cluster;
  NodeSpec node;
};
struct NodeGone {
  std::string cluster;
  std::string node;
};
struct ForeignPodSeen {
  std::string cluster;
  ForeignPod pod;
};
struct ForeignPodGone {
  std::string cluster;
  std::string uid;
};

/// Time has passed: jobs whose start-after or pause is over join their lines.
struct Ticked {};

// ---- what the books need not know any more
/// Jobs that finished at `until` or before leave the engine, but for those that something in it
/// still refers to; run times learned from names that nobody has used since `names_until` go too.
/// The tables keep finished jobs as long as retention says. At least one plan lies between `until`
/// and this event.
struct FinishedForgotten {
  Time until;
  Time names_until;
};

using Decision = std::variant<Placed, Stopped, Reserved, ReservationDropped, GivenUp>;
using AnyEvent =
    std::variant<JobSubmitted, JobCancelled, JobHeld, JobReleased, PriorityChanged, QueueChanged,
                 QueueSet, QueueRemoved, PoolSet, FleetPoolSet, ClusterSet, ClusterLeft, Placed,
                 Stopped, Reserved, ReservationDropped, GivenUp, Started, Finished, StartFailed,
                 Gone, Checkpointed, ClusterHealth, NodeSeen, NodeGone, ForeignPodSeen,
                 ForeignPodGone, Ticked, FinishedForgotten, PodsBound, ClusterKinds, Ailing>;

/// The variant, copied, moved and destroyed by event.cc alone: every file that holds events would
/// make these for itself, which is slow to compile.
struct EventBody : AnyEvent {
  using AnyEvent::AnyEvent;
  EventBody();
  EventBody(const EventBody& other);
  EventBody(EventBody&& other) noexcept;
  EventBody& operator=(const EventBody& other);
  EventBody& operator=(EventBody&& other) noexcept;
  ~EventBody();
};

struct Event {
  Time at;
  EventBody body;
};

EventBody to_event(Decision decision);

}  // namespace muster::model
