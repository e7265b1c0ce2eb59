#include "sim/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/report.h"
#include "sim/summary.h"

namespace muster::sim {
namespace {

TEST(Simulation, EveryJobOfTheDemoSucceeds) {
  const Workload w = demo_workload({1, 60, hours(2)});
  const Outcome o = simulate(w, {});
  EXPECT_EQ(o.violation, "");
  EXPECT_EQ(o.states.at("Succeeded"), w.jobs.size());
  EXPECT_EQ(o.states.size(), 1u);
}

TEST(Simulation, ASeedGivesTheSameHistoryTwiceAndAnotherSeedAnother) {
  const auto hash = [](std::uint64_t seed) {
    SimulateOptions options;
    options.seed = seed;
    options.faults = true;
    return simulate(random_workload({seed, 40, minutes(30)}), options).hash;
  };
  EXPECT_EQ(hash(3), hash(3));
  EXPECT_NE(hash(3), hash(4));
}

TEST(Simulation, AnIncidentIsToldAndSurvived) {
  Workload w = demo_workload({2, 30, hours(1)});
  w.incidents = {{Time{0} + minutes(10), minutes(20), "oslo", ""}};
  const Outcome o = simulate(w, {});
  EXPECT_EQ(o.violation, "");
  ASSERT_FALSE(o.moments.empty());
  EXPECT_THAT(o.moments.front().what, testing::HasSubstr("oslo is cut off"));
}

TEST(Simulation, AJobNothingCanHoldIsALivenessFailure) {
  Workload w = demo_workload({1, 3, hours(1)});
  w.incidents.clear();
  w.jobs.front().spec.gang.sets.front().count = 1000;
  EXPECT_THAT(simulate(w, {}).violation, testing::HasSubstr("liveness"));
}

TEST(Summary, CountsFromTheClustersRecord) {
  const Workload w = demo_workload({1, 60, hours(2)});
  const Summary s = summarize(w, simulate(w, {}));
  EXPECT_EQ(s.jobs, 61u);
  EXPECT_EQ(s.waits.size(), 61u);
  EXPECT_EQ(s.queues.size(), 3u);
  EXPECT_GT(s.use, 0.1);
  EXPECT_LE(s.use, 1.0);
  EXPECT_LE(s.wait(50), s.wait(90));
}

TEST(Report, NeedsNothingFromOutside) {
  const Workload w = demo_workload({1, 40, hours(1)});
  const std::string html = html_report(w, simulate(w, {}), 1);
  for (const char* part : {"GPUs in use", "Who uses the fleet", "Waiting time", "The largest gangs",
                           "Were the estimates right?"}) {
    EXPECT_THAT(html, testing::HasSubstr(part));
  }
  EXPECT_EQ(html.find("http"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace muster::sim
