// The Jobs and pods that Muster made in a namespace, kept up to date, and which attempts changed.
//
// Threads: informers fill it on the client's I/O thread; `on_change` is called there and must only
// wake somebody, who calls take_touched().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "clusters/kubernetes/gang_state.h"
#include "kube/client.h"
#include "ports/cluster.h"

namespace muster::clusters {

class GangWatch {
 public:
  /// The client must outlive it.
  GangWatch(kube::Client& client, const std::string& ns, std::function<void()> on_change);
  ~GangWatch();

  /// All Jobs and pods were listed once.
  bool has_synced() const;
  /// Attempts that are to be looked at, each once.
  std::vector<ports::Attempt> take_touched();
  /// Look at it even if it does not change.
  void touch(const ports::Attempt& attempt);
  GangState state_of(const ports::Attempt& attempt) const;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace muster::clusters
