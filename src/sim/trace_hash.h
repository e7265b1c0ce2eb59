// A running hash over all decisions and outcomes: two runs are the same history if it is equal.
#pragma once

#include <cstdint>

#include "base/hash.h"
#include "model/event.h"

namespace muster::sim {

class TraceHash {
 public:
  void add(Time at, const model::Decision& decision);
  void add(const model::Event& event);  // those that are about a job
  std::uint64_t value() const { return hasher_.value(); }

 private:
  Hasher hasher_;
};

}  // namespace muster::sim
