// Changes to the world that take themselves back at the end of their scope: other limits, another
// priority, nodes back in use, quota given back, a job that is only a guest. Each leaves
// World::hash() as it was. The fleet's log of gains must be quiet meanwhile (a Trial sees to that).
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "base/time.h"
#include "model/job.h"
#include "model/queue.h"
#include "sched/ids.h"
#include "sched/route.h"
#include "sched/world.h"

namespace muster::sched {

/// Limits of queues, higher than they are.
class OtherLimits {
 public:
  explicit OtherLimits(World& world) : world_(world), quota_(world.quota) {}
  ~OtherLimits();
  OtherLimits(const OtherLimits&) = delete;
  OtherLimits& operator=(const OtherLimits&) = delete;

  /// The limit of this kind by this much; Held raises the guarantee.
  void raise(QueueId queue, ResourceId resource, QuotaBound bound, std::int64_t amount);
  /// Maximum and guarantee, where they are set.
  void raise_all(QueueId queue, ResourceId resource, std::int64_t amount);

 private:
  model::Limit& begin(QueueId queue, ResourceId resource);
  void set(const model::QueueSpec& spec);
  World& world_;
  QuotaTree& quota_;
  model::QueueSpec spec_;
  std::vector<model::QueueSpec> was_;
};

/// Another priority of a job. Lines do not move.
class OtherPriority {
 public:
  OtherPriority(World& world, JobSlot slot)
      : world_(world), slot_(slot), was_(world.job(slot).priority) {}
  ~OtherPriority() { set(was_); }
  OtherPriority(const OtherPriority&) = delete;
  OtherPriority& operator=(const OtherPriority&) = delete;
  void set(int priority) { world_.job(slot_).priority = priority; }

 private:
  World& world_;
  JobSlot slot_;
  int was_;
};

/// Cordoned and not-ready nodes of the venues' clusters in use.
class AllNodesUsable {
 public:
  AllNodesUsable(World& world, const Venues& venues);
  ~AllNodesUsable();
  AllNodesUsable(const AllNodesUsable&) = delete;
  AllNodesUsable& operator=(const AllNodesUsable&) = delete;
  const std::set<NodeId>& nodes() const { return nodes_; }

 private:
  Fleet& fleet_;
  Rules rules_;
  std::set<NodeId> nodes_;
};

/// Jobs that do not charge their quota any more; they keep their nodes.
class QuotaReleased {
 public:
  explicit QuotaReleased(World& world) : world_(world) {}
  ~QuotaReleased();
  QuotaReleased(const QuotaReleased&) = delete;
  QuotaReleased& operator=(const QuotaReleased&) = delete;
  void end(JobSlot job);

 private:
  void charge(const Job& job, int sign);
  World& world_;
  std::vector<JobSlot> ended_;
};

/// A job in the world's table, but in no line. Its queue must exist.
class Guest {
 public:
  Guest(World& world, const model::JobSpec& spec, Time now);
  ~Guest() {
    world_.withdraw_guest(slot_);
    world_.hide_again(shown_);
  }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;
  JobSlot slot() const { return slot_; }

 private:
  World& world_;
  std::vector<ShownLabels> shown_;
  JobSlot slot_;
};

bool has_venue(const Venues& venues, ClusterId cluster);

}  // namespace muster::sched
