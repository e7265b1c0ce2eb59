#include "base/shared_text.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(SharedText, CopiesAreTheSameTextAndEqualOnesAreEqual) {
  const SharedText none;
  EXPECT_EQ(*none, "");
  EXPECT_EQ(none, SharedText(""));
  const SharedText one = "waits for room";
  const SharedText copy = one;
  EXPECT_EQ(&*copy, &*one) << "it is there once";
  const SharedText alike = "waits for room";
  EXPECT_NE(&*alike, &*one);
  EXPECT_EQ(alike, one);
  EXPECT_FALSE(one == none);
}

}  // namespace
}  // namespace muster
