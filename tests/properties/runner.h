// Runs a history through the engine and looks at everything that must hold on the way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/event.h"
#include "sched/policy.h"
#include "tests/properties/history.h"

namespace muster::properties {

struct Outcome {
  std::string wrong;                    // empty, or the property that does not hold and where
  std::vector<std::string> transcript;  // decisions in order
  std::uint64_t hash = 0;               // of the world at the end
  std::size_t placed = 0;
  std::size_t evicted = 0;
  std::vector<model::Event> events;  // as they were applied
  sched::Policy policy;              // at the end
};

/// One line that tells a decision from any other.
std::string show(const model::Decision& decision);

/// Properties 1 to 6 and 8 to 10 on one history. Lines that do not apply are passed over.
Outcome run(const History& history);

/// run(), and property 7: the same facts in another order give the same decisions.
std::string first_wrong(const History& history);

}  // namespace muster::properties
