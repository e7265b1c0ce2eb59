// The classes that can take one more pod of a set, cheapest first and of equals the one whose first
// node comes first. Of most classes only a bound of the cost is ever looked at: a bound that comes
// up is replaced by the true cost, and a true cost that comes up is the least there is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sched/gang.h"

namespace muster::sched {

class CheapestFirst {
 public:
  CheapestFirst(Placer& placer, const Placer::Ask& ask);

  struct Found {
    std::int64_t cost = 0;
    std::uint32_t rank = 0;  // of its first node
    ClassId cls;
    std::uint32_t generation = 0;
    bool is_bound = false;  // `cost` may be too low
  };
  /// Takes it out; nothing if nobody has room.
  std::optional<Found> next();
  /// It has come up, or is to be looked at again.
  void offer(ClassId cls);

 private:
  std::optional<Found> judge(ClassId cls) const;
  void put_in_order();
  Found take_best();

  Placer& placer_;
  const Placer::Ask& ask_;
  std::vector<Found> classes_;
  bool asked_ = false;
  bool in_order_ = false;  // `classes_` is a heap; most who ask want the best alone
};

}  // namespace muster::sched
