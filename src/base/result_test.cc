#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace muster {
namespace {

TEST(Result, HoldsAValue) {
  Result<std::string> result(std::string("yes"));
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(*result, "yes");
  EXPECT_EQ(result->size(), 3u);
  *result += "!";
  EXPECT_EQ(result.value(), "yes!");
}

TEST(Result, HoldsAnError) {
  const Result<int> result(Error{Fault::NotFound, "job: no such job"});
  EXPECT_FALSE(result.ok());
  EXPECT_FALSE(static_cast<bool>(result));
  EXPECT_EQ(result.error().fault, Fault::NotFound);
  EXPECT_EQ(result.error().message, "job: no such job");
  EXPECT_EQ(invalid("x").fault, Fault::Invalid);
}

TEST(Result, GivesItsValueAway) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 7);
}

TEST(Status, IsOkOrAnError) {
  const Status fine = Ok{};
  const Status wrong = invalid("x: wrong");
  EXPECT_TRUE(fine.ok());
  EXPECT_FALSE(wrong.ok());
}

TEST(ResultDeathTest, TakingTheValueOfAFailureStopsTheProgramAndSaysWhy) {
  const Result<int> result(invalid("cpu: not a number"));
  EXPECT_DEATH(static_cast<void>(result.value()), "check failed.*cpu: not a number");
}

TEST(CheckDeathTest, NamesTheConditionAndTheContext) {
  EXPECT_DEATH(MUSTER_CHECK(1 > 2, "free {} of {}", 3, 4), "check failed: 1 > 2: free 3 of 4");
}

}  // namespace
}  // namespace muster
