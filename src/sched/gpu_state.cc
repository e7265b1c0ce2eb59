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
      if (free == 1000) ++state.whole;
    }
    states_.push_back(state);
  }
  return it->second;
}

void take_loose(std::vector<LooseShare> shares, DeviceFree& devices, int count) {
  std::sort(shares.begin(), shares.end(), std::greater<>());  // what needs most chooses first
  for (const LooseShare& share : shares) {
    std::uint32_t used = 0;  // a pod has a device once
    for (int left = share.devices; left > 0; --left) {
      int best = -1;
      for (int d = count - 1; d >= 0; --d) {
        const auto free = devices[static_cast<std::size_t>(d)];
        if (free < share.each || ((used >> d) & 1u) != 0) continue;
        if (best < 0 || free < devices[static_cast<std::size_t>(best)]) best = d;
      }
      if (best < 0) break;
      auto& free = devices[static_cast<std::size_t>(best)];
      free = static_cast<std::uint16_t>(free - share.each);
      used |= 1u << best;
    }
  }
}

}  // namespace muster::sched
