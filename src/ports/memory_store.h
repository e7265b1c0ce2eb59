// A journal that lives as long as the object: for tests and for the simulator, whose crashes lose
// everything but this.
#pragma once

#include <vector>

#include "ports/store.h"

namespace muster::ports {

class MemoryStore : public Store {
 public:
  Result<std::uint64_t> commit(std::span<const model::Event> batch) override {
    if (busy_ > 0 && !batch.empty()) {
      --busy_;
      return Error{Fault::Unavailable, "the store is busy: try again later"};
    }
    events_.insert(events_.end(), batch.begin(), batch.end());
    return last();
  }

  Status read(std::uint64_t from, const std::function<void(const Entry&)>& each) const override {
    for (std::uint64_t sequence = from == 0 ? 1 : from; sequence <= last(); ++sequence) {
      each({sequence, events_[sequence - 1]});
    }
    return Ok{};
  }

  std::uint64_t last() const override { return events_.size(); }

  /// The next `commits` commits are refused.
  void be_busy(int commits) { busy_ = commits; }

 private:
  std::vector<model::Event> events_;
  int busy_ = 0;
};

}  // namespace muster::ports
