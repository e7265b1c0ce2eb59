#include "base/chunked.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>

namespace muster {
namespace {

TEST(Chunked, HoldsWhatWasPutInInOrder) {
  Chunked<int> table;
  EXPECT_TRUE(table.empty());
  for (int i = 0; i < 1000; ++i) table.push_back(i);
  ASSERT_EQ(table.size(), 1000u);
  EXPECT_EQ(table[0], 0);
  EXPECT_EQ(table[255], 255);
  EXPECT_EQ(table[256], 256);
  EXPECT_EQ(table.back(), 999);
  EXPECT_EQ(std::accumulate(table.begin(), table.end(), 0), 999 * 1000 / 2);
}

TEST(Chunked, GrowsWithoutMovingWhatItHolds) {
  Chunked<int> table;
  table.push_back(7);
  const int* first = &table[0];
  for (int i = 0; i < 100'000; ++i) table.push_back(i);
  EXPECT_EQ(&table[0], first);
}

TEST(Chunked, ShrinksOverTheEdgeOfAChunkAndGrowsAgain) {
  Chunked<int> table;
  table.resize(257);
  table.pop_back();
  EXPECT_EQ(table.size(), 256u);
  table.pop_back();
  EXPECT_EQ(table.size(), 255u);
  table.push_back(1);
  table.push_back(2);
  EXPECT_EQ(table[255], 1);
  EXPECT_EQ(table[256], 2);
  table.resize(3);
  EXPECT_EQ(table.size(), 3u);
  table.clear();
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.begin(), table.end());
}

TEST(Chunked, ACopyGrowsByItself) {
  Chunked<int> table;
  table.resize(300);
  Chunked<int> copy(table);
  copy[0] = 5;
  copy.push_back(9);
  EXPECT_EQ(table[0], 0);
  EXPECT_EQ(table.size(), 300u);
  EXPECT_EQ(copy.size(), 301u);
  table = copy;
  EXPECT_EQ(table[0], 5);
}

TEST(Chunked, HoldsWhatCanOnlyBeMoved) {
  Chunked<std::unique_ptr<int>> table;
  for (int i = 0; i < 600; ++i) table.push_back(std::make_unique<int>(i));
  const Chunked<std::unique_ptr<int>> moved(std::move(table));
  EXPECT_EQ(*moved[599], 599);
}

}  // namespace
}  // namespace muster
