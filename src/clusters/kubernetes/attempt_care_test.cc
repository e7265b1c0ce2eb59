#include "clusters/kubernetes/attempt_care.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster::clusters {
namespace {

using model::ObjectCare;
using model::ReadyGrowth;

TEST(AttemptCare, TheTimeToGetReadyGrowsAsItsJobSays) {
  const struct {
    ObjectCare care;
    std::vector<int> seconds_of_tries;
  } cases[] = {
      {{}, {600, 600, 600}},
      {{.ready_within = seconds(60)}, {60, 60, 60, 60}},
      {{.ready_within = seconds(60), .ready_growth = ReadyGrowth::Exponential},
       {60, 60, 120, 240, 480}},
      {{.ready_within = seconds(60), .ready_growth = ReadyGrowth::Linear}, {60, 60, 120, 180, 240}},
      {{.ready_within = seconds(60),
        .ready_within_most = seconds(200),
        .ready_growth = ReadyGrowth::Exponential},
       {60, 60, 120, 200, 200}},
      {{.ready_within = seconds(60), .ready_within_most = seconds(30)}, {60, 60}},
      {{.ready_within = seconds(30),
        .ready_within_next = seconds(60),
        .ready_growth = ReadyGrowth::Exponential},
       {30, 60, 120, 240}},
      {{.ready_within = seconds(30),
        .ready_within_next = seconds(60),
        .ready_growth = ReadyGrowth::Linear},
       {30, 30, 60, 90}},
      {{.ready_within = seconds(60),
        .ready_within_most = seconds(20),
        .ready_growth = ReadyGrowth::Exponential},
       {60, 20, 20}},
      {{.ready_within = seconds(60),
        .ready_within_most = seconds(20),
        .ready_growth = ReadyGrowth::Linear},
       {60, 20, 20}},
      {{.ready_growth = ReadyGrowth::Exponential}, {600, 600, 1200}},
  };
  for (const auto& c : cases) {
    for (std::size_t i = 0; i < c.seconds_of_tries.size(); ++i) {
      EXPECT_EQ(ready_limit(c.care, static_cast<int>(i), minutes(10)),
                seconds(c.seconds_of_tries[i]))
          << care_text(c.care) << " after " << i;
    }
  }
  const ObjectCare endless{.ready_within = hours(1), .ready_growth = ReadyGrowth::Exponential};
  EXPECT_EQ(ready_limit(endless, 1'000'000, minutes(10)), hours(24 * 365));
}

TEST(AttemptCare, ExitCodesSayWhetherAnotherTryIsWorthIt) {
  ObjectCare care;
  EXPECT_FALSE(is_worth_a_requeue(care, 1)) << "nothing that fails is";
  care.requeues_failures = true;
  EXPECT_TRUE(is_worth_a_requeue(care, 1));
  care.terminal_exit_codes = {3};
  EXPECT_FALSE(is_worth_a_requeue(care, 3));
  EXPECT_TRUE(is_worth_a_requeue(care, 1));
  care.retryable_exit_codes = {3, 9};
  EXPECT_FALSE(is_worth_a_requeue(care, 3));
  EXPECT_FALSE(is_worth_a_requeue(care, 1));
  EXPECT_TRUE(is_worth_a_requeue(care, 9));
}

TEST(AttemptCare, ReadsBackFromItsText) {
  const ObjectCare all{.starts_when_made = true,
                       .ready_pods = 3,
                       .ready_within = minutes(1),
                       .ready_within_next = minutes(2),
                       .ready_within_most = hours(2),
                       .ready_growth = ReadyGrowth::Linear,
                       .requeues_most = 5,
                       .requeue_pause = Duration{0},
                       .requeues_failures = true,
                       .terminal_exit_codes = {3, 7},
                       .retryable_exit_codes = {9},
                       .keep_ended = true,
                       .keep_failed = minutes(3),
                       .waits_for_pods = true,
                       .pods_within = minutes(4),
                       .failed_within = Duration{0},
                       .ends_with_pods = true,
                       .takes_existing = true,
                       .missing_fails = true,
                       .force_after = minutes(10),
                       .leaves = {{"nvidia.com/gpu", "health", "EVICT"}}};
  EXPECT_EQ(parse_care(care_text(all)), all);
  EXPECT_EQ(parse_care(care_text({})), ObjectCare{});
  for (const char* text : {"", "[]", "{", "7", R"({"readyPods":"x","readyGrowth":7})"}) {
    EXPECT_EQ(parse_care(text), ObjectCare{}) << text;
  }
  EXPECT_EQ(parse_care(R"({"readyPods":-1,"readyWithinMs":-5})"), ObjectCare{});
}

TEST(AttemptCare, TooFewPodsIsSaidInMcadsWords) {
  EXPECT_EQ(too_few_pods(3, 1, 0),
            "Insufficient number of Running and Completed pods, minimum=3, running=1, "
            "completed=0.");
}

}  // namespace
}  // namespace muster::clusters
