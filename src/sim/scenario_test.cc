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

std::string refusal(const std::string& line) {
  Scenario scenario;
  EXPECT_TRUE(scenario.run("cluster a"));
  const auto ran = scenario.run(line);
  return ran ? "taken" : ran.error().message;
}

TEST(ScenarioLanguage, NothingOfALineIsPassedOver) {
  for (const char* gpus :
       {"gpu=4 gpumem=10Gi", "gpu=2 shares=3", "gpu=0.5 shares=3", "gpumem=10Gi shares=3"}) {
    EXPECT_THAT(refusal(fmt::format("submit j queue=q {}", gpus)), HasSubstr("of one device"))
        << gpus;
  }
  EXPECT_EQ(refusal("submit j queue=q gpu=1 gpumem=10Gi"), "taken");
  for (const char* spread : {"1:app", "1:app:web:sotf", "1:app:web:soft:soft"}) {
    EXPECT_THAT(refusal(fmt::format("submit j queue=q spread:rack={}", spread)),
                HasSubstr("spread: write"))
        << spread;
  }
  EXPECT_EQ(refusal("submit j queue=q spread:rack=1:app:web:soft"), "taken");
  EXPECT_THAT(refusal("submit j queue=q tolerate:old=*:NoSchedule:60"), HasSubstr("tolerate:KEY"));
  EXPECT_THAT(refusal("pool p cluster=a tolerate:old=*:NoSchedule:60"), HasSubstr("tolerate:KEY"));
  EXPECT_THAT(refusal("node a/n taint:old=yes:NoSchedule:60"), HasSubstr("taint:KEY"));
}

TEST(ScenarioLanguage, PodsStandInSubmitOrInSets) {
  Scenario scenario;
  EXPECT_TRUE(scenario.run("submit j queue=q prio=60"));
  EXPECT_TRUE(scenario.run("set head cpu=1"));
  EXPECT_TRUE(scenario.run("set workers pods=4 gpu=8"));
  EXPECT_TRUE(scenario.run("submit k queue=q pods=4 gpu=8"));
  EXPECT_THAT(scenario.run("set head cpu=1").error().message, HasSubstr("write them in a set"));
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
