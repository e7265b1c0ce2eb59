#include "sim/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::sim {
namespace {

using testing::HasSubstr;

TEST(ScenarioLanguage, AnExpectedErrorIsNotExpectedAgain) {
  std::string line;
  for (int i = 0; i < 100'000; ++i) line += "expect-error ";
  EXPECT_THAT(Scenario().run(line + "plan").error().message, HasSubstr("stands once"));
  EXPECT_TRUE(Scenario().run("expect-error   cancel nobody"));
}

TEST(ScenarioLanguage, ALineThatFailsIsNamedByItsNumber) {
  const ScenarioResult result = run_scenario("f.scn", "# why\ncluster a\n\nplam\n", {});
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.message, "f.scn:4: unknown verb 'plam'; did you mean 'plan'?\n");
  EXPECT_EQ(result.rewritten, "");
}

TEST(ScenarioLanguage, WhatIsRewrittenPasses) {
  const ScenarioResult result = run_scenario("f.scn", "cluster a\nplan\n", {});
  EXPECT_FALSE(result.passed);
  EXPECT_TRUE(run_scenario("f.scn", result.rewritten, {}).passed) << result.rewritten;
}

}  // namespace
}  // namespace muster::sim
