// The Jobs and pods that Muster made in a namespace, kept up to date, and which attempts changed.
//
// Threads: informers fill it on the client's I/O thread; handlers are called there. on_change must
// only wake somebody, who calls take_touched().
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "clusters/kubernetes/gang_state.h"
#include "kube/client.h"
#include "ports/cluster.h"

namespace muster::clusters {

/// Called on the I/O thread; none may be empty. `watch` is less than GangWatch::watches.
struct GangWatchHandlers {
  std::function<void()> on_change;
  std::function<void(std::size_t watch, const std::string& why)> on_lost;
  std::function<void(std::size_t watch, bool has_synced)> on_found;
};

class GangWatch {
 public:
  static constexpr std::size_t watches = 2;  // Jobs and pods

  /// The client must outlive it.
  GangWatch(kube::Client& client, const std::string& ns, const std::string& selector,
            GangWatchHandlers handlers);
  ~GangWatch();

  /// All Jobs and pods were listed once.
  bool has_synced() const;
  /// Attempts that are to be looked at, each once.
  std::vector<ports::Attempt> take_touched();
  /// Look at it even if it does not change.
  void touch(const ports::Attempt& attempt);
  GangState state_of(const ports::Attempt& attempt) const;
  /// Of a list that is one Job; none: it is not one, or not known yet.
  std::optional<GangState> listed_state_of(const ports::Attempt& attempt) const;
  /// What is seen of it says that it is a list of objects.
  bool is_listed(const ports::Attempt& attempt) const;
  std::vector<PodSight> pods_of(const ports::Attempt& attempt) const;
  /// "Job m-x-1" of each that is deleted and still there.
  std::vector<std::string> going_of(const ports::Attempt& attempt) const;
  /// Of a Job or a pod; none: it is not one of ours, or not known yet.
  std::optional<ports::Attempt> owner_of(const std::string& kind, const std::string& ns,
                                         const std::string& name) const;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace muster::clusters
