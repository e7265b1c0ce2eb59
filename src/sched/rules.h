// The named rules of scheduling. Policy carries a set of them, all on. `make mutate` switches each
// off in turn and expects a scenario to notice: a rule that no scenario misses is either dead or
// untested.
#pragma once

#include <bitset>
#include <cstddef>
#include <span>
#include <string_view>

namespace muster::sched {

enum class Rule : std::size_t {
  GangWhole,          // all pods of a gang or none
  Taints,             // untolerated NoSchedule/NoExecute taints forbid a node
  NodeSelector,       // node selector and required affinity
  NodeReady,          // not-ready nodes take nothing
  NodeCordon,         // cordoned nodes take nothing
  PodLimit,           // a node's pod limit
  ForeignPods,        // pods of others use room
  GpuTypes,           // only allowed GPU types
  ShareOneDevice,     // a share never spans two devices
  PodsPerNode,        // at most so many of a set per node
  PodAffinity,        // required pod affinity
  PodAntiAffinity,    // required anti-affinity, both ways
  TopologySpread,     // maxSkew
  HostPorts,          // a port once per node
  VolumeZones,        // bound volumes fix the zone
  TopologyDomain,     // all pods under one label value
  PreferredAffinity,  // preferred terms steer the choice
  Elastic,            // may start with fewer pods
  QuotaMaximum,       // never above maximum
  BorrowLimit,        // never more than borrow above guaranteed
  LendLimit,          // what is not lent stays free for its owner
  ExtraTrees,         // every named tree must allow it
  GuaranteedFirst,    // jobs inside guaranteed amounts go first
  PriorityClass,      // then higher classes
  PriorityCap,        // capped per queue
  FairShare,          // then the lowest weighted dominant share
  HalfLife,           // with memory of past use
  QueueWeight,        // shares are weighted
  GpuWeight,          // GPU types count by weight
  FifoBlocks,         // nothing passes the first in a fifo queue
  Reservation,        // backfill reserves for the first that does not fit
  BackfillQuota,      // quota kept for a job with reserved nodes is left to it
  BackfillNoDelay,    // later jobs do not delay a reservation
  LearnedRunTime,     // past run times shorten the expected end
  PreemptByPriority,  // higher classes may evict lower ones
  Reclaim,            // borrowed amounts are given back
  PreemptibleOnly,    // never evict what is not preemptible
  MinRuntime,         // nor before its minimum run time
  ProtectGuaranteed,  // the potential: nobody inside guaranteed goes for an equal
  CheckpointCost,     // victims by least GPU-time lost since the last checkpoint
  CheapestVictims,    // the set that loses the least, not those who are cheapest one by one
  MinimalVictims,     // no victim that is not needed
  EvictionLimit,      // so many evictions per round
  ClusterPins,        // pins and exclusions
  ClusterKinds,       // only clusters that serve all kinds of its objects
  ClusterHealth,      // only ready and degraded clusters take jobs
  Pools,              // pool filters
  RerunOnLoss,        // rerun elsewhere only if chosen, after grace
  Drain,              // draining clusters give their jobs back
  StartAfter,         // not before start-after
  Deadline,           // a job past its deadline is given up
  Dependencies,       // after the jobs it depends on
  RunLimit,           // stopped at its run-time limit
  Fragmentation,      // node choice by worth of what is left
  Count
};

class Rules {
 public:
  Rules() { on_.set(); }
  bool has(Rule rule) const { return on_[static_cast<std::size_t>(rule)]; }
  void without(Rule rule) { on_.reset(static_cast<std::size_t>(rule)); }
  friend bool operator==(const Rules&, const Rules&) = default;

 private:
  std::bitset<static_cast<std::size_t>(Rule::Count)> on_;
};

std::string_view to_text(Rule rule);
/// Rule::Count when no rule has that name.
Rule rule_of(std::string_view name);

}  // namespace muster::sched
