// The journal: the books in the order they happened. World is the fold of it, so what is committed
// here is what Muster remembers, and nothing else.
//
// Thread contract: one writer, the loop; reading is for start and for tools.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/result.h"
#include "model/event.h"

namespace muster::ports {

struct Entry {
  std::uint64_t sequence = 0;
  model::Event event;
};

class Store {
 public:
  virtual ~Store() = default;
  /// All of the batch or nothing of it, durable when it returns. Sequence numbers are contiguous
  /// and start at 1. Returns the last one in the journal; an empty batch changes nothing. A
  /// Fault::Unavailable may be tried again; a Fault::Conflict means that another leader writes now.
  virtual Result<std::uint64_t> commit(std::span<const model::Event> batch) = 0;
  /// Every entry with a sequence of `from` or more, in order.
  virtual Status read(std::uint64_t from, const std::function<void(const Entry&)>& each) const = 0;
  /// Of the newest entry; 0 for an empty journal.
  virtual std::uint64_t last() const = 0;
};

}  // namespace muster::ports
