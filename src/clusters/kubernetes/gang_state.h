// How an attempt stands, from what the cluster shows of its Jobs and pods. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "clusters/kubernetes/attempt_care.h"
#include "manifest/amounts.h"

namespace muster::clusters {

struct OwnRootedJob;

/// What is kept of a Job that Muster made.
struct JobSight {
  enum class End { None, Complete, Failed };

  std::string job = {};  // of Muster
  std::uint32_t attempt = 0;
  std::string name = {};
  std::string ns = {};
  std::string uid = {};
  std::int64_t completions = 0;
  std::int64_t succeeded = 0;  // pods, as it counts them
  std::size_t sets = 1;        // Jobs of the attempt, as this one says
  End end = End::None;
  std::string why = {};          // it failed
  bool is_out_of_tries = false;  // it failed because more of its pods did than may
  bool is_deleting = false;
  bool is_listed = false;                             // its job is a list of objects
  std::shared_ptr<const OwnRootedJob> own_root = {};  // of a list that is this one Job
};
JobSight job_sight_of(const boost::json::value& job);

/// Whether a pod has output to read: that of its first container.
struct PodOutputSight {
  std::uint32_t rank = 0;  // of the pod in the gang
  std::string container = {};
  bool has_begun = false;
  bool has_ended = false;
};

/// What is kept of a pod that Muster's Jobs made.
struct PodSight {
  std::string job = {};
  std::uint32_t attempt = 0;
  std::string name = {};
  std::string ns = {};
  std::string uid = {};
  std::string node = {};
  std::optional<std::uint32_t> set = {};  // of the gang; none: it is not one of its planned pods
  std::string phase = {};
  bool is_ready = false;
  bool is_deleting = false;
  Time leaves_by = Time::never();  // of one that is deleted: when its grace is over
  Time forced_at = Time::never();  // and when it is forced away, if it may be
  bool is_unplaced = false;        // the cluster's scheduler finds no node for it
  bool is_disrupted = false;       // taken away by others: evicted, preempted, node lost
  bool is_listed = false;          // its job is a list of objects
  bool is_own_rooted = false;      // that is one Job, with no other root
  bool leads = false;              // its kind calls it the head, the master or the first of a group
  int exit_code = 0;               // of the container that failed; 128 + n when signal n ended it
  std::string why = {};            // it failed or does not start
  std::uint8_t why_word = 0;       // so many characters of it are the reason, in one word
  std::vector<std::string> devices = {};  // extended resources that it asks for
  manifest::Amounts asks = {};            // what it takes from its node
  PodOutputSight output = {};

  bool is_live() const { return phase != "Succeeded" && phase != "Failed"; }
};
PodSight pod_sight_of(const boost::json::value& pod);

enum class GangPhase {
  Absent,     // no trace of it
  Starting,   // some pods are not ready yet
  Running,    // all have been made and are ready, or done already
  Succeeded,  // all Jobs are complete
  Failed,     // one has failed by itself
  Disrupted,  // somebody else took a pod or a Job away
  Partial,    // not all its objects are there: not yet, or not any more
  Withdrawn,  // it is being deleted with the object that owns it
};

struct GangState {
  GangPhase phase = GangPhase::Absent;
  int exit_code = 0;
  std::string reason = {};     // for people: which pod and how
  bool has_live_pods = false;  // until this is false its resources are taken
  bool is_ended = false;       // all Jobs have ended, and no pod runs or can come any more
  bool is_guess = false;       // of Failed: a Job says so, and the pod that did it is not seen
  bool is_loss = false;        // of a guess: that pod is gone, and nothing says that it failed
  bool lacks_pods = false;     // of Succeeded: not all pods that have are seen, nor their output
  bool is_unplaced = false;    // of Starting: the pod that `reason` names finds no node

  // Of lists of objects.
  AttemptCare care = {};
  bool is_known = true;          // false: its objects are not all seen yet
  std::int64_t needed_pods = 0;  // that have to be ready, or to have succeeded
  std::int64_t least_pods = 0;   // of what scales itself: so many once all were there
  std::int64_t ready_pods = 0;   // of those that run
  std::int64_t succeeded_pods = 0;
  bool is_complete = false;      // its objects say that they are done; pods may still run
  bool is_missing = false;       // of Disrupted: one of its objects was deleted
  bool is_root_leaving = false;  // the root is being deleted, as Muster itself does it first
  bool is_rootless = false;      // the Job that was its own root is gone, and with it its care
  std::int64_t there_pods = 0;   // that start, run or have succeeded
  std::int64_t failed_pods = 0;  // and one of these, for its exit code and what is said of it:
  int failed_code = 0;
  std::string failed_why = {};
  std::string adopted_in = {};  // the namespace, if any of its objects was taken over; "": none
  std::size_t adopted = 0;      // how many of them were, as far as is seen

  bool has_pods(std::int64_t needed) const {
    return is_complete || ready_pods + succeeded_pods >= needed;
  }
  bool has_enough_pods() const { return has_pods(needed_pods); }
};

/// Of pods that were deleted, those that are still there long after their grace: `lost` on nodes
/// that are gone or out of service, which will never say that they ended; `forced`, of jobs that
/// want it so, whatever their nodes say; `stuck` the others.
struct OverduePods {
  std::vector<PodSight> lost;
  std::vector<PodSight> forced;
  std::vector<PodSight> stuck;
};
OverduePods overdue_among(const std::vector<PodSight>& pods,
                          const std::function<bool(const std::string& node)>& is_lost, Time now);

/// `taken`: which pod was deleted while it could still run, if any was; nothing of it may be left.
GangState gang_state_of(const std::vector<JobSight>& jobs, const std::vector<PodSight>& pods,
                        const std::string& taken = "");
/// Whether they come of a list of objects: then its root says how they stand, not they alone.
bool is_of_a_list(const std::vector<JobSight>& jobs, const std::vector<PodSight>& pods);
/// Whether the loss of this pod, deleted or gone, tears its gang apart.
bool is_taken_away(const PodSight& pod);

}  // namespace muster::clusters
