// Where clusters say how the objects and pods of a job stand that somebody on a hub cluster waits
// for (model::HubObject): more than the loop needs to know, and never the ground of a decision.
//
// Thread contract: called from the clusters' own threads, several at once; may block shortly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/ailment.h"
#include "ports/cluster.h"

namespace muster::ports {

struct PodCounts {
  int pending = 0;
  int running = 0;  // without those that are being deleted
  int succeeded = 0;
  int failed = 0;
  friend bool operator==(const PodCounts&, const PodCounts&) = default;
};

/// A pod that does not start, in parts.
struct StuckPod {
  std::string pod = {};
  bool is_on_node = false;   // false: it has found none
  std::string reason = {};   // one word; "": there is none
  std::string message = {};  // for people
  friend bool operator==(const StuckPod&, const StuckPod&) = default;
};

struct AttemptSight {
  Attempt attempt;
  std::string cluster;
  bool is_made = false;      // all its objects
  bool is_complete = false;  // its objects say that they are done; pods may still run
  int requeues = 0;  // of the job before this attempt, because it failed or pods were missing
  PodCounts pods = {};
  std::int64_t needed_pods = 0;  // that have to run, or to have succeeded; 0: it is not known
  /// Why pods do not start, or why it is removed; "": nothing is known to be wrong.
  std::string trouble = {};
  std::vector<StuckPod> stuck_pods = {};  // by their names, the first few
  model::Ailment ailment = model::Ailment::None;
  bool is_removed = false;        // its objects are, because of that, and when they are gone
  bool fails = false;             // its job has failed; else that queues again
  std::string kept_failure = {};  // it failed for good and its objects are still there: why it did
  friend bool operator==(const AttemptSight&, const AttemptSight&) = default;
};

class AttemptSights {
 public:
  virtual ~AttemptSights() = default;
  /// Called when something of it changed, and again after the cluster was opened anew.
  virtual void seen(const AttemptSight& sight) = 0;
};

}  // namespace muster::ports
