#include "sched/counts.h"

#include <numeric>

namespace muster::sched {

Counts full_of(const Shape& shape) {
  Counts counts;
  for (const SetRec& set : shape.sets) counts.push_back(set.count);
  return counts;
}

Counts least_of(const Shape& shape) {
  Counts counts;
  for (const SetRec& set : shape.sets) counts.push_back(set.least);
  return counts;
}

int sum(const Counts& counts) { return std::accumulate(counts.begin(), counts.end(), 0); }

bool shrink(Counts& counts, const Counts& floor) {
  std::size_t largest = counts.size();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > floor[i] && (largest == counts.size() || counts[i] > counts[largest]))
      largest = i;
  }
  if (largest == counts.size()) return false;
  --counts[largest];
  return true;
}

Counts shrunk(Counts counts, const Counts& floor, int pods) {
  for (int n = 0; n < pods && shrink(counts, floor); ++n) continue;
  return counts;
}

}  // namespace muster::sched
