// Why a job waits: a type with numbers, never a sentence (sentences are made in view/explain). One
// verdict holds for a whole line, because jobs of one line are equal in everything that decides.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/time.h"
#include "sched/ids.h"

namespace muster::sched {

/// No allowed cluster could ever run it, even empty. `best`: the most pods of the gang any cluster
/// could hold.
struct Infeasible {
  int pods = 0;
  int best = 0;
  ClusterId best_cluster;
};
/// It would fit an empty cluster, but not now. `best`: pods that could be placed in the best
/// cluster now.
struct NoRoom {
  int pods = 0;
  int best = 0;
  ClusterId best_cluster;
};
/// It fits, but would delay the job that holds a reservation.
struct WouldDelay {
  JobSlot holder;
  Time reserved_start;
};
/// Has nodes reserved from `start` on.
struct HasReservation {
  ClusterId cluster;
  Time start;
};
/// Victims are on their way out; it starts when they are gone.
struct Preempting {
  ClusterId cluster;
  int victims = 0;
};
/// Held: promised to others. Kept: for a job that goes first and has nodes reserved.
enum class QuotaBound { Maximum, Borrow, Held, Kept };
struct OverQuota {
  QueueId queue;
  ResourceId resource;
  QuotaBound bound = QuotaBound::Maximum;
  std::int64_t asked = 0;
  std::int64_t room = 0;
};
/// Its queue is fifo and another job is first.
struct BehindFirst {
  JobSlot first;
};
struct NotBefore {
  Time start_after;
};
struct WaitsFor {
  JobSlot dependency;
};
/// No cluster is allowed and able to take jobs.
struct NoCluster {
  int excluded = 0;
  int unhealthy = 0;
  int lacking = 0;                  // that do not serve a kind of its objects
  ShapeId shape = ShapeId::none();  // if some do not: whose kinds
  std::uint32_t lacks = 0;          // and which of them
};
struct UnknownQueue {};
/// Its queue is of a further tree: those say yes or no to jobs of the main tree, and order none.
struct FurtherTree {
  QueueId queue;
};
struct OnHold {};
struct NotTried {};  // not looked at yet: newer than the last plan

using Why =
    std::variant<NotTried, Infeasible, NoRoom, WouldDelay, HasReservation, Preempting, OverQuota,
                 BehindFirst, NotBefore, WaitsFor, NoCluster, UnknownQueue, FurtherTree, OnHold>;

/// When a job is expected to start, with a band that holds four times out of five if the past is a
/// guide.
struct Estimate {
  Time low;
  Time expected;
  Time high;
};

}  // namespace muster::sched
