#include "clusters/kubernetes/clearing.h"

#include <gtest/gtest.h>

namespace muster::clusters {
namespace {

TEST(Clearing, SaysWhatHasHeldUpEverythingNewForHalfAMinute) {
  Clearing clearing;
  EXPECT_TRUE(clearing.is_over());
  clearing.add({"b", 1}, Time{0});
  clearing.add({"a", 2}, Time{20'000});
  clearing.add({"b", 1}, Time{25'000});
  EXPECT_EQ(clearing.trouble(Time{29'999}, "configmaps: no"), "");
  EXPECT_EQ(clearing.trouble(Time{30'000}, "configmaps: no"),
            "nothing new is made: attempt 1 of job b and 1 other, which nobody wants any more, "
            "could not be deleted for 30s; configmaps: no");
  clearing.done({"b", 1});
  EXPECT_FALSE(clearing.is_over());
  EXPECT_EQ(clearing.trouble(Time{30'000}, ""), "") << "that one is new";
  EXPECT_EQ(clearing.trouble(Time{60'000}, ""),
            "nothing new is made: attempt 2 of job a, which nobody wants any more, could not be "
            "deleted for 40s");
  clearing.done({"a", 2});
  EXPECT_EQ(clearing.trouble(Time{90'000}, ""), "");
}

}  // namespace
}  // namespace muster::clusters
