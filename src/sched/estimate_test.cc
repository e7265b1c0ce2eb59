#include "sched/estimate.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "sched/testing/site.h"

namespace muster::sched {
namespace {

using testing::job_spec;
using testing::node_spec;
using testing::Site;

struct Desk : Site {
  Desk() {
    cluster("a");
    node("a", node_spec("n", 8));
    queue("q");
  }
  model::JobSpec named(const std::string& id, Duration limit) {
    model::JobSpec spec = job_spec(id, "q", 1, 1);
    spec.name = "train";
    spec.run_limit = limit;
    return spec;
  }
  /// A job called "train" that ran this long.
  void ran(const std::string& id, Duration time) {
    submit(named(id, Duration{0}));
    plan();
    now = now + time;
    apply(model::Finished{id, 1, true});
  }
};

TEST(Estimate, RunTimeIsWhatWasLearnedButNeverMoreThanTheLimit) {
  struct Row {
    std::vector<int> past_minutes;
    int limit_minutes;  // 0: none
    int expected_minutes;
  };
  const Row rows[] = {{{}, 0, 24 * 60}, {{}, 30, 30},   {{10}, 0, 10},
                      {{10}, 30, 10},   {{50}, 30, 30}, {{10, 20, 30, 40}, 0, 30}};
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    Desk desk;
    for (std::size_t j = 0; j < rows[i].past_minutes.size(); ++j)
      desk.ran("old" + std::to_string(j), minutes(rows[i].past_minutes[j]));
    desk.submit(desk.named("new", minutes(rows[i].limit_minutes)));
    EXPECT_EQ(expected_run_time(desk.world, desk.job("new"), desk.policy),
              minutes(rows[i].expected_minutes))
        << "row " << i;
  }
}

TEST(Estimate, WhoSeesNoNodesGivesNoneAndScoresNone) {
  Site site;  // as one that folds a journal
  site.cluster("a");
  site.queue("q");
  site.submit(job_spec("unseen", "q", 1, 1));
  EXPECT_EQ(site.job("unseen").first_high, Time{0});
  site.node("a", node_spec("n", 8));
  site.submit(job_spec("seen", "q", 1, 1));
  EXPECT_GT(site.job("seen").first_high, Time{0});
  site.plan();
  EXPECT_EQ(site.world.estimate_score.scored, 1u) << "of the one that was given";
}

TEST(Estimate, StagesThatWaitForAllOfTheStageBeforeAreLookedAtOnce) {
  Desk desk;
  desk.submit(job_spec("busy", "q", 1, 8));
  desk.plan();
  std::vector<std::string> before;
  for (int stage = 0; stage < 9; ++stage) {
    std::vector<std::string> here;
    for (int i = 0; i < 10; ++i) {
      model::JobSpec spec = job_spec("j" + std::to_string(stage) + std::to_string(i), "q", 1, 8);
      spec.depends_on = before;
      desk.submit(spec);
      here.push_back(spec.id);
    }
    before = here;
  }
  desk.plan();
  // By every way through the stages it would be looked at a hundred million times.
  const Estimate last =
      expected_start(desk.world, desk.agenda, desk.policy, desk.world.find_job("j80"), desk.now);
  EXPECT_GT(last.expected, desk.now + desk.policy.default_run_time);
}

TEST(Estimate, WhoIsMetAtTheEndOfALongWayIsFollowedFurtherOnAShorterOne) {
  Desk desk;
  desk.submit(job_spec("busy", "q", 1, 8));
  desk.plan();
  const auto submit = [&](const std::string& id, std::vector<std::string> after, Duration limit) {
    model::JobSpec spec = desk.named(id, limit);
    spec.id = id;
    spec.depends_on = std::move(after);
    desk.submit(spec);
  };
  submit("long", {}, hours(100));
  submit("x", {"long"}, minutes(1));
  std::string last = "x";
  for (int i = 7; i > 0; --i) {
    const std::string id = "c" + std::to_string(i);
    submit(id, {last}, minutes(1));
    last = id;
  }
  submit("root", {last, "x"}, minutes(1));
  desk.plan();
  const Estimate root =
      expected_start(desk.world, desk.agenda, desk.policy, desk.world.find_job("root"), desk.now);
  EXPECT_GT(root.expected, desk.now + hours(100));
}

TEST(Estimate, AnotherUsersJobsTeachNothing) {
  Desk desk;
  desk.ran("old", minutes(5));
  model::JobSpec spec = desk.named("new", Duration{0});
  spec.user = "bob";
  desk.submit(spec);
  EXPECT_EQ(expected_run_time(desk.world, desk.job("new"), desk.policy),
            desk.policy.default_run_time);
}

TEST(Estimate, AJobThatOutlivesItsExpectationGetsTwiceAsLong) {
  Desk desk;
  desk.ran("old", minutes(10));
  desk.submit(desk.named("new", hours(1)));
  const Time start = desk.now;
  desk.plan();
  struct Row {
    int at_minutes, end_minutes;
  };
  for (const Row row :
       {Row{0, 10}, Row{9, 10}, Row{10, 20}, Row{15, 20}, Row{20, 40}, Row{40, 60}, Row{59, 60}}) {
    EXPECT_EQ(expected_end(desk.world, stay_of(desk.job("new")), desk.policy,
                           start + minutes(row.at_minutes)),
              start + minutes(row.end_minutes))
        << row.at_minutes;
  }
  const Time late = start + minutes(70);
  EXPECT_GT(expected_end(desk.world, stay_of(desk.job("new")), desk.policy, late), late)
      << "even past its limit it ends in the future";
}

TEST(Estimate, AStoppingJobIsAboutToLeave) {
  Desk desk;
  desk.submit(desk.named("new", hours(1)));
  desk.plan();
  desk.apply(model::JobCancelled{"new"});
  EXPECT_EQ(expected_end(desk.world, stay_of(desk.job("new")), desk.policy, desk.now),
            desk.now + seconds(30));
}

TEST(Estimate, AReservationIsTheEstimate) {
  Desk desk;
  desk.submit(job_spec("first", "q", 1, 8));
  model::JobSpec limited = job_spec("second", "q", 1, 8);
  desk.plan();
  desk.submit(limited);
  desk.plan();
  const Estimate e = estimate(desk.world, desk.world.find_job("second"), desk.policy, desk.now);
  EXPECT_EQ(e.expected, desk.now + desk.policy.default_run_time);
  EXPECT_LE(e.low, e.expected);
  EXPECT_GE(e.high, e.expected);
}

TEST(Estimate, TheBandAlwaysHoldsTheExpectedStart) {
  Desk desk;
  for (int i = 0; i < 40; ++i) desk.submit(job_spec("j" + std::to_string(i), "q", 1, 3));
  desk.plan();
  for (int i = 0; i < 40; ++i) {
    const Estimate e =
        estimate(desk.world, desk.world.find_job("j" + std::to_string(i)), desk.policy, desk.now);
    EXPECT_LE(e.low, e.expected);
    EXPECT_LE(e.expected, e.high);
    EXPECT_GE(e.low, desk.now);
  }
}

TEST(Estimate, TheBandOfTheLongestWaitIsATimeAllTheSame) {
  constexpr std::int64_t longest_run = 1'152'921'504'606'846'000;
  constexpr std::int64_t last = Time::never().ms - 1;
  struct Row {
    bool all_late;  // past waits were 128 times as long as expected, or more
    std::int64_t now, expected, low, high;
  };
  const Row rows[] = {
      {false, 1000, 9000, 5000, 22'000},
      {false, 0, longest_run, longest_run / 2, last},
      {false, 0, longest_run - 5000, longest_run / 2 - 2500, 2 * longest_run - 5000},
      {false, 1000, last, 1000 + (last - 1000) / 2, last},
      {true, 1000, 9000, 9000, 2'054'000},
      {true, 0, longest_run, longest_run, last},
      {true, 1000, last, last, last},
      {true, 1000, last + 1, last + 1, last + 1},
  };
  for (const Row& row : rows) {
    World world;
    if (row.all_late) world.estimate_score.scored = world.estimate_score.ratio[15] = 20;
    const Estimate e = with_band(world, Time{row.expected}, Time{row.now});
    EXPECT_EQ(e.low, Time{row.low}) << row.expected << " late " << row.all_late;
    EXPECT_EQ(e.expected, Time{row.expected});
    EXPECT_EQ(e.high, Time{row.high}) << row.expected << " late " << row.all_late;
  }
}

TEST(Estimate, TheSumOfErrorsEndsAtTheLargestNumber) {
  EstimateScore score;
  Job job;
  job.submitted = Time{0};
  job.first_low = job.first_expected = job.first_high = Time{Time::never().ms - 1};
  for (int i = 0; i < 5; ++i) score_estimate(score, job, Time{0});
  EXPECT_EQ(score.scored, 5u);
  EXPECT_EQ(score.error_sum_ms, std::numeric_limits<std::int64_t>::max());
}

TEST(Estimate, ScoresCountOnlyFirstStarts) {
  EstimateScore score;
  Job job;
  job.submitted = Time{0};
  job.first_low = Time{50};
  job.first_expected = Time{100};
  job.first_high = Time{200};
  score_estimate(score, job, Time{40});
  score_estimate(score, job, Time{100});
  score_estimate(score, job, Time{200});
  score_estimate(score, job, Time{201});
  job.attempt = 1;
  score_estimate(score, job, Time{100});
  EXPECT_EQ(score.scored, 4u);
  EXPECT_EQ(score.early, 1u);
  EXPECT_EQ(score.inside_band, 2u);
  EXPECT_EQ(score.late, 1u);
  EXPECT_EQ(score.error_sum_ms, 60 + 0 + 100 + 101);
}

}  // namespace
}  // namespace muster::sched
