#include "store/event_codec.h"

#include <concepts>

#include "store/frames.h"
#include "store/model_fields.h"

namespace muster::store {

namespace wire {

template <typename A>
void fields(A& a, JobSubmitted& e) {
  a(e.spec, e.seq);
  if (a.version >= 2) a(e.labels);
  if (a.version >= 3) a(e.spec.gang.kinds);
}
template <typename A>
void fields(A& a, JobHeld& e) {
  a(e.job);
  if (a.version >= 2) a(e.stops);
}
template <typename A>
void fields(A& a, PriorityChanged& e) {
  a(e.job, e.priority);
}
template <typename A>
void fields(A& a, QueueChanged& e) {
  a(e.job, e.queue);
}
template <typename A>
void fields(A& a, Placed& e) {
  a(e.job, e.attempt, e.cluster, e.pool, e.pods);
}
template <typename A>
void fields(A& a, PodsBound& e) {
  a(e.job, e.attempt, e.pods);
}
template <typename A>
void fields(A& a, Stopped& e) {
  a(e.job, e.attempt, e.why, e.beneficiary);
}
template <typename A>
void fields(A& a, Reserved& e) {
  a(e.job, e.cluster, e.start, e.preempting, e.nodes);
  if (a.version >= 2) a(e.charges);
}
template <typename A>
void fields(A& a, GivenUp& e) {
  a(e.job, e.why);
}
template <typename A>
void fields(A& a, Finished& e) {
  a(e.job, e.attempt, e.success);
  if (a.version >= 2) a(e.exit_code, e.reason);
  if (a.version >= 3) a(e.ailment);
}
template <typename A>
void fields(A& a, StartFailed& e) {
  a(e.job, e.attempt, e.not_before);
  if (a.version >= 2) a(e.reason);
  if (a.version >= 3) a(e.requeues);
  if (a.version >= 4) a(e.ailment);
}
template <typename A>
void fields(A& a, Ailing& e) {
  a(e.job, e.attempt, e.demise);
}
template <typename A>
void fields(A& a, ClusterHealth& e) {
  a(e.cluster, e.health);
}
template <typename A>
void fields(A& a, ClusterKinds& e) {
  a(e.cluster, e.kinds, e.is_known);
}
template <typename A>
void fields(A& a, NodeSeen& e) {
  a(e.cluster, e.node);
}
template <typename A>
void fields(A& a, NodeGone& e) {
  a(e.cluster, e.node);
}
template <typename A>
void fields(A& a, ForeignPodSeen& e) {
  a(e.cluster, e.pod);
}
template <typename A>
void fields(A& a, ForeignPodGone& e) {
  a(e.cluster, e.uid);
}
template <typename A, typename E>
  requires std::same_as<E, JobCancelled> || std::same_as<E, JobReleased> ||
           std::same_as<E, ReservationDropped> || std::same_as<E, Checkpointed>
void fields(A& a, E& e) {
  a(e.job);
}
template <typename A, typename E>
  requires std::same_as<E, Started> || std::same_as<E, Gone>
void fields(A& a, E& e) {
  a(e.job, e.attempt);
}
template <typename A, typename E>
  requires std::same_as<E, QueueSet> || std::same_as<E, PoolSet> || std::same_as<E, FleetPoolSet> ||
           std::same_as<E, ClusterSet>
void fields(A& a, E& e) {
  a(e.spec);
}
template <typename A>
void fields(A& a, QueueRemoved& e) {
  a(e.queue);
}
template <typename A>
void fields(A& a, ClusterLeft& e) {
  a(e.cluster);
}
template <typename A>
void fields(A&, Ticked&) {}
template <typename A>
void fields(A& a, FinishedForgotten& e) {
  a(e.until, e.names_until);
}

}  // namespace wire

namespace {

using namespace model;
using wire::Kind;
using wire::Writer;

template <typename E>
constexpr Kind kind_of() {
  if constexpr (std::same_as<E, JobSubmitted>) return {1, 3, "JobSubmitted"};
  if constexpr (std::same_as<E, JobCancelled>) return {2, 1, "JobCancelled"};
  if constexpr (std::same_as<E, JobHeld>) return {3, 2, "JobHeld"};
  if constexpr (std::same_as<E, JobReleased>) return {4, 1, "JobReleased"};
  if constexpr (std::same_as<E, PriorityChanged>) return {5, 1, "PriorityChanged"};
  if constexpr (std::same_as<E, QueueChanged>) return {6, 1, "QueueChanged"};
  if constexpr (std::same_as<E, QueueSet>) return {7, 1, "QueueSet"};
  if constexpr (std::same_as<E, QueueRemoved>) return {8, 1, "QueueRemoved"};
  if constexpr (std::same_as<E, PoolSet>) return {9, 1, "PoolSet"};
  if constexpr (std::same_as<E, FleetPoolSet>) return {10, 1, "FleetPoolSet"};
  if constexpr (std::same_as<E, ClusterSet>) return {11, 2, "ClusterSet"};
  if constexpr (std::same_as<E, ClusterLeft>) return {12, 1, "ClusterLeft"};
  if constexpr (std::same_as<E, Placed>) return {13, 1, "Placed"};
  if constexpr (std::same_as<E, Stopped>) return {14, 1, "Stopped"};
  if constexpr (std::same_as<E, Reserved>) return {15, 2, "Reserved"};
  if constexpr (std::same_as<E, ReservationDropped>) return {16, 1, "ReservationDropped"};
  if constexpr (std::same_as<E, GivenUp>) return {17, 1, "GivenUp"};
  if constexpr (std::same_as<E, Started>) return {18, 1, "Started"};
  if constexpr (std::same_as<E, Finished>) return {19, 3, "Finished"};
  if constexpr (std::same_as<E, StartFailed>) return {20, 4, "StartFailed"};
  if constexpr (std::same_as<E, Gone>) return {21, 1, "Gone"};
  if constexpr (std::same_as<E, Checkpointed>) return {22, 1, "Checkpointed"};
  if constexpr (std::same_as<E, ClusterHealth>) return {23, 1, "ClusterHealth"};
  if constexpr (std::same_as<E, NodeSeen>) return {24, 1, "NodeSeen"};
  if constexpr (std::same_as<E, NodeGone>) return {25, 1, "NodeGone"};
  if constexpr (std::same_as<E, ForeignPodSeen>) return {26, 1, "ForeignPodSeen"};
  if constexpr (std::same_as<E, ForeignPodGone>) return {27, 1, "ForeignPodGone"};
  if constexpr (std::same_as<E, Ticked>) return {28, 1, "Ticked"};
  if constexpr (std::same_as<E, FinishedForgotten>) return {29, 1, "FinishedForgotten"};
  if constexpr (std::same_as<E, PodsBound>) return {30, 1, "PodsBound"};
  if constexpr (std::same_as<E, ClusterKinds>) return {31, 1, "ClusterKinds"};
  if constexpr (std::same_as<E, Ailing>) return {32, 1, "Ailing"};
}

constexpr wire::Stream stream{"journal", "event"};
constexpr auto known = wire::known_kinds<model::AnyEvent>(
    []<typename E>(std::type_identity<E>) { return kind_of<E>(); });
static_assert(wire::all_differ(known), "two kinds of events share a number");

}  // namespace

void encode(const Event& event, std::string& out) {
  std::visit(
      [&]<typename E>(const E& body) {
        wire::put_frame(kind_of<E>(), out, [&](Writer& writer) {
          Time at = event.at;
          writer(at);
          // The field lists take references that the reader fills; the writer only looks.
          writer(const_cast<E&>(body));
        });
      },
      event.body);
}

Status decode_into(std::string_view& bytes, Event& event) {
  return wire::take_frame(stream, known, bytes, static_cast<model::AnyEvent&>(event.body),
                          [&](wire::Reader& reader) { reader(event.at); });
}

Result<Event> decode(std::string_view& bytes) {
  Event event;
  if (Status status = decode_into(bytes, event); !status) return status.error();
  return event;
}

Status decode_all(std::string_view bytes, const std::function<void(Event&)>& each) {
  Event event;
  while (!bytes.empty()) {
    if (Status status = decode_into(bytes, event); !status) return status;
    each(event);
  }
  return Ok{};
}

}  // namespace muster::store
