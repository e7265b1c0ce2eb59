// The Events of a namespace, on their way to be notes about attempts; none is kept here. Those
// about objects that are not known yet wait a little for them. A cluster whose Events may not be
// read is used without.
//
// Threads: filled on the client's I/O thread, where on_change is called and must only wake
// somebody, who calls tell().
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "clusters/kubernetes/event_sight.h"
#include "kube/client.h"
#include "ports/cluster.h"
#include "ports/pod_notes.h"

namespace muster::clusters {

class EventWatch {
 public:
  /// The client must outlive it.
  EventWatch(kube::Client& client, const std::string& ns, std::function<void()> on_change);
  ~EventWatch();

  /// Whose the object is that an Event is about; none: nobody's, or not known yet.
  using OwnerOf = std::function<std::optional<ports::Attempt>(const EventSight&)>;
  /// Tells those that came, also those that changed: their keys stay the same.
  void tell(const OwnerOf& owner_of, ports::PodNotes& notes, Time now);

 private:
  class Sink;
  struct Core;
  struct Untold {
    EventSight event;
    Time until;
  };
  std::unique_ptr<Core> core_;
  std::vector<Untold> untold_;  // of whoever tells, as the next
  Time look_again_;
};

}  // namespace muster::clusters
