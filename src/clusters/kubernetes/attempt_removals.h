// Deletes what attempts made in a cluster, and asks whether all of it is gone: of many attempts in
// one request. An API server goes through all objects of a kind for each such request, so that one
// a gang would take ever longer the more gangs there are.
//
// The first that comes is served at once; those that come meanwhile go together next.
//
// Threads: any; what was given is called exactly once, on the client's I/O thread, at the latest
// while the client is destroyed.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kube/client.h"
#include "ports/cluster.h"

namespace muster::clusters {

/// Which deletes of an attempt the server took.
enum class Taken {
  All,
  AllButRoots,  // whoever asks whether it is gone meets those that are left, and nothing else is
  No,           // something may be left that nobody looks for, as Secrets: they have no owner
};

class AttemptRemovals {
 public:
  /// The client must outlive it.
  AttemptRemovals(kube::Client& client, std::string server);
  ~AttemptRemovals();

  /// Deletes all that carries the attempt's labels, what owns others first, pods with their own
  /// grace. Not taken: the server did not answer, or not now; it is to be asked again before
  /// anybody asks whether all is gone. Roots that it does not delete now keep the rest from
  /// nothing.
  void remove(const std::string& ns, const ports::Attempt& attempt,
              std::function<void(Taken taken)> done);
  /// Whether the cluster, asked for its newest state, has neither Jobs nor pods nor a root of it.
  /// False when it does not answer. Secrets are not asked for, which takes a permission to read
  /// them all: they are gone when their delete was taken.
  void confirm_gone(const std::string& ns, const ports::Attempt& attempt,
                    std::function<void(bool is_gone)> done);
  /// What the server said of a delete that it did not take; "": in each namespace it has taken the
  /// last one.
  std::string refusal() const;

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace muster::clusters
