// How many pods of each set of a gang.
#pragma once

#include <vector>

#include "sched/shapes.h"

namespace muster::sched {

using Counts = std::vector<int>;  // pods per set

Counts full_of(const Shape& shape);
Counts least_of(const Shape& shape);
int sum(const Counts& counts);
/// One pod less from the largest set that is above its floor; false if none is.
bool shrink(Counts& counts, const Counts& floor);
/// `pods` less, one after the other, as far as the floor allows.
Counts shrunk(Counts counts, const Counts& floor, int pods);

}  // namespace muster::sched
