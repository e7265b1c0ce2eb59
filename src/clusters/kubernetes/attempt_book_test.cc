#include "clusters/kubernetes/attempt_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clusters/kubernetes/testing/attempt_story.h"

namespace muster::clusters {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

TEST(AttemptBook, AFailureWhosePodIsGoneWithoutATraceIsALossAndNoFailure) {
  GangState guess{GangPhase::Failed, 1, "Job J: BackoffLimitExceeded"};
  guess.is_guess = true;
  guess.is_ended = true;
  guess.is_loss = true;
  Story story;
  story.book.adopt(a1, story.now);
  story.book.seen(a1, guess, story.now);
  Story late = story;
  story.now = story.now + seconds(10);
  story.book.pass(story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
  EXPECT_THAT(story.end_it(),
              ElementsAre("confirm",
                          "start failed until 20000: a pod was taken away by somebody else while "
                          "nobody watched; Job J: BackoffLimitExceeded"));
  late.see_end(GangPhase::Failed, 3, "pod p: exit code 3");
  EXPECT_THAT(late.next_steps(), ElementsAre("finished false 3 pod p: exit code 3"))
      << "it was not seen yet";
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

TEST(AttemptBook, WhatIsGivenUpBecauseItWasNeverMadeSaysWhyAndWaits) {
  Story story;
  story.book.create(a1, story.now);
  story.book.made(a1, Making::Unavailable, "no space", story.now);
  Story late = story;
  story.book.remove(a1, story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("make", "remove"));
  EXPECT_THAT(
      story.end_it(),
      ElementsAre("confirm", "start failed until 10000: its objects could not be made: no space"));
  late.book.create(a1, late.now);
  late.book.made(a1, Making::Done, "", late.now);
  late.book.remove(a1, late.now);
  EXPECT_THAT(late.next_steps(), ElementsAre("make", "make", "remove"));
  EXPECT_THAT(late.end_it(), ElementsAre("confirm", "gone")) << "it was made after all";
}

TEST(AttemptBook, WhatIsGivenUpWhileItCannotBeMadeSaysWhyToo) {
  Story story;
  story.book.create(a1, story.now);
  story.book.remove(a1, story.now);
  story.book.made(a1, Making::Unavailable, "no space", story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("make", "remove"));
  EXPECT_THAT(
      story.end_it(),
      ElementsAre("confirm", "start failed until 10000: its objects could not be made: no space"));
}

TEST(AttemptBook, ADeleteThatComesAgainOrLateChangesNotHowItEnds) {
  Story given_up;
  given_up.book.create(a1, given_up.now);
  given_up.book.made(a1, Making::Unavailable, "no space", given_up.now);
  given_up.book.remove(a1, given_up.now);
  given_up.book.remove(a1, given_up.now);
  EXPECT_THAT(given_up.next_steps(), ElementsAre("make", "remove"));
  EXPECT_THAT(
      given_up.end_it(),
      ElementsAre("confirm", "start failed until 10000: its objects could not be made: no space"));
  Story failed;
  failed.make_it();
  failed.see(GangPhase::Failed, true, 3, "pod p: exit code 3");
  failed.book.pass(Time{10'000});
  EXPECT_THAT(failed.next_steps(), ElementsAre("remove"));
  failed.book.remove(a1, failed.now);
  EXPECT_THAT(failed.end_it(), ElementsAre("confirm", "finished false 3 pod p: exit code 3"));
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
  story.book.vanished(b, {}, story.now);
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

TEST(AttemptBook, DeletesThatTheClusterDidNotTakeAreRepeatedBeforeAnybodyAsksWhetherAllIsGone) {
  Story story;
  story.make_it();
  story.book.remove(a1, story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
  story.book.not_removed(a1, story.now);
  story.book.pass(Time{1'999});
  EXPECT_THAT(story.next_steps(), IsEmpty());
  story.book.pass(Time{2'000});
  EXPECT_THAT(story.next_steps(), ElementsAre("remove"));
  EXPECT_THAT(story.end_it(), ElementsAre("confirm", "gone"));
}

TEST(AttemptBook, ItHasEndedWhenThePodsThatSucceededAreSeenOrDoNotCome) {
  GangState complete{.phase = GangPhase::Succeeded, .is_ended = true, .lacks_pods = true};
  Story story;
  story.make_it();
  story.book.seen(a1, complete, story.now);
  EXPECT_THAT(story.next_steps(), IsEmpty()) << "their output is not read";
  Story late = story;
  complete.lacks_pods = false;
  story.book.seen(a1, complete, story.now);
  EXPECT_THAT(story.next_steps(), ElementsAre("finished true 0"));
  late.book.pass(Time{10'000});
  EXPECT_THAT(late.next_steps(), ElementsAre("finished true 0")) << "somebody deleted them";
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
  story.book.vanished(a1, {}, story.now);
  story.book.pass(Time{3'599'999});
  EXPECT_TRUE(story.book.knows(a1));
  story.book.pass(Time{3'600'000});
  EXPECT_FALSE(story.book.knows(a1));
}

// ---- looked after in their own way

}  // namespace
}  // namespace muster::clusters
