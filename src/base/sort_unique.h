// A list as a set: in order, each item once.
#pragma once

#include <algorithm>
#include <vector>

namespace muster {

template <typename T>
void sort_unique(std::vector<T>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

}  // namespace muster
