#include "sched/gpu_state.h"

#include <algorithm>
#include <functional>

#include "base/hash.h"

namespace muster::sched {

std::size_t GpuStates::Hash::operator()(const DeviceFree& d) const {
  Hasher hash;
  for (std::size_t i = 0; i < d.size(); i += 4) {
    hash.add((std::uint64_t{d[i]} << 48) | (std::uint64_t{d[i + 1]} << 32) |
             (std::uint64_t{d[i + 2]} << 16) | d[i + 3]);
  }
  return hash.value();
}

GpuStateId GpuStates::intern(const DeviceFree& devices, int count) {
  DeviceFree sorted = devices;
  std::sort(sorted.begin(), sorted.begin() + count, std::greater<>());
  std::fill(sorted.begin() + count, sorted.end(), std::uint16_t{0});
  auto& ids = ids_[static_cast<std::size_t>(count)];
  const auto [it, is_new] =
      ids.try_emplace(sorted, GpuStateId{static_cast<std::uint32_t>(states_.size())});
  if (is_new) {
    GpuState state;
    state.free = sorted;
    state.count = static_cast<std::uint8_t>(count);
    for (int i = 0; i < count; ++i) {
      const std::uint16_t free = sorted[static_cast<std::size_t>(i)];
      state.total += free;
      if (free == 1000) {
        ++state.whole;
      } else {
        state.largest_partial = std::max(state.largest_partial, free);
      }
    }
    states_.push_back(state);
  }
  return it->second;
}

}  // namespace muster::sched
