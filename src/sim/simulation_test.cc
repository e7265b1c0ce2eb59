#include "sim/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/report.h"
#include "sim/summary.h"

namespace muster::sim {
namespace {

/// Of tests: the world is checked after every step.
const SimulateOptions every_step{.check_every = 1, .progress = {}};

TEST(Simulation, EveryJobOfTheDemoSucceeds) {
  const Workload w = demo_workload({1, 60, hours(2)});
  const Outcome o = simulate(w, every_step);
  EXPECT_EQ(o.violation, "");
  EXPECT_EQ(o.states.at("Succeeded"), w.jobs.size());
  EXPECT_EQ(o.states.size(), 1u);
}

TEST(Simulation, TheDemoHasAsManyJobsAsWereAskedFor) {
  for (const int jobs : {1, 2, 10}) {
    const Workload w = demo_workload({1, jobs, hours(1)});
    EXPECT_EQ(w.jobs.size(), static_cast<std::size_t>(jobs));
  }
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
  Workload w = demo_workload({2, 31, hours(1)});
  w.incidents = {{Time{0} + minutes(10), minutes(20), "oslo", ""}};
  const Outcome o = simulate(w, every_step);
  EXPECT_EQ(o.violation, "");
  ASSERT_FALSE(o.moments.empty());
  EXPECT_THAT(o.moments.front().what, testing::HasSubstr("oslo is cut off"));
}

TEST(Simulation, CordonsAndDrainsAreToldAndSurvived) {
  Workload w = demo_workload({2, 31, hours(1)});
  w.incidents = {{Time{0} + minutes(5), minutes(20), "berlin", "berlin-1", Trouble::Cordon},
                 {Time{0} + minutes(10), minutes(20), "oslo", "", Trouble::Drain}};
  const Outcome o = simulate(w, every_step);
  EXPECT_EQ(o.violation, "");
  EXPECT_GT(o.decisions.at("drained"), 0u);
  ASSERT_GE(o.moments.size(), 2u);
  EXPECT_EQ(o.moments[0].what, "node berlin-1 of berlin is cordoned for 20m");
  EXPECT_EQ(o.moments[1].what, "cluster oslo is drained for 20m");
}

TEST(Simulation, RandomWorkloadsHoldAfterEveryStepWithoutFaultsToo) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    EXPECT_EQ(simulate(random_workload({seed, 40, minutes(40)}), every_step).violation, "") << seed;
}

TEST(Simulation, AJobNothingCanHoldIsALivenessFailureThatSaysWhy) {
  Workload w = demo_workload({1, 3, hours(1)});
  w.incidents.clear();
  for (model::QueueSpec& queue : w.queues) queue.limits.clear();  // room alone is what it lacks
  w.jobs.front().spec.gang.sets.front().count = 1000;
  EXPECT_THAT(simulate(w, every_step).violation,
              testing::AllOf(testing::HasSubstr("liveness: 2 of 3 jobs ended"),
                             testing::HasSubstr("1 of the rest fits no cluster even if it were "
                                                "empty: " +
                                                w.jobs.front().spec.id)));
}

TEST(Summary, CountsFromTheClustersRecord) {
  const Workload w = demo_workload({1, 60, hours(2)});
  const Summary s = summarize(w, simulate(w, every_step));
  EXPECT_EQ(s.jobs, 60u);
  EXPECT_EQ(s.waits.size(), 60u);
  EXPECT_EQ(s.queues.size(), 3u);
  const Summary before = outline(w);
  EXPECT_EQ(before.jobs, s.jobs);
  EXPECT_EQ(before.nodes, s.nodes);
  EXPECT_EQ(before.capacity_milli, s.capacity_milli);
  EXPECT_TRUE(before.by_gpu);
  EXPECT_GT(s.use, 0.1);
  EXPECT_LE(s.use, 1.0);
  EXPECT_LE(s.wait(50), s.wait(90));
}

TEST(Report, NeedsNothingFromOutside) {
  const Workload w = demo_workload({1, 40, hours(1)});
  const std::string html = html_report(w, simulate(w, every_step), 1);
  for (const char* part : {"GPUs in use", "Who uses the fleet", "Waiting time", "The largest gangs",
                           "Were the estimates right?"}) {
    EXPECT_THAT(html, testing::HasSubstr(part));
  }
  EXPECT_EQ(html.find("http"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("nan"), std::string::npos);
}

TEST(Report, ShowsEveryMomentThatWasKeptAndCountsTheRest) {
  const Workload w = demo_workload({1, 10, hours(1)});
  Outcome o = simulate(w, every_step);
  o.moments.clear();
  for (int i = 0; i < 60; ++i) o.moments.push_back({Time{0}, fmt::format("moment {}.", i)});
  EXPECT_THAT(html_report(w, o, 1), testing::HasSubstr("moment 59."));
  EXPECT_THAT(html_report(w, o, 1), testing::HasSubstr(">60 moments<"));
  o.moments_more = 5;
  EXPECT_THAT(html_report(w, o, 1), testing::HasSubstr("the first 60 of 65 moments"));
}

TEST(Report, DrawsWhatEachQueueIsEntitledTo) {
  const Workload w = demo_workload({1, 40, hours(1)});
  const std::string html = html_report(w, simulate(w, every_step), 1);
  for (const model::QueueSpec& queue : w.queues) {
    if (queue.parent.empty()) EXPECT_THAT(html, testing::HasSubstr(queue.name + " is entitled to"));
  }
}

TEST(Report, AQueueThatTheWorkloadDoesNotHaveIsDrawnAsOther) {
  Workload w = demo_workload({1, 40, hours(1)});
  const Outcome o = simulate(w, every_step);
  EXPECT_THAT(html_report(w, o, 1), testing::Not(testing::HasSubstr("</i>other<")));
  w.jobs.front().spec.queue = "nowhere";
  EXPECT_THAT(html_report(w, o, 1), testing::HasSubstr("</i>other<"));
}

TEST(Simulation, ASmallWorkloadIsCheckedAfterEveryStep) {
  Workload w = demo_workload({1, 10, hours(1)});
  w.incidents.clear();
  const Outcome o = simulate(w, {});
  EXPECT_EQ(o.checks, o.steps + 1) << "and at the end";
  SimulateOptions seldom{.check_every = 1000, .progress = {}};
  EXPECT_LT(simulate(w, seldom).checks, o.checks);
}

}  // namespace
}  // namespace muster::sim
