#include "sched/gpu_state.h"

#include <gtest/gtest.h>

namespace muster::sched {
namespace {

DeviceFree devices(std::initializer_list<std::uint16_t> free) {
  DeviceFree all{};
  std::copy(free.begin(), free.end(), all.begin());
  return all;
}

TEST(GpuState, CountsWhatIsFree) {
  struct Row {
    DeviceFree free;
    int count;
    int whole;
    int total;
  };
  const Row rows[] = {
      {devices({}), 0, 0, 0},
      {devices({1000}), 1, 1, 1000},
      {devices({0, 1000, 300, 1000}), 4, 2, 2300},
      {devices({0, 0}), 2, 0, 0},
      {devices({250, 750}), 2, 0, 1000},
  };
  GpuStates states;
  for (const Row& row : rows) {
    const GpuState& state = states[states.intern(row.free, row.count)];
    EXPECT_EQ(state.count, row.count);
    EXPECT_EQ(state.whole, row.whole);
    EXPECT_EQ(state.total, row.total);
    for (int i = 1; i < row.count; ++i) {
      EXPECT_GE(state.free[static_cast<std::size_t>(i - 1)],
                state.free[static_cast<std::size_t>(i)]);
    }
  }
}

TEST(GpuState, TheOrderOfDevicesDoesNotMatter) {
  GpuStates states;
  const GpuStateId a = states.intern(devices({0, 500, 1000}), 3);
  EXPECT_EQ(states.intern(devices({1000, 0, 500}), 3), a);
  EXPECT_EQ(states.intern(devices({500, 1000, 0}), 3), a);
  EXPECT_EQ(states.size(), 1u);
}

TEST(GpuState, BusyDevicesAreNotMissingOnes) {
  GpuStates states;
  EXPECT_NE(states.intern(devices({1000, 0}), 2), states.intern(devices({1000}), 1));
  EXPECT_NE(states.intern(devices({}), 0), states.intern(devices({0}), 1));
}

TEST(GpuState, SharesOfUnknownDevicesTakeTheFullestThatHaveRoom) {
  struct Row {
    std::vector<LooseShare> shares;
    DeviceFree before;
    DeviceFree after;
  };
  const Row rows[] = {
      {{}, devices({1000, 300}), devices({1000, 300})},
      {{{1000, 1}}, devices({1000, 1000}), devices({1000, 0})},
      {{{1000, 3}}, devices({1000, 500, 1000}), devices({0, 500, 0})},  // one finds no room
      {{{300, 1}}, devices({1000, 400, 200}), devices({1000, 100, 200})},
      {{{500, 2}}, devices({1000, 200, 0}), devices({500, 200, 0})},  // a device once
      {{{300, 1}, {700, 1}}, devices({1000, 0}), devices({0, 0})},
  };
  for (const Row& row : rows) {
    DeviceFree free = row.before;
    take_loose(row.shares, free, 3);
    EXPECT_EQ(free, row.after);
    DeviceFree again = row.before;
    take_loose({row.shares.rbegin(), row.shares.rend()}, again, 3);
    EXPECT_EQ(again, row.after);
  }
}

TEST(GpuState, SixteenDevices) {
  DeviceFree all;
  all.fill(1000);
  GpuStates states;
  const GpuState& state = states[states.intern(all, gpus_per_node_max)];
  EXPECT_EQ(state.whole, 16);
  EXPECT_EQ(state.total, 16'000);
}

}  // namespace
}  // namespace muster::sched
