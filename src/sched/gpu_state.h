// The free thousandths of a node's GPUs, sorted from most to least free, interned: nodes whose
// devices are equally free share one GpuState whatever the order of their devices.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sched/ids.h"

namespace muster::sched {

constexpr int gpus_per_node_max = 16;  // those beyond are not planned with
using DeviceFree = std::array<std::uint16_t, gpus_per_node_max>;

/// A pod's share of devices that are not known: so many, and so much of each.
struct LooseShare {
  std::uint16_t each = 0;
  int devices = 0;
  friend auto operator<=>(const LooseShare&, const LooseShare&) = default;
};
/// Takes them where there is room for them, the fullest device first and from the last one; what
/// finds no room takes nothing. The order of the shares does not matter.
void take_loose(std::vector<LooseShare> shares, DeviceFree& devices, int count);

struct GpuState {
  DeviceFree free{};  // sorted, most free first; entries past `count` are 0
  std::uint8_t count = 0;
  std::uint8_t whole = 0;  // fully idle devices
  std::int32_t total = 0;  // sum of free thousandths
};

class GpuStates {
 public:
  GpuStateId intern(const DeviceFree& devices, int count);
  const GpuState& operator[](GpuStateId id) const { return states_[id.index()]; }
  std::size_t size() const { return states_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const DeviceFree& d) const;
  };
  std::vector<GpuState> states_;
  std::array<std::unordered_map<DeviceFree, GpuStateId, Hash>, gpus_per_node_max + 1>
      ids_;  // lookup-only
};

}  // namespace muster::sched
