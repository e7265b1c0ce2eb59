#include "sched/decay.h"

#include <gtest/gtest.h>

namespace muster::sched {
namespace {

TEST(Decay, HalvesWithEachHalfLife) {
  struct Row {
    std::int64_t elapsed_ms;
    std::int64_t half_life_ms;
    std::uint64_t factor;
  };
  const Row rows[] = {
      {0, 1000, fixed_one},
      {1000, 1000, fixed_one / 2},
      {2000, 1000, fixed_one / 4},
      {10'000, 1000, fixed_one >> 10},
      {31'000, 1000, 2},
      {32'000, 1000, 0},
      {500, 1000, 3'037'000'500},  // 2^-1/2
      {250, 1000, 3'611'622'603},  // 2^-1/4
      {1500, 1000, 3'037'000'500 / 2},
      {-5, 1000, fixed_one},  // a clock that went back forgets nothing
      {5, 0, 0},              // no memory
      {0, 0, 0},
      {hours(24 * 365 * 100).ms, hours(24).ms, 0},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(decay(Duration{row.elapsed_ms}, Duration{row.half_life_ms}), row.factor)
        << row.elapsed_ms << " of " << row.half_life_ms;
  }
}

TEST(Decay, NeverGrowsWithTime) {
  std::uint64_t last = fixed_one;
  for (std::int64_t ms = 0; ms < 40'000; ms += 7) {
    const std::uint64_t factor = decay(Duration{ms}, Duration{1000});
    EXPECT_LE(factor, last) << ms;
    last = factor;
  }
}

TEST(Decay, TwoStepsAreOne) {
  for (std::int64_t a = 0; a < 3000; a += 331) {
    for (std::int64_t b = 0; b < 3000; b += 173) {
      const std::uint64_t once = decay(Duration{a + b}, Duration{1000});
      __extension__ using Wide = unsigned __int128;
      const auto twice = static_cast<std::uint64_t>(
          (Wide{decay(Duration{a}, Duration{1000})} * decay(Duration{b}, Duration{1000})) >> 32);
      EXPECT_NEAR(static_cast<double>(once), static_cast<double>(twice), 128) << a << "+" << b;
    }
  }
}

}  // namespace
}  // namespace muster::sched
