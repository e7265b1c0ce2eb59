// How an attempt stands that is a list of Kubernetes objects: from what the objects say of
// themselves, and from their pods. Pure.
//
// Kinds with an end (Job, JobSet, RayJob, the training kinds, Pod) decide the outcome: one failed
// is a failure, all complete is success, and then whatever is left of the list is removed. Kinds
// without one (Deployment, StatefulSet, RayCluster, LeaderWorkerSet) just run. Of a kind that
// Muster does not know, the usual conditions count, or else its pods. An object whose list says by
// which conditions it is complete (complete_when_annotation) is so by these alone, whatever its
// kind.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "clusters/kubernetes/gang_state.h"
#include "clusters/kubernetes/listed_objects.h"

namespace muster::clusters {

struct WorkloadSight {
  enum class End { None, Complete, Failed };

  std::string job = {};  // of Muster
  std::uint32_t attempt = 0;
  std::string kind = {};
  std::string name = {};
  bool is_workload = true;  // it makes pods, or its list says when it is complete
  bool is_endless = false;  // its kind has no end
  bool is_silent = false;   // nothing in it says how it stands: its pods do
  bool is_vague = false;    // what it says has no end, and its kind is none of which that is known
  End end = End::None;
  std::int64_t succeeded = 0;  // pods, as a Job counts them
  std::string why = {};        // it failed, or does not get ready
  bool is_deleting = false;
  std::string adopted_in = {};  // another controller made it in this namespace; "": Muster did
};
/// The kind is told apart: objects in lists do not say theirs.
WorkloadSight workload_sight_of(const boost::json::value& object, std::string kind);

/// A Job that is its own root: the attempt as a whole.
struct OwnRootedJob {
  RootSight root;
  WorkloadSight workload;
};
/// How such an attempt stands; its Job may be gone, and pods that say they were its be left. None:
/// it is not one.
std::optional<GangState> own_rooted_state_of(const std::vector<JobSight>& jobs,
                                             const std::vector<PodSight>& pods);

/// Whether objects that ended by themselves are to stay, as they stand.
bool stays_when_ended(const GangState& state);
/// Whether they are those of a failure, and stay for a while.
bool stays_when_failed(const GangState& state);

GangState workload_state_of(const RootSight& root, const std::vector<WorkloadSight>& workloads,
                            const std::vector<PodSight>& pods);

}  // namespace muster::clusters
