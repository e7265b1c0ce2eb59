// Pods that come after their attempt took their object over (adoption.h): templates that another
// controller made have no labels of Muster, and those that an earlier server made have its own, so
// that what a Deployment, a Job or KubeRay makes in the place of a pod has the same. Such pods are
// found by their owners and marked like the others.
//
// Only namespaces with objects of that kind are looked at, so a cluster without a takeover costs
// nothing.
//
// Threads: everything from the cluster's own; what is seen comes on the client's I/O thread.
#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/time.h"
#include "kube/client.h"
#include "kube/reflector.h"
#include "ports/cluster.h"

namespace muster::clusters {

/// What a pod that comes from this object is to have in its metadata; none: the object was not
/// taken over. Pure.
std::optional<boost::json::value> foster_marks(const boost::json::value& object);

/// When everything is looked at again because something could not be found out: soon at first, then
/// with pauses that double up to a minute, until a whole one has passed in which nothing was
/// missed.
class MissedPause {
 public:
  bool is_due(bool has_missed, Time now);

 private:
  Duration pause_;
  Time until_;
};

class FosterPods {
 public:
  /// The client must outlive it. `server`: whose pods need no look.
  FosterPods(kube::Client& client, std::string server);
  ~FosterPods();

  /// The attempt has so many objects there that it took over. They are taken one after the other,
  /// so each that is new may own pods that were taken for those of others before.
  void look_after(const ports::Attempt& attempt, const std::string& ns, std::size_t objects);
  void forget(const std::function<bool(const ports::Attempt&)>& is_over);
  /// Now and then: begins to look where it is to, and ends where nothing is left to look after.
  void pass(Time now);

 private:
  class Core;
  struct Space {
    std::map<ports::Attempt, std::size_t> attempts = {};  // and how many objects each has
    bool is_stale = true;  // an object came whose pods were taken for those of others
    std::unique_ptr<kube::Reflector> pods = {};
  };
  kube::Client& client_;
  const std::string server_;
  std::shared_ptr<Core> core_;
  std::map<std::string, Space> spaces_;
  bool has_missed_ = false;  // something, since everything was looked at last
  MissedPause missed_pause_;
};

}  // namespace muster::clusters
