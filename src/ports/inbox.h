// The way into the control loop: I/O threads put events, the loop takes them in batches. Bounded: a
// full inbox refuses, and whoever put must say so to its own caller (429) or keep the event and try
// again (a watch), so that a flood is felt where it comes from and not in the loop.
//
// Thread contract: put and size from any thread, take from the loop's thread only.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "model/event.h"

namespace muster::ports {

class Inbox {
 public:
  virtual ~Inbox() = default;
  /// Refuses with Fault::Unavailable when full; a refused event is nowhere.
  virtual Status put(model::Event event) = 0;
  /// At most `most` events, in the order they were put.
  virtual std::vector<model::Event> take(std::size_t most) = 0;
  virtual std::size_t size() const = 0;
};

}  // namespace muster::ports
