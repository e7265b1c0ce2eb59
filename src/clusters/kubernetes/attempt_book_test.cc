#include "clusters/kubernetes/attempt_book.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::clusters {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Making = AttemptBook::Making;

const ports::Attempt a1{"a", 1};

std::string words(const model::EventBody& body) {
  if (std::holds_alternative<model::Started>(body)) return "started";
  if (std::holds_alternative<model::Gone>(body)) return "gone";
  if (const auto* end = std::get_if<model::Finished>(&body)) {
    return fmt::format("finished {} {}{}", end->success, end->exit_code,
                       end->reason.empty() ? "" : " " + end->reason);
  }
  if (const auto* failed = std::get_if<model::StartFailed>(&body)) {
    return fmt::format("start failed until {}: {}", failed->not_before.ms, failed->reason);
  }
  return "?";
}

/// A book, and what it says to do in words.
struct Story {
  AttemptBook book{{.ready_within = seconds(60),
                    .start_retry_pause = seconds(10),
                    .look_again = seconds(2),
                    .keep_outcomes = hours(1)}};
  Time now{0};
  std::uint32_t requeues = 0;  // as the last outcome said

  std::vector<std::string> next_steps() {
    std::vector<std::string> found;
    for (const BookCommand& command : book.take()) {
      note_requeues(command);
      if (std::holds_alternative<MakeObjects>(command)) found.emplace_back("make");
      if (std::holds_alternative<RemoveObjects>(command)) found.emplace_back("remove");
      if (std::holds_alternative<ConfirmGone>(command)) found.emplace_back("confirm");
      if (const auto* said = std::get_if<SayEvent>(&command)) found.push_back(words(said->body));
    }
    return found;
  }
  void note_requeues(const BookCommand& command) {
    const auto* said = std::get_if<SayEvent>(&command);
    const auto* failed = said == nullptr ? nullptr : std::get_if<model::StartFailed>(&said->body);
    if (failed != nullptr) requeues = failed->requeues;
  }
  /// All Jobs ended by themselves.
  void see_end(GangPhase phase, int code = 0, const std::string& reason = "") {
    book.seen(a1, {phase, code, reason, false, true}, now);
  }
  void see(GangPhase phase, bool live = true, int code = 0, const std::string& reason = "") {
    book.seen(a1, {phase, code, reason, live, false}, now);
  }
  void make_it() {
    book.create(a1, now);
    book.made(a1, Making::Done, "", now);
    next_steps();
  }
  /// From remove to nothing left.
  std::vector<std::string> end_it() {
    book.removed(a1);
    book.confirmed(a1, true, now);
    return next_steps();
  }
};

TEST(AttemptBook, AGangIsMadeStartsAndEnds) {
  Story story;
  story.book.create(a1, story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("make"));
  story.book.made(a1, Making::Done, "", story.now);
  story.see(GangPhase::Starting);
  EXPECT_THAT(story.next_steps(), IsEmpty());
  story.see(GangPhase::Running);
  story.see(GangPhase::Running);
  EXPECT_THAT(story.next_steps(), ElementsAre("started"));
  story.see_end(GangPhase::Succeeded);
  EXPECT_THAT(story.next_steps(), ElementsAre("finished true 0"));
  EXPECT_TRUE(story.book.is_settled());
}

TEST(AttemptBook, AFailureIsSaidWhenAllJobsHaveEndedTheirPods) {
  Story story;
  story.make_it();
  story.see(GangPhase::Failed, true, 3, "pod p: exit code 3");
  story.see_end(GangPhase::Failed, 137, "pod q: killed because p failed");
  EXPECT_THAT(story.next_steps(), ElementsAre("finished false 3 pod p: exit code 3"));
}

TEST(AttemptBook, AJobThatFailedIsNotJudgedBeforeThePodThatFailedItIsSeen) {
  GangState guess{GangPhase::Failed, 1, "Job J: BackoffLimitExceeded"};
  guess.is_guess = true;
  guess.is_ended = true;
  Story failed;
  failed.make_it();
  failed.book.seen(a1, guess, failed.now);
  EXPECT_THAT(failed.next_steps(), IsEmpty());
  failed.see_end(GangPhase::Failed, 3, "pod p: exit code 3");
  EXPECT_THAT(failed.next_steps(), ElementsAre("finished false 3 pod p: exit code 3"));
  Story taken;
  taken.make_it();
  taken.book.seen(a1, guess, taken.now);
  taken.see(GangPhase::Disrupted, true, 0, "pod p was deleted by somebody else");
  EXPECT_THAT(taken.next_steps(), ElementsAre("remove"));
  Story unknown;
  unknown.make_it();
  unknown.book.seen(a1, guess, unknown.now);
  unknown.now = unknown.now + seconds(10);
  unknown.book.pass(unknown.now);
  EXPECT_THAT(unknown.next_steps(), ElementsAre("remove"));
  EXPECT_THAT(unknown.end_it(),
              ElementsAre("confirm", "finished false 1 Job J: BackoffLimitExceeded"));
}

TEST(AttemptBook, AGangThatEndedLeavesItsObjectsAsProofForAWhile) {
  Story story;
  story.make_it();
  story.see_end(GangPhase::Failed, 3, "pod p: exit code 3");
  EXPECT_THAT(story.next_steps(), ElementsAre("finished false 3 pod p: exit code 3"));
  story.book.create(a1, story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("finished false 3 pod p: exit code 3")) << "final";
  story.now = Time{119'999};
  story.book.pass(story.now);
  EXPECT_THAT(story.next_steps(), IsEmpty());
  story.now = Time{120'000};
  story.book.pass(story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
  EXPECT_THAT(story.end_it(), ElementsAre("confirm")) << "it was said before";
  story.book.create(a1, story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("finished false 3 pod p: exit code 3"));
}

TEST(AttemptBook, WhenTheClusterLeavesNobodyNeedsTheProofAndWhatRunsIsLeftAlone) {
  Story story;
  story.make_it();
  story.see_end(GangPhase::Succeeded);
  const ports::Attempt b1{"b", 1};
  story.book.create(b1, story.now);
  story.book.made(b1, Making::Done, "", story.now);
  story.book.seen(b1, {GangPhase::Running, 0, "", true, false}, story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("finished true 0", "make", "started"));
  story.book.remove_ended();
  EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
  EXPECT_THAT(story.book.leaving(), ElementsAre(a1));
  EXPECT_THAT(story.end_it(), ElementsAre("confirm"));
  EXPECT_THAT(story.book.leaving(), IsEmpty());
}

TEST(AttemptBook, ADeleteOfWhatEndedRemovesItsObjectsAtOnce) {
  Story story;
  story.make_it();
  story.see_end(GangPhase::Succeeded);
  story.book.remove(a1, story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("finished true 0", "remove", "gone"));
  EXPECT_THAT(story.end_it(), ElementsAre("confirm"));
}

TEST(AttemptBook, ARunningGangWhoseObjectsAreGoneIsStartedAgain) {
  Story story;
  story.make_it();
  story.see(GangPhase::Absent, false);
  EXPECT_THAT(story.next_steps(), IsEmpty()) << "the cache may be behind";
  story.see(GangPhase::Running);
  story.see(GangPhase::Absent, false);
  EXPECT_THAT(story.next_steps(), ElementsAre("started", "remove"));
  EXPECT_THAT(story.end_it(),
              ElementsAre("confirm",
                          "start failed until 10000: its objects were deleted by somebody else"));
}

TEST(AttemptBook, IsSettledWhenAllRunOrAreOver) {
  Story story;
  EXPECT_TRUE(story.book.is_settled());
  story.make_it();
  EXPECT_FALSE(story.book.is_settled()) << "not ready yet";
  story.see(GangPhase::Running);
  EXPECT_TRUE(story.book.is_settled());
  story.book.remove(a1, story.now);
  EXPECT_FALSE(story.book.is_settled());
  EXPECT_THAT(story.book.leaving(), ElementsAre(a1));
  story.next_steps();
  story.end_it();
  EXPECT_TRUE(story.book.is_settled());
  EXPECT_THAT(story.book.leaving(), IsEmpty());
  story.book.pass(story.now + hours(2));
  EXPECT_EQ(story.book.size(), 0U) << "outcomes are kept for a while only";
}

TEST(AttemptBook, OneThatNobodyKnowsWhetherItWasMadeIsForgottenWholly) {
  Story story;
  story.book.create(a1, story.now);
  story.book.made(a1, AttemptBook::Making::Unavailable, "", story.now);
  EXPECT_EQ(story.book.size(), 0U);
  EXPECT_TRUE(story.book.is_settled());
  story.book.pass(story.now + hours(2));
  EXPECT_THAT(story.next_steps(), ElementsAre("make"));
}

TEST(AttemptBook, AGangWhoseObjectsGoBeforeItsPodsAreReadyIsStartedAgainAtOnce) {
  Story story;
  story.make_it();
  story.see(GangPhase::Starting);
  story.see(GangPhase::Absent, false);
  EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
}

TEST(AttemptBook, CreatingAgainSaysHowItStandsAndMakesNothing) {
  Story story;
  story.make_it();
  story.book.create(a1, story.now);
  EXPECT_THAT(story.next_steps(), IsEmpty()) << "not started yet: nothing to say";
  story.see(GangPhase::Running);
  story.book.create(a1, story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("started", "started"));
}

TEST(AttemptBook, AFailureIsSaidWhenNothingIsLeft) {
  Story story;
  story.make_it();
  story.see(GangPhase::Failed, true, 3, "pod p: exit code 3");
  story.see(GangPhase::Disrupted, true, 0, "what comes of it is not the cause");
  story.book.pass(Time{9'999});
  EXPECT_THAT(story.next_steps(), IsEmpty()) << "its Jobs may end the others by themselves";
  story.book.pass(Time{10'000});
  EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
  story.book.removed(a1);
  story.book.confirmed(a1, false, story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("confirm"));
  story.book.pass(story.now);
  EXPECT_THAT(story.next_steps(), IsEmpty()) << "not so soon";
  story.now = Time{2000};
  story.book.pass(story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
  EXPECT_THAT(story.end_it(), ElementsAre("confirm", "finished false 3 pod p: exit code 3"));
  story.book.create(a1, story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("finished false 3 pod p: exit code 3")) << "final";
}

TEST(AttemptBook, ADeleteIsFinalAlsoForWhatIsOnItsWay) {
  Story story;
  story.book.create(a1, story.now);
  story.book.remove(a1, story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("make")) << "removed when the making is over";
  story.book.made(a1, Making::Done, "", story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
  EXPECT_THAT(story.end_it(), ElementsAre("confirm", "gone"));
  story.book.create(a1, story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("gone"));
}

TEST(AttemptBook, DeletingWhatIsNotKnownLooksAtTheCluster) {
  Story story;
  story.book.remove(a1, story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
  EXPECT_THAT(story.end_it(), ElementsAre("confirm", "gone"));
}

TEST(AttemptBook, AGangThatIsNotReadyInTimeIsTakenBackWhole) {
  Story story;
  story.make_it();
  story.see(GangPhase::Starting, true, 0, "pod p: ImagePullBackOff");
  story.now = Time{59'999};
  story.book.pass(story.now);
  EXPECT_THAT(story.next_steps(), IsEmpty());
  story.now = Time{60'000};
  story.book.pass(story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
  EXPECT_THAT(story.end_it(),
              ElementsAre("confirm",
                          "start failed until 70000: not all pods were ready within 1m; pod p: "
                          "ImagePullBackOff"));
}

TEST(AttemptBook, AGangThatDoesNotStartAgainAndAgainWaitsLongerEachTime) {
  Story story;
  const auto try_to_start = [&](std::uint32_t number) {
    const ports::Attempt attempt{"a", number};
    story.book.create(attempt, story.now);
    story.book.made(attempt, Making::NotNow, "no room", story.now);
    story.book.removed(attempt);
    story.book.confirmed(attempt, true, story.now);
    return story.next_steps().back();
  };
  EXPECT_EQ(try_to_start(1), "start failed until 10000: no room");
  EXPECT_EQ(try_to_start(2), "start failed until 20000: no room");
  EXPECT_EQ(try_to_start(3), "start failed until 40000: no room");
  for (std::uint32_t number = 4; number < 9; ++number) try_to_start(number);
  EXPECT_EQ(try_to_start(9), "start failed until 300000: no room") << "five minutes at most";
  const ports::Attempt ran{"a", 10};
  story.book.create(ran, story.now);
  story.book.made(ran, Making::Done, "", story.now);
  story.book.seen(ran, {GangPhase::Running, 0, "", true, false}, story.now);
  story.book.seen(ran, {GangPhase::Disrupted, 0, "evicted", true, false}, story.now);
  story.book.removed(ran);
  story.book.confirmed(ran, true, story.now);
  EXPECT_EQ(story.next_steps().back(), "start failed until 10000: evicted");
  EXPECT_EQ(try_to_start(11), "start failed until 10000: no room") << "it ran in between";
}

TEST(AttemptBook, AGangThatRunsIsNotTakenBackByTheClock) {
  Story story;
  story.make_it();
  story.see(GangPhase::Running);
  story.next_steps();
  story.now = Time{10'000'000};
  story.book.pass(story.now);
  EXPECT_THAT(story.next_steps(), IsEmpty());
}

TEST(AttemptBook, WhatTheClusterRefusesFailsAndWhatItCannotDoNowIsAskedForAgain) {
  Story story;
  story.book.create(a1, story.now);
  story.book.made(a1, Making::Unavailable, "", story.now);
  EXPECT_FALSE(story.book.knows(a1));
  story.book.create(a1, story.now);
  story.book.made(a1, Making::Refused, "quota", story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("make", "make", "remove"));
  EXPECT_THAT(story.end_it(), ElementsAre("confirm", "finished false 126 quota"));
}

TEST(AttemptBook, WhatOthersTookAwayIsStartedAgain) {
  Story story;
  story.make_it();
  story.see(GangPhase::Running);
  story.see(GangPhase::Disrupted, true, 0, "pod p: Evicted");
  EXPECT_THAT(story.next_steps(), ElementsAre("started", "remove"));
  EXPECT_THAT(story.end_it(), ElementsAre("confirm", "start failed until 10000: pod p: Evicted"));
}

TEST(AttemptBook, AdoptedAttemptsAreWatchedAndVanishedOnesStayGone) {
  Story story;
  story.book.adopt(a1, story.now);
  story.see(GangPhase::Running);
  EXPECT_THAT(story.next_steps(), ElementsAre("started"));
  const ports::Attempt b{"b", 1};
  story.book.vanished(b, story.now);
  story.book.create(b, story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("gone", "gone"));
  EXPECT_THAT(story.book.alive(), ElementsAre(a1));
}

TEST(AttemptBook, WhatArrivesAfterItsDeleteIsRemovedAgainAndNothingIsSaidTwice) {
  Story story;
  story.book.remove(a1, story.now);
  story.next_steps();
  EXPECT_THAT(story.end_it(), ElementsAre("confirm", "gone"));
  story.see(GangPhase::Starting);
  story.book.pass(story.now);
  EXPECT_THAT(story.next_steps(), IsEmpty()) << "a cache may be behind";
  story.now = story.now + seconds(6);
  story.book.pass(story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
  EXPECT_THAT(story.end_it(), ElementsAre("confirm"));
  story.see(GangPhase::Absent, false);
  story.now = story.now + seconds(6);
  story.book.pass(story.now);
  EXPECT_THAT(story.next_steps(), IsEmpty());
}

TEST(AttemptBook, AListOfObjectsThatLostOneIsStartedAgainOnceItRan) {
  Story story;
  story.make_it();
  story.see(GangPhase::Partial);
  EXPECT_THAT(story.next_steps(), IsEmpty()) << "the cache may be behind";
  story.see(GangPhase::Running);
  story.see(GangPhase::Partial, true, 0, "1 of its 2 objects are there");
  EXPECT_THAT(story.next_steps(), ElementsAre("started", "remove"));
  EXPECT_THAT(story.end_it(), ElementsAre("confirm",
                                          "start failed until 10000: 1 of its 2 objects are there; "
                                          "the others were deleted by somebody else"));
}

TEST(AttemptBook, OutcomesAreForgottenAfterAWhile) {
  Story story;
  story.book.vanished(a1, story.now);
  story.book.pass(Time{3'599'999});
  EXPECT_TRUE(story.book.knows(a1));
  story.book.pass(Time{3'600'000});
  EXPECT_FALSE(story.book.knows(a1));
}

// ---- looked after in their own way

/// A list of objects as an AppWrapper has it.
struct CaredFor : Story {
  AttemptCare care;
  std::uint32_t attempt = 1;

  ports::Attempt it() const { return {"a", attempt}; }
  void make_next() {
    care.requeues = static_cast<int>(requeues);
    book.create(it(), now);
    book.look_after(it(), care);
    book.made(it(), Making::Done, "", now);
  }
  GangState state(std::int64_t ready, GangPhase phase = GangPhase::Running) const {
    GangState made;
    made.phase = phase;
    made.care = care;
    made.needed_pods = 3;
    made.ready_pods = ready;
    made.has_live_pods = true;
    return made;
  }
  void see_ready(std::int64_t ready) { book.seen(it(), state(ready), now); }
  void pass_at(Time at) {
    now = at;
    book.pass(now);
  }
  std::vector<std::string> end_this() {
    book.removed(it());
    book.confirmed(it(), true, now);
    return next_steps();
  }
};

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
    story.book.adopt(story.it(), story.now);
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
  }
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
  EXPECT_EQ(story.book.ailment_of(story.it()), ports::Ailment::TooFewPods);

  GangState whole = all.state(0);
  whole.there_pods = 3;
  all.book.seen(all.it(), whole, all.now);
  all.pass_at(Time{299'999});
  EXPECT_THAT(all.next_steps(), IsEmpty()) << "all are there: they may take longer to get ready";
  all.pass_at(Time{300'000});
  EXPECT_THAT(all.next_steps(), ElementsAre("remove"));
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
  EXPECT_EQ(story.book.ailment_of(story.it()), ports::Ailment::FailedPods);
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
    EXPECT_EQ(story.book.ailment_of(story.it()), ports::Ailment::MissingObject);
    EXPECT_THAT(story.end_this(),
                ElementsAre("confirm", ::testing::StartsWith("finished false 1 ")));
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
  EXPECT_EQ(story.book.ailment_of(story.it()), ports::Ailment::SickNode);
  EXPECT_THAT(story.end_this(),
              ElementsAre("confirm", "start failed until 90000: on sick nodes: n1"));
  EXPECT_EQ(story.requeues, 0U);
  story.book.leave_nodes(story.it(), "again", story.now);
  EXPECT_THAT(story.next_steps(), IsEmpty());
}

}  // namespace
}  // namespace muster::clusters
