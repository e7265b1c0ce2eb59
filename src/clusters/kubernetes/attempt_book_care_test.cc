#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "clusters/kubernetes/attempt_book.h"
#include "clusters/kubernetes/testing/attempt_story.h"

namespace muster::clusters {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(AttemptCare, WhatStartsWhenMadeHasStartedHoweverItsPodsAre) {
  CaredFor story;
  story.care.care = {.starts_when_made = true};
  story.make_next();
  EXPECT_THAT(story.next_steps(), ElementsAre("make", "started"));
  story.see_ready(0);
  EXPECT_THAT(story.next_steps(), IsEmpty()) << "said once";
  story.pass_at(Time{600'000});
  EXPECT_THAT(story.next_steps(), IsEmpty()) << "the cluster's limit is one of starts";
}

TEST(AttemptCare, WithALimitOfItsOwnItIsTakenBackWheneverTooFewPodsAreReadyForTooLong) {
  CaredFor story;
  story.care.care = {.starts_when_made = true, .ready_pods = 3, .ready_within = seconds(20)};
  story.make_next();
  story.next_steps();
  story.pass_at(Time{19'000});
  story.see_ready(3);
  story.pass_at(Time{100'000});
  EXPECT_THAT(story.next_steps(), IsEmpty());
  story.see_ready(2);
  story.pass_at(Time{110'000});
  story.see_ready(1);
  story.pass_at(Time{119'999});
  EXPECT_THAT(story.next_steps(), IsEmpty()) << "not longer than its limit yet";
  story.pass_at(Time{120'000});
  EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
  EXPECT_THAT(story.end_this(),
              ElementsAre("confirm",
                          "start failed until 130000: Insufficient number of Running and Completed "
                          "pods, minimum=3, running=1, completed=0."));
}

TEST(AttemptCare, TheTimesOfItsTriesGrowUntilItMayNotBeRequeuedAnyMore) {
  CaredFor story;
  story.care.care = {.starts_when_made = true,
                     .ready_pods = 3,
                     .ready_within = seconds(60),
                     .ready_growth = model::ReadyGrowth::Exponential,
                     .requeues_most = 3,
                     .requeue_pause = Duration{0}};
  std::vector<std::int64_t> waits;
  std::vector<std::string> said;
  for (story.attempt = 1; story.attempt <= 4; ++story.attempt) {
    const Time begin = story.now;
    story.make_next();
    story.see_ready(1);
    story.next_steps();
    while (story.next_steps().empty()) story.pass_at(story.now + seconds(1));
    waits.push_back((story.now - begin).ms / 1000);
    said = story.end_this();
  }
  EXPECT_THAT(waits, ElementsAre(60, 60, 120, 240));
  EXPECT_THAT(said, ElementsAre("confirm",
                                "finished false 1 Insufficient number of Running and Completed "
                                "pods, minimum=3, running=1, completed=0. It was requeued 3 times, "
                                "the most it may be."));
}

TEST(AttemptCare, WhatFailedIsRemovedAndTriedAgainAfterItsPauseUntilTheLimit) {
  CaredFor story;
  story.care.care = {.starts_when_made = true,
                     .requeues_most = 1,
                     .requeue_pause = seconds(90),
                     .requeues_failures = true,
                     .keep_ended = true,
                     .keep_failed = seconds(5)};
  const auto fail = [&](int code) {
    GangState state = story.state(0, GangPhase::Failed);
    state.exit_code = code;
    state.reason = "Job j failed";
    state.has_live_pods = false;
    state.is_ended = true;
    story.book.seen(story.it(), state, story.now);
    return story.next_steps();
  };
  story.make_next();
  story.next_steps();
  EXPECT_THAT(fail(2), ElementsAre("remove"));
  EXPECT_THAT(story.end_this(), ElementsAre("confirm", "start failed until 90000: Job j failed"));
  story.attempt = 2;
  story.make_next();
  story.next_steps();
  EXPECT_THAT(fail(2), ElementsAre("finished false 2 Job j failed; it was requeued 1 times, the "
                                   "most it may be"));
  story.pass_at(story.now + seconds(4));
  EXPECT_THAT(story.next_steps(), IsEmpty()) << "what failed may be looked at for so long";
  story.pass_at(story.now + seconds(1));
  EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
}

TEST(AttemptCare, OneThatFailedWithPodsLeftIsKeptAndCountedUntilItsTimeIsOver) {
  CaredFor story;
  story.care.care = {.starts_when_made = true,
                     .ready_within = seconds(60),
                     .requeues_most = 0,
                     .requeues_failures = true,
                     .keep_ended = true,
                     .keep_failed = seconds(5),
                     .failed_within = seconds(2),
                     .missing_fails = true};
  const struct {
    const char* how;
    std::function<void()> fail;
    const char* said;
  } cases[] = {
      {"too few pods",
       [&] {
         story.see_ready(1);
         story.pass_at(story.now + seconds(60));
       },
       "Insufficient number of Running"},
      {"failed pods",
       [&] {
         GangState state = story.state(2);
         state.failed_pods = 1;
         state.failed_code = 3;
         state.failed_why = "pod p: exit code 3";
         story.book.seen(story.it(), state, story.now);
         story.pass_at(story.now + seconds(2));
       },
       "1 of its pods failed; pod p: exit code 3"},
      {"an object that somebody deleted",
       [&] {
         story.see_ready(3);
         story.book.seen(story.it(), story.state(2, GangPhase::Partial), story.now);
       },
       "deleted by somebody else"},
      {"an object that failed while pods run",
       [&] {
         story.book.seen(story.it(), story.state(2, GangPhase::Failed), story.now);
         story.pass_at(story.now + seconds(10));
       },
       "it was requeued 0 times"},
  };
  for (const auto& [how, fail, said] : cases) {
    story.make_next();
    story.next_steps();
    fail();
    EXPECT_THAT(story.next_steps(), IsEmpty()) << how << ": it is not over while pods run";
    EXPECT_THAT(story.book.kept_failure_of(story.it()), HasSubstr(said));
    EXPECT_TRUE(story.book.is_made(story.it()));
    story.pass_at(story.now + Duration{4999});
    EXPECT_THAT(story.next_steps(), IsEmpty()) << how;
    story.pass_at(story.now + Duration{1});
    EXPECT_THAT(story.next_steps(), ElementsAre("remove")) << how;
    EXPECT_EQ(story.book.kept_failure_of(story.it()), "");
    EXPECT_THAT(story.end_this(),
                ElementsAre("confirm", AllOf(HasSubstr("finished false"), HasSubstr(said))));
    ++story.attempt;
  }
}

TEST(AttemptCare, OneThatFailedAndIsKeptEndsEarlierWhenItIsGoneOrAtRest) {
  CaredFor story;
  story.care.care = {.starts_when_made = true,
                     .ready_within = seconds(60),
                     .requeues_most = 0,
                     .keep_ended = true,
                     .keep_failed = minutes(5)};
  const auto fail = [&] {
    story.make_next();
    story.see_ready(1);
    story.pass_at(story.now + seconds(60));
    story.next_steps();
  };
  fail();
  story.book.seen(story.it(), {}, story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("remove")) << "somebody deleted it";
  EXPECT_THAT(story.end_this(), ElementsAre("confirm", HasSubstr("finished false")));
  story.attempt = 2;
  fail();
  GangState ended = story.state(0, GangPhase::Failed);
  ended.has_live_pods = false;
  ended.is_ended = true;
  story.book.seen(story.it(), ended, story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre(HasSubstr("finished false"))) << "it takes no room";
  EXPECT_NE(story.book.kept_failure_of(story.it()), "");
  story.pass_at(story.now + minutes(5));
  EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
  story.attempt = 3;
  fail();
  story.book.remove(story.it(), story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("remove")) << "it is cancelled";
  EXPECT_THAT(story.end_this(), ElementsAre("confirm", "gone"));
}

TEST(AttemptCare, WhatAnEarlierServerKeptOfAFailureStaysUntilItsTimeIsOver) {
  CaredFor story;
  story.care.care = {.keep_ended = true, .keep_failed = minutes(5)};
  GangState failed = story.state(0, GangPhase::Failed);
  failed.reason = "Job j: failed";
  story.book.keep_failure(story.it(), failed, story.now);
  EXPECT_THAT(story.next_steps(), IsEmpty()) << "it was said then";
  EXPECT_EQ(story.book.kept_failure_of(story.it()), "Job j: failed");
  EXPECT_TRUE(story.book.is_kept_failure(story.it())) << "and at the next relist";
  story.pass_at(story.now + minutes(5));
  EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
  EXPECT_FALSE(story.book.is_kept_failure(story.it()));
}

TEST(AttemptCare, RequeuesAreToldWithTheOutcomeAndReadFromWhatIsFound) {
  CaredFor story;
  story.care.care = {.starts_when_made = true, .ready_pods = 3, .ready_within = seconds(60)};
  story.make_next();
  story.pass_at(Time{60'000});
  story.end_this();
  EXPECT_EQ(story.requeues, 1U);
  story.attempt = 2;
  story.make_next();
  story.pass_at(story.now + seconds(60));
  story.end_this();
  EXPECT_EQ(story.requeues, 2U);

  CaredFor found;
  found.care = story.care;
  found.care.requeues = 4;
  found.book.adopt(found.it(), found.now);
  found.see_ready(0);
  EXPECT_THAT(found.next_steps(), ElementsAre("started"));
  found.pass_at(Time{60'000});
  found.next_steps();
  found.end_this();
  EXPECT_EQ(found.requeues, 5U);
}

TEST(AttemptCare, OneThatAnEarlierServerWasTakingBackIsRequeuedAndThatCounts) {
  for (const bool is_withdrawn : {false, true}) {
    CaredFor story;
    story.care.care = {.starts_when_made = true,
                       .ready_within = seconds(300),
                       .requeues_most = 2,
                       .requeue_pause = seconds(90),
                       .requeues_failures = true,
                       .missing_fails = true};
    story.care.requeues = 1;
    GangState leaving = story.state(0, is_withdrawn ? GangPhase::Withdrawn : GangPhase::Disrupted);
    leaving.is_missing = !is_withdrawn;
    leaving.is_root_leaving = true;
    story.book.adopt(story.it(), story.now);
    story.book.seen(story.it(), story.unknown(), story.now);  // kinds that are not listed yet
    story.book.seen(story.it(), leaving, story.now);
    if (is_withdrawn) {
      EXPECT_THAT(story.next_steps(), IsEmpty()) << "its owner may be going, and says so";
      story.pass_at(Time{30'000});
    }
    EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
    EXPECT_THAT(story.end_this(),
                ElementsAre("confirm",
                            fmt::format("start failed until {}: it was being taken back when the "
                                        "server stopped",
                                        is_withdrawn ? 120'000 : 90'000)));
    EXPECT_EQ(story.requeues, 2U);
    EXPECT_EQ(story.book.ailment_of(story.it()), model::Ailment::Forgotten);
  }
}

TEST(AttemptCare, WhyItIsRemovedIsSaidBeforeAnythingOfItGoes) {
  CaredFor story;
  story.care.care = {.starts_when_made = true,
                     .ready_within = seconds(60),
                     .requeues_most = 1,
                     .requeues_failures = true,
                     .missing_fails = true};
  story.make_next();
  story.next_steps();
  story.pass_at(Time{60'000});
  const auto commands = story.book.take();
  const auto* first = std::get_if<SayEvent>(&commands.front());
  ASSERT_NE(first, nullptr);
  const auto* ailing = std::get_if<model::Ailing>(&first->body);
  ASSERT_NE(ailing, nullptr);
  const std::string why =
      "Insufficient number of Running and Completed pods, minimum=0, running=0, completed=0.";
  EXPECT_EQ(ailing->demise, (model::Demise{model::Ailment::TooFewPods, false, 0, 1, why}));
  story.end_this();

  story.attempt = 2;
  story.make_next();
  GangState failed = story.state(0);
  failed.failed_pods = 1;
  failed.failed_code = 3;
  failed.failed_why = "pod p: exit code 3";
  story.care.care.failed_within = Duration{0};
  story.book.look_after(story.it(), story.care);
  story.book.seen(story.it(), failed, story.now);
  story.pass_at(story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("make", "started", "remove"));
  EXPECT_EQ(story.demises.back(),
            (model::Demise{model::Ailment::FailedPods, true, 3, 0,
                           "1 of its pods failed; pod p: exit code 3; it was requeued 1 times, the "
                           "most it may be"}));
  Story plain;
  plain.make_it();
  plain.see(GangPhase::Disrupted, true, 0, "pod p was deleted by somebody else");
  EXPECT_THAT(plain.next_steps(), ElementsAre("remove"));
  EXPECT_THAT(plain.demises, IsEmpty()) << "whoever did it, it queues again";
}

TEST(AttemptCare, WhatAnEarlierServerSaidItRemovesGoesAndEndsAsItSaid) {
  CaredFor story;
  story.care.care = {.starts_when_made = true,
                     .ready_within = seconds(300),
                     .requeues_most = 3,
                     .requeue_pause = seconds(90),
                     .requeues_failures = true,
                     .missing_fails = true};
  story.care.requeues = 1;
  story.book.go_on_removing(story.it(), story.care,
                            {model::Ailment::FailedPods, false, 0, 2, "a pod failed"}, story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
  EXPECT_THAT(story.demises, IsEmpty()) << "it is known";
  EXPECT_EQ(story.book.demise_of(story.it()).reason, "a pod failed");
  EXPECT_EQ(story.book.requeues_before(story.it()), 1);
  story.book.seen(story.it(), story.state(0, GangPhase::Absent), story.now);
  EXPECT_THAT(story.end_this(), ElementsAre("confirm", "start failed until 90000: a pod failed"))
      << "nobody else deleted it";
  EXPECT_EQ(story.requeues, 2U);
  EXPECT_EQ(story.book.ailment_of(story.it()), model::Ailment::FailedPods);

  story.attempt = 2;
  story.book.go_on_removing(story.it(), story.care,
                            {model::Ailment::MissingObject, true, 1, 0, "Job j was deleted"},
                            story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
  EXPECT_THAT(story.end_this(), ElementsAre("confirm", "finished false 1 Job j was deleted"));
}

TEST(AttemptCare, AFailureThatWasKeptForLongEnoughIsSaidToBeRemovedThen) {
  CaredFor story;
  story.care.care = {.starts_when_made = true,
                     .keep_ended = true,
                     .keep_failed = seconds(5),
                     .missing_fails = true};
  story.make_next();
  story.see_ready(3);
  story.book.seen(story.it(), story.state(3, GangPhase::Partial), story.now);
  story.next_steps();
  EXPECT_THAT(story.demises, IsEmpty());
  story.pass_at(story.now + seconds(5));
  EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
  ASSERT_EQ(story.demises.size(), 1U);
  EXPECT_EQ(story.demises[0].ailment, model::Ailment::MissingObject);
  EXPECT_TRUE(story.demises[0].fails);
}

TEST(AttemptCare, WhatWasNotListedYetWhenItWasMadeIsNotMissed) {
  CaredFor story;
  story.care.care = {.starts_when_made = true, .missing_fails = true};
  story.make_next();
  story.book.seen(story.it(), story.unknown(), story.now);
  story.book.seen(story.it(), story.state(0, GangPhase::Partial), story.now);
  story.see_ready(3);
  EXPECT_THAT(story.next_steps(), ElementsAre("make", "started"));
  story.book.seen(story.it(), story.state(0, GangPhase::Partial), story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("remove")) << "it was whole, once";
}

TEST(AttemptCare, WhatWasWrongIsToldWithTheEndNotWithTheNextSight) {
  CaredFor story;
  story.care.care = {.starts_when_made = true, .ready_within = seconds(60)};
  story.make_next();
  story.next_steps();
  story.pass_at(Time{60'000});
  const auto commands = story.book.take();
  ASSERT_EQ(commands.size(), 3U);
  EXPECT_TRUE(std::holds_alternative<TellStand>(commands[1]));
  EXPECT_TRUE(std::holds_alternative<RemoveObjects>(commands.back()));
}

TEST(AttemptCare, WhatIsToBeKeptStaysWhenItHasEndedAndGoesWhenAskedTo) {
  CaredFor story;
  story.care.care = {.starts_when_made = true, .keep_ended = true};
  story.make_next();
  GangState ended = story.state(0, GangPhase::Succeeded);
  ended.has_live_pods = false;
  ended.is_ended = true;
  story.book.seen(story.it(), ended, story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("make", "started", "finished true 0"));
  EXPECT_TRUE(story.book.is_kept(story.it()));
  story.pass_at(story.now + hours(48));
  EXPECT_THAT(story.next_steps(), IsEmpty());
  EXPECT_TRUE(story.book.is_kept(story.it()));
  story.book.remove(story.it(), story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("remove", "gone"));
  EXPECT_FALSE(story.book.is_kept(story.it()));

  CaredFor deleted;
  deleted.care = story.care;
  deleted.make_next();
  deleted.book.seen(deleted.it(), ended, deleted.now);
  deleted.next_steps();
  deleted.book.seen(deleted.it(), {}, deleted.now);  // its owner went
  EXPECT_THAT(deleted.next_steps(), IsEmpty());
  EXPECT_FALSE(deleted.book.is_kept(deleted.it()));
  EXPECT_THAT(deleted.book.alive(), IsEmpty());
}

TEST(AttemptCare, ObjectsThatGoWithTheirOwnerWaitForTheDeleteThatFollows) {
  for (const GangPhase how : {GangPhase::Withdrawn, GangPhase::Absent}) {
    CaredFor story;
    story.care.care = {.starts_when_made = true};
    story.care.has_owner = true;
    story.make_next();
    story.see_ready(3);
    GangState going = story.state(0, how);
    if (how == GangPhase::Absent) going = {};
    story.book.seen(story.it(), going, story.now);
    story.pass_at(story.now + seconds(29));
    EXPECT_THAT(story.next_steps(), ElementsAre("make", "started"));
    CaredFor alone = story;
    story.book.remove(story.it(), story.now);
    EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
    EXPECT_THAT(story.end_this(), ElementsAre("confirm", "gone"));

    alone.pass_at(alone.now + seconds(1));
    EXPECT_THAT(alone.next_steps(), ElementsAre("remove")) << "nobody said so: it is tried again";
    EXPECT_THAT(alone.end_this(),
                ElementsAre("confirm",
                            "start failed until 40000: its objects were deleted by somebody else"));
  }
}

TEST(AttemptCare, PodsMustBeThereSoonerThanTheyMustBeReady) {
  CaredFor story;
  story.care.care = {.starts_when_made = true,
                     .ready_within = seconds(300),
                     .requeue_pause = Duration{0},
                     .pods_within = seconds(60)};
  const auto see_there = [&](std::int64_t there) {
    GangState state = story.state(0);
    state.there_pods = there;
    story.book.seen(story.it(), state, story.now);
  };
  story.make_next();
  see_there(2);
  story.pass_at(Time{59'999});
  EXPECT_THAT(story.next_steps(), ElementsAre("make", "started"));
  CaredFor all = story;
  story.pass_at(Time{60'000});
  EXPECT_THAT(story.next_steps(), ElementsAre("remove")) << "one pod was never made";
  EXPECT_EQ(story.book.ailment_of(story.it()), model::Ailment::TooFewPods);

  GangState whole = all.state(0);
  whole.there_pods = 3;
  all.book.seen(all.it(), whole, all.now);
  all.pass_at(Time{299'999});
  EXPECT_THAT(all.next_steps(), IsEmpty()) << "all are there: they may take longer to get ready";
  all.pass_at(Time{300'000});
  EXPECT_THAT(all.next_steps(), ElementsAre("remove"));
}

TEST(AttemptCare, WhatScalesItselfMayHaveFewerPodsOnceAllWereThere) {
  const auto see = [](CaredFor& in, std::int64_t running) {
    GangState state = in.state(running);
    state.there_pods = running;
    state.least_pods = 2;
    in.book.seen(in.it(), state, in.now);
  };
  CaredFor story;
  story.care.care = {
      .starts_when_made = true, .ready_within = seconds(300), .pods_within = seconds(60)};
  story.make_next();
  story.next_steps();
  see(story, 2);
  EXPECT_EQ(story.book.needed_pods_of(story.it()), 3);
  CaredFor slow = story;
  slow.pass_at(Time{60'000});
  EXPECT_THAT(slow.next_steps(), ElementsAre("remove")) << "one pod was never made";
  see(story, 3);
  EXPECT_EQ(story.book.needed_pods_of(story.it()), 2);
  see(story, 2);
  story.pass_at(Time{1'000'000});
  EXPECT_THAT(story.next_steps(), IsEmpty());
  see(story, 1);
  story.pass_at(Time{1'060'000});
  EXPECT_THAT(story.next_steps(), ElementsAre("remove"));

  CaredFor found;
  found.care.care = story.care.care;
  found.book.adopt(found.it(), found.now);
  see(found, 2);
  found.pass_at(Time{1'000'000});
  EXPECT_THAT(found.next_steps(), ElementsAre("started")) << "it may have been scaled before";
}

TEST(AttemptBook, AClusterThatWasScaledDownWhileNoServerRanRunsOn) {
  Story story;
  GangState state{.phase = GangPhase::Starting};
  state.needed_pods = 3;
  state.least_pods = 2;
  state.ready_pods = 2;
  story.book.adopt(a1, story.now);
  story.book.seen(a1, state, story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("started"));
  story.book.pass(Time{600'000});
  EXPECT_THAT(story.next_steps(), IsEmpty());
}

TEST(AttemptCare, PodsThatFailedAreBorneForAWhile) {
  CaredFor story;
  story.care.care = {.starts_when_made = true,
                     .ready_within = seconds(300),
                     .requeues_most = 3,
                     .requeue_pause = seconds(90),
                     .requeues_failures = true,
                     .terminal_exit_codes = {7},
                     .failed_within = seconds(60)};
  const auto see_failed = [&](CaredFor& in, int code) {
    GangState state = in.state(3);
    state.failed_pods = code == 0 ? 0 : 1;
    state.failed_code = code;
    state.failed_why = "pod p: exit code " + std::to_string(code);
    in.book.seen(in.it(), state, in.now);
  };
  story.make_next();
  story.next_steps();
  see_failed(story, 3);
  story.pass_at(Time{59'000});
  see_failed(story, 0);
  story.pass_at(Time{200'000});
  EXPECT_THAT(story.next_steps(), IsEmpty()) << "somebody made up for it";
  see_failed(story, 3);
  story.pass_at(Time{230'000});
  see_failed(story, 3);
  EXPECT_THAT(story.next_steps(), IsEmpty());
  CaredFor final = story;
  story.pass_at(Time{260'000});
  EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
  EXPECT_EQ(story.book.ailment_of(story.it()), model::Ailment::FailedPods);
  EXPECT_THAT(story.end_this(),
              ElementsAre("confirm",
                          "start failed until 350000: 1 of its pods failed; pod p: exit code 3"));
  EXPECT_EQ(story.requeues, 1U);

  see_failed(final, 7);
  final.pass_at(Time{260'000});
  final.next_steps();
  EXPECT_THAT(final.end_this(),
              ElementsAre("confirm",
                          "finished false 7 1 of its pods failed; pod p: exit code 7; exit code 7 "
                          "is not worth another try"));
}

TEST(AttemptCare, AnObjectThatSomebodyDeletedIsTheEndIfItsJobSaysSo) {
  for (const GangPhase how : {GangPhase::Disrupted, GangPhase::Partial, GangPhase::Absent}) {
    CaredFor story;
    story.care.care = {.starts_when_made = true, .requeues_failures = true, .missing_fails = true};
    story.make_next();
    story.see_ready(3);
    story.next_steps();
    GangState missing = story.state(0, how);
    if (how == GangPhase::Absent) missing = {};
    missing.is_missing = how == GangPhase::Disrupted;
    missing.reason = "Job j was deleted";
    story.book.seen(story.it(), missing, story.now);
    EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
    EXPECT_EQ(story.book.ailment_of(story.it()), model::Ailment::MissingObject);
    EXPECT_THAT(story.end_this(),
                ElementsAre("confirm", ::testing::StartsWith("finished false 1 ")));
  }
}

TEST(AttemptCare, AnObjectThatWasDeletedWhileNoServerRanIsMissedByTheNextOne) {
  for (const bool is_missed : {true, false}) {
    CaredFor story;
    story.care.care = {.starts_when_made = true, .missing_fails = is_missed};
    story.book.adopt(story.it(), story.now);
    story.book.seen(story.it(), story.state(3, GangPhase::Partial), story.now);
    if (!is_missed) {
      EXPECT_THAT(story.next_steps(), IsEmpty()) << "as ever, the cache may be behind";
      continue;
    }
    EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
    EXPECT_EQ(story.book.ailment_of(story.it()), model::Ailment::MissingObject);
    EXPECT_THAT(story.end_this(),
                ElementsAre("confirm", ::testing::StartsWith("finished false 1 ")));
  }
}

TEST(AttemptCare, AnObjectThatIsBeingDeletedAfterARestartWasNotTakenBackByUs) {
  CaredFor story;
  story.care.care = {.starts_when_made = true, .missing_fails = true};
  GangState deleting = story.state(3, GangPhase::Disrupted);
  deleting.is_missing = true;
  deleting.reason = "Job j was deleted by somebody else";
  story.book.adopt(story.it(), story.now);
  story.book.seen(story.it(), deleting, story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("remove")) << "the root would go first";
  EXPECT_EQ(story.book.ailment_of(story.it()), model::Ailment::MissingObject);
  EXPECT_THAT(story.end_this(),
              ElementsAre("confirm", "finished false 1 Job j was deleted by somebody else"));
}

TEST(AttemptCare, AJobThatWasItsOwnRootIsMissedAfterARestartUnlessItsOwnerWentToo) {
  for (const bool has_pods : {false, true}) {
    CaredFor story;
    story.care.care = {.starts_when_made = true, .missing_fails = true};
    story.care.has_hub = true;
    if (has_pods) {
      GangState rootless = story.state(1, GangPhase::Partial);
      rootless.is_rootless = true;
      story.book.adopt(story.it(), story.now);
      story.book.seen(story.it(), rootless, story.now);
    } else {
      story.book.vanished(story.it(), story.care, story.now);
    }
    story.pass_at(story.now + seconds(29));
    EXPECT_THAT(story.next_steps(), IsEmpty());
    CaredFor cancelled = story;
    story.pass_at(story.now + seconds(1));
    EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
    EXPECT_EQ(story.book.ailment_of(story.it()), model::Ailment::MissingObject);
    EXPECT_THAT(
        story.end_this(),
        ElementsAre("confirm", "finished false 1 its objects were deleted by somebody else"));
    cancelled.book.remove(cancelled.it(), cancelled.now);
    EXPECT_THAT(cancelled.next_steps(), ElementsAre("remove"));
    EXPECT_THAT(cancelled.end_this(), ElementsAre("confirm", "gone"));
  }
}

TEST(AttemptCare, ItLeavesNodesThatAreNoPlaceForItWithoutLosingATry) {
  CaredFor story;
  story.care.care = {.starts_when_made = true,
                     .ready_within = seconds(300),
                     .requeues_most = 1,
                     .requeue_pause = seconds(90),
                     .leaves = {{"gpu", "health", "EVICT"}}};
  story.care.requeues = 0;
  story.make_next();
  story.see_ready(3);
  story.next_steps();
  ASSERT_EQ(story.book.movable().count(story.it()), 1U);
  EXPECT_THAT(story.book.movable().at(story.it()), ElementsAre(story.care.care.leaves[0]));
  story.book.leave_nodes(story.it(), "on sick nodes: n1", story.now);
  EXPECT_THAT(story.book.movable(), IsEmpty());
  EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
  EXPECT_EQ(story.book.ailment_of(story.it()), model::Ailment::SickNode);
  EXPECT_THAT(story.end_this(),
              ElementsAre("confirm", "start failed until 90000: on sick nodes: n1"));
  EXPECT_EQ(story.requeues, 0U);
  story.book.leave_nodes(story.it(), "again", story.now);
  EXPECT_THAT(story.next_steps(), IsEmpty());
}

}  // namespace
}  // namespace muster::clusters
