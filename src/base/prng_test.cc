#include "base/prng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace muster {
namespace {

TEST(Prng, MeansTheSameRunForTheSameSeedOnEveryMachine) {
  Prng prng(42);
  // xoshiro256** after splitmix64(42); pinned: a change breaks every recorded seed.
  const std::array<std::uint64_t, 3> expected = {1546998764402558742ULL, 6990951692964543102ULL,
                                                 12544586762248559009ULL};
  for (const std::uint64_t word : expected) EXPECT_EQ(prng.next(), word);
  Prng one(1);
  Prng same(1);
  Prng other(2);
  EXPECT_EQ(one.next(), same.next());
  EXPECT_NE(one.next(), other.next());
}

TEST(Prng, DrawsInsideTheBoundsAndReachesThem) {
  Prng prng(1);
  std::array<int, 6> seen{};
  for (int i = 0; i < 6000; ++i) {
    const std::int64_t n = prng.between(-2, 3);
    ASSERT_GE(n, -2);
    ASSERT_LE(n, 3);
    ++seen[static_cast<std::size_t>(n + 2)];
  }
  for (const int n : seen) EXPECT_NEAR(n, 1000, 150);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(prng.below(1), 0u);
}

TEST(Prng, ChanceIsAPercentage) {
  Prng prng(1);
  int hits = 0;
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_FALSE(prng.chance(0));
    EXPECT_TRUE(prng.chance(100));
    hits += prng.chance(30) ? 1 : 0;
  }
  EXPECT_NEAR(hits, 3000, 200);
}

TEST(Prng, ShuffleKeepsAllItemsAndMovesThem) {
  Prng prng(1);
  std::vector<int> items(100);
  std::iota(items.begin(), items.end(), 0);
  const std::vector<int> before = items;
  prng.shuffle(items);
  EXPECT_NE(items, before);
  std::sort(items.begin(), items.end());
  EXPECT_EQ(items, before);
  std::vector<int> none;
  prng.shuffle(none);
  EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace muster
