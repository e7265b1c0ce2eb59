// Who a cluster is, which Kubernetes it runs and as whom it knows us: asked when it is reached, and
// again now and then, since clusters are upgraded.
//
// Threads: `pass` is for one thread, the rest for any. It must outlive the client's callbacks.
#pragma once

#include <mutex>
#include <string>

#include "base/time.h"
#include "kube/client.h"
#include "ports/cluster.h"

namespace muster::clusters {

class Acquaintance {
 public:
  /// Asks if it is time to. Of one that cannot be reached nothing is asked until it can; what it
  /// said before stays.
  void pass(kube::Client& client, bool is_reached, Time now);

  std::string identity() const;  // UID of the namespace kube-system; "": it may not be read
  ports::ClusterAbout about() const;

 private:
  void ask_identity(kube::Client& client);

  Time next_;
  mutable std::mutex mutex_;
  std::string identity_;  // guarded by mutex_, as the next
  ports::ClusterAbout about_;
};

}  // namespace muster::clusters
