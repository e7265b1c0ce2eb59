#include "base/sorted_chunks.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

#include "base/prng.h"

namespace muster {
namespace {

std::vector<int> values(const SortedChunks<int>& set) { return {set.begin(), set.end()}; }

TEST(SortedChunks, HoldsWhatASetHoldsAfterAnyChanges) {
  Prng draw(7);
  SortedChunks<int> chunks;
  std::set<int> set;
  for (int step = 0; step < 20'000; ++step) {
    const int value = static_cast<int>(draw.below(1500));
    // Grows for a while, then shrinks.
    if (draw.chance(step % 10'000 < 6'000 ? 70 : 20)) {
      chunks.insert(value, std::less<>());
      set.insert(value);
    } else {
      chunks.erase(value, std::less<>());
      set.erase(value);
    }
    ASSERT_EQ(chunks.contains(value, std::less<>()), set.contains(value));
    if (step % 500 == 0) ASSERT_EQ(values(chunks), std::vector<int>(set.begin(), set.end()));
  }
  EXPECT_EQ(chunks.size(), set.size());
  EXPECT_EQ(values(chunks), std::vector<int>(set.begin(), set.end()));
}

TEST(SortedChunks, AnEmptyOneHasNothingToWalk) {
  SortedChunks<int> chunks;
  EXPECT_TRUE(chunks.empty());
  EXPECT_TRUE(chunks.begin() == chunks.end());
  chunks.erase(1, std::less<>());
  chunks.insert(1, std::less<>());
  chunks.insert(1, std::less<>());
  EXPECT_EQ(values(chunks), std::vector<int>{1});
  chunks.erase(1, std::less<>());
  EXPECT_TRUE(chunks.empty());
  EXPECT_TRUE(chunks.begin() == chunks.end());
}

TEST(SortedChunks, TheOrderIsThatOfTheCaller) {
  SortedChunks<int> chunks;
  for (int i = 0; i < 200; ++i) chunks.insert(i, std::greater<>());
  const std::vector<int> down = values(chunks);
  EXPECT_EQ(down.front(), 199);
  EXPECT_EQ(down.back(), 0);
  EXPECT_EQ(down.size(), 200U);
}

}  // namespace
}  // namespace muster
