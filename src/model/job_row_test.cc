#include "model/job_row.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster::model {
namespace {

/// The states of job `a` with one retry after each of these, as "Waiting(None)".
std::string states(const std::vector<EventBody>& bodies) {
  JobSubmitted submitted;
  submitted.spec.id = "a";
  submitted.spec.queue = "q";
  submitted.spec.gang.max_retries = 1;
  JobRow row = row_of(submitted, Time{0}, 1);
  std::string text;
  std::int64_t at = 0;
  for (const EventBody& body : bodies) {
    const JobRow before = row;
    const bool changed = follow(row, {Time{++at}, body});
    EXPECT_EQ(changed, !(row == before)) << at;
    EXPECT_TRUE(row.state == before.state || is_legal(before.state, row.state)) << at;
    EXPECT_EQ(is_final(row.state), !row.finished.is_never()) << at;
    text += (text.empty() ? "" : " ") + std::string(to_text(row.state));
    if (row.why != EndWhy::None) text += fmt::format("({})", to_text(row.why));
  }
  return text;
}

TEST(JobRow, FollowsTheEventsOfAJob) {
  const Placed one{"a", 1, "c", "", {}};
  const Placed two{"a", 2, "c", "", {}};
  const Started runs{"a", 1};
  struct Case {
    std::vector<EventBody> events;
    const char* expected;
  };
  const std::vector<Case> cases = {
      {{one, runs, Finished{"a", 1, true}}, "Starting Running Succeeded(Success)"},
      {{one, Finished{"a", 1, false}, two, Finished{"a", 2, false}},
       "Starting Waiting(Failure) Starting Failed(Failure)"},
      {{one, StartFailed{"a", 1, Time{9}}}, "Starting Waiting(StartFailed)"},
      {{one, runs, Gone{"a", 1}}, "Starting Running Waiting(StartFailed)"},
      {{JobHeld{"a"}, one, JobReleased{"a"}, JobReleased{"a"}}, "Held Held Waiting Waiting"},
      {{JobCancelled{"a"}, JobCancelled{"a"}}, "Cancelled(Cancelled) Cancelled(Cancelled)"},
      {{one, runs, JobCancelled{"a"}, Finished{"a", 1, false}},
       "Starting Running Stopping(Cancelled) Cancelled(Cancelled)"},
      {{one, runs, JobCancelled{"a"}, Finished{"a", 1, true}},
       "Starting Running Stopping(Cancelled) Succeeded(Success)"},
      {{one, runs, Stopped{"a", 1, StopWhy::Priority, "b"}, Gone{"a", 1}},
       "Starting Running Stopping(Priority) Waiting(Priority)"},
      {{one, runs, Stopped{"a", 1, StopWhy::RunLimit, ""}, Gone{"a", 1}},
       "Starting Running Stopping(RunLimit) Failed(RunLimit)"},
      {{one, Stopped{"a", 1, StopWhy::Drain, ""}, JobCancelled{"a"}, Gone{"a", 1}},
       "Starting Stopping(Drain) Stopping(Cancelled) Cancelled(Cancelled)"},
      {{one, runs, Stopped{"a", 1, StopWhy::ClusterLost, ""}, Gone{"a", 1}, two},
       "Starting Running Waiting(ClusterLost) Waiting(ClusterLost) Starting"},
      {{one, JobCancelled{"a"}, Stopped{"a", 1, StopWhy::ClusterLost, ""}},
       "Starting Stopping(Cancelled) Stopping(Cancelled)"},
      {{one, runs, JobHeld{"a"}, JobHeld{"a", true}, JobHeld{"a", true}, Gone{"a", 1}},
       "Starting Running Running Stopping(Held) Stopping(Held) Held(Held)"},
      {{one, JobHeld{"a", true}, StartFailed{"a", 1, Time{9}}, JobReleased{"a"}, two},
       "Starting Stopping(Held) Held(Held) Waiting(Held) Starting"},
      {{one, JobHeld{"a", true}, JobReleased{"a"}, JobReleased{"a"}, Gone{"a", 1}},
       "Starting Stopping(Held) Stopping(Released) Stopping(Released) Waiting(Released)"},
      {{one, runs, Stopped{"a", 1, StopWhy::Priority, "b"}, JobHeld{"a", true},
        Finished{"a", 1, false}},
       "Starting Running Stopping(Priority) Stopping(Held) Held(Held)"},
      {{one, runs, JobHeld{"a", true}, Stopped{"a", 1, StopWhy::ClusterLost, ""}},
       "Starting Running Stopping(Held) Held(Held)"},
      {{one, runs, JobHeld{"a", true}, JobCancelled{"a"}, JobHeld{"a", true}, Gone{"a", 1}},
       "Starting Running Stopping(Held) Stopping(Cancelled) Stopping(Cancelled) "
       "Cancelled(Cancelled)"},
      {{one, runs, JobHeld{"a", true}, Finished{"a", 1, true}},
       "Starting Running Stopping(Held) Succeeded(Success)"},
      {{one, runs, Stopped{"a", 1, StopWhy::RunLimit, ""}, JobHeld{"a", true}, Gone{"a", 1}},
       "Starting Running Stopping(RunLimit) Stopping(RunLimit) Failed(RunLimit)"},
      {{JobHeld{"a", true}, JobReleased{"a"}}, "Held Waiting"},
      {{GivenUp{"a", FailWhy::DeadlinePassed}, one},
       "Failed(DeadlinePassed) Failed(DeadlinePassed)"},
      {{one, GivenUp{"a", FailWhy::DeadlinePassed}}, "Starting Starting"},
      {{two, Started{"a", 2}}, "Waiting Waiting"},
  };
  for (const Case& c : cases) EXPECT_EQ(states(c.events), c.expected);
}

TEST(JobRow, WhatWasWrongWithAnAttemptIsForgottenWhenTheNextOneEndsInAnotherWay) {
  const auto troubles = [](const std::vector<EventBody>& ends) {
    JobSubmitted submitted;
    submitted.spec.id = "a";
    JobRow row = row_of(submitted, Time{0}, 1);
    std::string text;
    std::uint32_t attempt = 0;
    for (const EventBody& end : ends) {
      if (std::holds_alternative<Gone>(end)) follow(row, {Time{1}, Stopped{"a", attempt, {}, ""}});
      if (!std::holds_alternative<Gone>(end))
        follow(row, {Time{1}, Placed{"a", ++attempt, "c", "", {}}});
      EXPECT_TRUE(follow(row, {Time{2}, end}));
      text += fmt::format("{} '{}', ", to_text(row.ailment), row.reason);
    }
    return text;
  };
  const StartFailed failed{"a", 1, Time{0}, "two of three", 1, Ailment::TooFewPods};
  StartFailed another = failed;
  another.attempt = 2;
  another.ailment = Ailment::Unplaced;
  EXPECT_EQ(troubles({failed, another}), "TooFewPods 'two of three', Unplaced 'two of three', ");
  EXPECT_EQ(troubles({failed, Started{"a", 2}, Gone{"a", 2}}),
            "TooFewPods 'two of three', TooFewPods 'two of three', None '', ");
}

TEST(JobRow, PriorityAndQueueChangeWhileTheyMay) {
  JobSubmitted submitted;
  submitted.spec.queue = "q";
  JobRow row = row_of(submitted, Time{0}, 1);
  EXPECT_TRUE(follow(row, {Time{1}, QueueChanged{"a", "r"}}));
  EXPECT_TRUE(follow(row, {Time{1}, PriorityChanged{"a", 9}}));
  EXPECT_FALSE(follow(row, {Time{1}, PriorityChanged{"a", 9}}));
  ASSERT_TRUE(follow(row, {Time{1}, Placed{"a", 1, "c", "", {}}}));
  EXPECT_FALSE(follow(row, {Time{1}, QueueChanged{"a", "s"}}));
  EXPECT_TRUE(follow(row, {Time{1}, PriorityChanged{"a", 8}}));
  EXPECT_EQ(row.queue, "r");
  EXPECT_EQ(row.priority, 8);
}

TEST(JobRow, AShareByMemoryIsCountedAsWhatItGotOnceItIsPlaced) {
  JobSubmitted submitted;
  PodSet set;
  set.count = 2;
  set.pod.gpu = {1, {1000}, {20LL << 30}};
  submitted.spec.gang.sets = {set};
  JobRow row = row_of(submitted, Time{0}, 1);
  EXPECT_EQ(row.gpus.v, 2000) << "nobody knows yet of which device";
  ASSERT_TRUE(follow(
      row, {Time{1}, Placed{"", 1, "c", "", {{0, "n", "A", 1, 500}, {0, "m", "H", 2, 250}}}}));
  EXPECT_EQ(row.gpus.v, 750);
  ASSERT_TRUE(follow(row, {Time{2}, StartFailed{"", 1, Time{9}}}));
  EXPECT_EQ(row.gpus.v, 750) << "as its cluster, of the newest attempt";
}

TEST(JobRow, AGangThatStartsWithFewerPodsKeepsWhatItAsksFor) {
  JobSubmitted submitted;
  PodSet set;
  set.count = 4;
  set.min_count = 1;
  set.pod.gpu.count = 8;
  submitted.spec.gang.sets = {set};
  JobRow row = row_of(submitted, Time{0}, 1);
  ASSERT_TRUE(follow(row, {Time{1}, Placed{"", 1, "c", "", {{0, "n", "A", 0xff, 1000}}}}));
  EXPECT_EQ(row.gpus.v, 32'000);
  EXPECT_EQ(row.pods, 4u);
}

TEST(JobRow, TotalsOfAnAbsurdGangStopAtTheLargestNumber) {
  JobSubmitted submitted;
  PodSet set;
  set.count = 2'000'000'000;
  set.pod.gpu = {2'000'000'000, {amount_max}, {0}};
  submitted.spec.gang.sets = {set, set, set};
  const JobRow row = row_of(submitted, Time{0}, 1);
  EXPECT_EQ(row.pods, 0xffffffffu);
  EXPECT_EQ(row.gpus.v, amount_max);
}

TEST(JobRow, EveryAilmentHasItsText) {
  for (int i = 0; i <= static_cast<int>(Ailment::Forgotten); ++i) {
    const auto ailment = static_cast<Ailment>(i);
    EXPECT_EQ(parse_ailment(to_text(ailment)), ailment);
  }
  EXPECT_FALSE(parse_ailment("Boredom"));
}

TEST(JobRow, EveryReasonHasItsText) {
  for (int i = 0; i <= static_cast<int>(EndWhy::Released); ++i) {
    const auto why = static_cast<EndWhy>(i);
    EXPECT_EQ(parse_end_why(to_text(why)), why);
  }
  EXPECT_EQ(parse_end_why("Nonsense"), std::nullopt);
}

}  // namespace
}  // namespace muster::model
