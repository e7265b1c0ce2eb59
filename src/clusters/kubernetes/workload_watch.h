// The attempts that are lists of objects: their roots, and the objects of every kind that a root
// names, kept up to date. A kind is watched from the moment a root names it.
//
// Threads: informers fill it on the client's I/O thread, where on_touch is called and must only
// note the attempt; everything else from any thread. What may not be watched is told by state_of.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "clusters/kubernetes/gang_state.h"
#include "clusters/kubernetes/workload_state.h"
#include "kube/client.h"
#include "ports/cluster.h"

namespace muster::clusters {

class WorkloadWatch {
 public:
  using OnTouch = std::function<void(const ports::Attempt&)>;
  /// The client must outlive it.
  WorkloadWatch(kube::Client& client, std::string ns, std::string selector, OnTouch on_touch);
  ~WorkloadWatch();

  /// Which attempts are lists is known, or cannot be: whoever may not see roots has none.
  bool has_answered() const;
  /// None while it is not known, or is no list of objects.
  std::optional<GangState> state_of(const ports::Attempt& attempt,
                                    const std::vector<PodSight>& pods) const;
  /// Whether the root wants its objects to stay now that they have ended by themselves. Not known
  /// until all of them are seen.
  enum class Kept { No, Yes, NotKnown };
  Kept is_kept(const ports::Attempt& attempt, const std::vector<PodSight>& pods) const;
  /// Whether objects of it are there, or may be, of the kinds that are watched. The garbage
  /// collector learns late of kinds that are new: the root may be gone before what it owned is.
  bool may_have_objects(const ports::Attempt& attempt) const;
  /// "RayCluster train" of each object of a list that is deleted and still there, the root last.
  std::vector<std::string> going_of(const ports::Attempt& attempt) const;
  /// Of an object of a list; none: it is not one of ours, or not known yet.
  std::optional<ports::Attempt> owner_of(const std::string& kind, const std::string& ns,
                                         const std::string& name) const;

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace muster::clusters
