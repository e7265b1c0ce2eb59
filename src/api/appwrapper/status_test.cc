#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "api/appwrapper/status_fields.h"
#include "api/appwrapper/testing/status_story.h"

namespace muster::api {
namespace {

TEST(StatusV1beta1, OneThatIsNewIsQueueing) {
  StatusStory story;
  const json::object& status = story.write();
  EXPECT_EQ(conditions(status), "Init Queueing/AwaitingHeadOfLine");
  EXPECT_EQ(text(status, "state"), "Pending");
  EXPECT_EQ(text(status, "queuejobstate"), "Queueing");
  EXPECT_EQ(status.at("canrun"), json::value(false)) << "the SDK looks whether it is there";
  EXPECT_EQ(status.at("filterignore"), json::value(true));
  EXPECT_EQ(status.at("systempriority"), json::value(7));
  EXPECT_EQ(text(status, "controllerfirsttimestamp"), "1970-01-01T01:00:01.000000Z");
  EXPECT_FALSE(status.contains("pending")) << "what is nothing is left out, as Go does";
}

TEST(StatusV1beta1, OneThatDoesNotFitBacksOffInTheWordsOfTheGuide) {
  StatusStory story;
  story.waits();
  const json::object& status = story.write();
  EXPECT_EQ(conditions(status),
            "Init Queueing/AwaitingHeadOfLine HeadOfLine/FrontOfQueue. "
            "Backoff/AppWrapperNotRunnable. Waiting/InsufficientResources");
  EXPECT_EQ(message(status, "Backoff", "AppWrapperNotRunnable."),
            "Insufficient resources to dispatch AppWrapper.");
  EXPECT_EQ(message(status, "Waiting", "InsufficientResources"),
            "waits for room: 1 of 2 pods fit in cluster a; expected to start about "
            "1970-01-01T01:00:00Z");
  EXPECT_EQ(text(status, "state"), "Pending");
  EXPECT_EQ(text(status, "queuejobstate"), "Backoff");
  EXPECT_EQ(text(status, "sender"), "before [backoff] - Rejoining");
}

TEST(StatusV1beta1, OneOverItsQuotaSaysSo) {
  StatusStory story;
  story.waits(WrapperWait::Kind::Quota);
  EXPECT_EQ(message(story.write(), "Backoff", "quota limit exceeded"),
            "Insufficient quota and/or resources to dispatch AppWrapper.");
}

TEST(StatusV1beta1, OneThatIsNotTakenAsLongAsNobodyChecksItsCreatorSaysSo) {
  StatusStory story;
  story.facts.row.reset();
  story.facts.wait = WrapperWait{WrapperWait::Kind::NoCheck, "no new ones are taken", {}};
  story.write();
  EXPECT_EQ(text(story.status, "state"), "Pending");
  EXPECT_EQ(message(story.status, "Backoff", "AppWrapperNotRunnable."), "no new ones are taken");
  EXPECT_EQ(message(story.status, "Waiting", "CreatorsNotChecked"), "no new ones are taken");
}

TEST(StatusV1beta1, OneThatFitsIsDispatchedWithTheConditionsOfTheGuide) {
  StatusStory story;
  story.placed();
  story.made(2);
  const json::object& status = story.write();
  EXPECT_EQ(conditions(status),
            "Init Queueing/AwaitingHeadOfLine HeadOfLine/FrontOfQueue. "
            "Dispatched/AppWrapperRunnable");
  EXPECT_EQ(text(status, "state"), "Running");
  EXPECT_EQ(text(status, "queuejobstate"), "Dispatched");
  EXPECT_EQ(status.at("canrun"), json::value(true));
  EXPECT_EQ(status.at("running"), json::value(2));
  EXPECT_EQ(status.at("totalcpu"), json::value(3000));
  EXPECT_EQ(status.at("totalmemory"), json::value(2147483647)) << "clamped, never overflowed";
  EXPECT_EQ(text(status.at("muster").as_object(), "cluster"), "a");
}

TEST(StatusV1beta1, TheSameFactsAddNothing) {
  StatusStory story;
  story.waits();
  const json::object once = story.write();
  EXPECT_EQ(story.write(), once);
  story.facts.wait->sentence = "waits for room: 0 of 2 pods fit in cluster a";
  EXPECT_EQ(story.write(), once) << "numbers of a wait are no reason to write";
  story.placed();
  story.made();
  const json::object out = story.write();
  EXPECT_EQ(story.write(), out);
}

TEST(StatusV1beta1, OneWhoseItemsAreCompleteHoldsUntilItsPodsHaveEnded) {
  StatusStory story;
  story.placed();
  story.made(2);
  story.write();
  story.facts.sight.edit().is_complete = true;
  EXPECT_EQ(text(story.write(), "state"), "RunningHoldCompletion");
  story.facts.row->state = JobState::Succeeded;
  story.facts.sight.edit().pods = {0, 0, 2, 0};
  const json::object& status = story.write();
  EXPECT_EQ(text(status, "state"), "Completed");
  EXPECT_EQ(status.at("canrun"), json::value(false));
  EXPECT_EQ(status.at("Succeeded"), json::value(2));
  EXPECT_EQ(conditions(status),
            "Init Queueing/AwaitingHeadOfLine HeadOfLine/FrontOfQueue. "
            "Dispatched/AppWrapperRunnable RunningHoldCompletion/SomeItemsCompleted "
            "Completed/PodsCompleted");
  EXPECT_TRUE(is_final_v1beta1(status));
}

TEST(StatusV1beta1, InTheProfileOfMcadOneThatNamesNoEndRunsOn) {
  StatusStory story;
  story.facts.is_mcad = true;
  story.placed();
  story.made(2);
  story.write();
  story.facts.row->state = JobState::Succeeded;
  EXPECT_EQ(text(story.write(), "state"), "Running");
  story.facts.ask.names_its_end = true;
  EXPECT_EQ(text(story.write(), "state"), "Completed");
}

TEST(StatusV1beta1, OneWhoseSpecDoesNotReadAnyMoreKeepsItsNumbersAndEndsAsItsJobDoes) {
  StatusStory story;
  story.facts.is_mcad = true;
  story.facts.ask.min_available = 2;
  story.placed();
  story.made(2);
  const json::object before = story.write();
  story.facts.ask = {};  // the server was started again
  story.facts.ask.priority = 7;
  story.facts.ask.is_unread = true;
  EXPECT_EQ(story.write(), before);
  story.facts.row->state = JobState::Succeeded;
  story.write();
  EXPECT_EQ(text(story.status, "state"), "Completed");
  EXPECT_EQ(story.status.at("totalcpu"), json::value(3000));
  EXPECT_EQ(story.status.at("template"), json::value(2));
}

TEST(StatusV1beta1, OneOfWhichTooFewPodsRanIsRequeuedAndDispatchedAgain) {
  StatusStory story;
  story.facts.ask.min_available = 2;
  story.facts.ask.first_wait = seconds(60);
  story.placed();
  story.made(1);
  story.write();
  const std::string why =
      "Insufficient number of Running and Completed pods, minimum=2, running=1, completed=0.";
  story.facts.row->state = JobState::Waiting;
  story.facts.row->why = EndWhy::StartFailed;
  story.facts.row->ailment = model::Ailment::TooFewPods;
  story.facts.row->reason = why;
  const json::object back = story.write();
  EXPECT_EQ(conditions(back),
            "Init Queueing/AwaitingHeadOfLine HeadOfLine/FrontOfQueue. "
            "Dispatched/AppWrapperRunnable PreemptCandidate/MinPodsNotRunning "
            "Backoff/PreemptionTriggered");
  EXPECT_EQ(message(back, "PreemptCandidate", "MinPodsNotRunning"), why);
  EXPECT_EQ(message(back, "Backoff", "PreemptionTriggered"), why);
  EXPECT_EQ(back.at("numberOfRequeueings"), json::value(1));
  EXPECT_EQ(text(back, "state"), "Pending");
  EXPECT_FALSE(back.contains("running"));
  EXPECT_EQ(story.write(), back);
  story.placed(2);
  story.made(2);
  const json::object again = story.write();
  EXPECT_EQ(text(again, "queuejobstate"), "Dispatched");
  EXPECT_EQ(again.at("numberOfRequeueings"), json::value(1));
  EXPECT_EQ(conditions(again), conditions(back)) << "in place, with a new time";
}

TEST(StatusV1beta1, WhyItWasRequeuedIsSaidInTheWordThatMcadHasForTheCase) {
  using model::Ailment;
  const std::string said = "whatever the cluster says for people";
  const struct {
    EndWhy why;
    Ailment ailment;
    int running;
    const char* word;
    std::string message;
  } cases[] = {
      {EndWhy::StartFailed, Ailment::Unplaced, 0, "PodsFailedScheduling",
       "Pods failed scheduling failed=2, running=0."},
      {EndWhy::StartFailed, Ailment::Unplaced, 1, "MinPodsNotRunning", said},
      {EndWhy::StartFailed, Ailment::TooFewPods, 0, "MinPodsNotRunning", said},
      {EndWhy::None, Ailment::TooFewPods, 2, "MinPodsNotRunning", said},  // and it is out again
      {EndWhy::StartFailed, Ailment::MissingObject, 2, "PodsLost", said},
      {EndWhy::StartFailed, Ailment::None, 2, "PodsLost", said},
      {EndWhy::ClusterLost, Ailment::None, 2, "ClusterLost", "Its cluster is lost."},
  };
  for (const auto& c : cases) {
    StatusStory story;
    story.placed();
    story.made(c.running);
    story.write();
    story.facts.row->state = JobState::Waiting;
    story.facts.row->why = c.why;
    story.facts.row->ailment = c.ailment;
    story.facts.row->reason = said;
    story.facts.sight.edit().pods = {};
    EXPECT_EQ(message(story.write(), "PreemptCandidate", c.word), c.message);
    EXPECT_EQ(message(story.status, "Backoff", "PreemptionTriggered"), c.message);
  }
}

TEST(StatusV1beta1, OneThatWasRequeuedAsOftenAsItMayBeIsDeletedAndOneThatFailedIsNot) {
  using model::Ailment;
  const std::tuple<Ailment, const char*, const char*> cases[] = {
      {Ailment::TooFewPods, "Deleted", "MaxNumRequeuingsReached"},
      {Ailment::Forgotten, "Deleted", "MaxNumRequeuingsReached"},
      {Ailment::FailedObject, "Failed", "PodsFailed"},
      {Ailment::None, "Failed", "PodsFailed"},
  };
  for (const auto& [ailment, state, reason] : cases) {
    StatusStory story;
    story.placed();
    story.made(1);
    story.write();
    story.facts.sight = {};  // a server that started again knows what the journal says
    story.facts.row->started = story.now;
    story.facts.row->state = JobState::Failed;
    story.facts.row->why = EndWhy::Failure;
    story.facts.row->ailment = ailment;
    story.facts.row->reason = "in whatever words";
    EXPECT_EQ(text(story.write(), "state"), state);
    EXPECT_EQ(message(story.status, state, reason), "in whatever words");
    EXPECT_EQ(known_state(story.facts), state);
  }
}

TEST(StatusV1beta1, ARequeueThatNobodySawBetweenTwoWritesIsCounted) {
  StatusStory story;
  story.placed();
  story.made(2);
  story.write();
  story.placed(2);
  story.made(2);
  const json::object& status = story.write();
  EXPECT_EQ(status.at("numberOfRequeueings"), json::value(1));
  EXPECT_EQ(text(status, "queuejobstate"), "Dispatched");
}

TEST(StatusV1beta1, TheTimeOfRequeuesGrowsAsMcadsDoes) {
  const auto times = [](work::GrowthType growth, Duration first, Duration most) {
    StatusStory story;
    story.facts.ask.min_available = 2;
    story.facts.ask.first_wait = first;
    story.facts.ask.next_wait = seconds(60);
    story.facts.ask.wait_most = most;
    story.facts.ask.wait_growth = growth;
    std::string line;
    for (std::uint32_t attempt = 1; attempt <= 4; ++attempt) {
      story.placed(attempt);
      story.made(1);
      story.write();
      story.facts.row->state = JobState::Waiting;
      story.facts.row->why = EndWhy::StartFailed;
      story.facts.row->ailment = model::Ailment::TooFewPods;
      story.write();
      line += fmt::format("{} ",
                          kube::integer_at(json::value(story.status), {"requeueingTimeInSeconds"}));
    }
    return line;
  };
  using work::GrowthType;
  EXPECT_EQ(times(GrowthType::Exponential, seconds(60), Duration{0}), "60 120 240 480 ");
  EXPECT_EQ(times(GrowthType::Exponential, seconds(30), Duration{0}), "60 120 240 480 ");
  EXPECT_EQ(times(GrowthType::Exponential, seconds(60), seconds(200)), "60 120 200 200 ");
  EXPECT_EQ(times(GrowthType::Linear, seconds(30), Duration{0}), "30 60 90 120 ");
  EXPECT_EQ(times(GrowthType::None, seconds(60), Duration{0}), "0 0 0 0 ");
}

TEST(StatusV1beta1, RequeuesBetweenTwoWritesAreCountedAndAttemptsThatCouldNotBeMadeAreNot) {
  StatusStory story;
  story.placed();
  story.made(2);
  story.write();
  story.placed(4);
  story.made(2);
  story.facts.sight.edit().requeues = 2;
  EXPECT_EQ(story.write().at("numberOfRequeueings"), json::value(2)) << "one was not made";
  story.placed(6);
  story.made(2);
  story.facts.sight.edit().requeues = 4;
  story.facts.row->state = JobState::Waiting;
  EXPECT_EQ(story.write().at("numberOfRequeueings"), json::value(5)) << "and this one";
}

TEST(StatusV1beta1, OneWhoseItemsAreCompleteAndHasNoPodsLeftHoldsNothing) {
  StatusStory story;
  story.placed();
  story.made(2);
  story.write();
  story.facts.sight.edit().is_complete = true;
  story.facts.sight.edit().pods = {0, 0, 2, 0};
  EXPECT_EQ(text(story.write(), "state"), "Running");
}

TEST(StatusV1beta1, WhyAPodDoesNotStartIsToldAsMcadTellsIt) {
  StatusStory story;
  story.placed();
  story.made(0);
  story.facts.sight.edit().trouble = "pod a-2 on n: ImagePullBackOff";
  story.facts.sight.edit().stuck_pods = {{"a-1", false, "Unschedulable", "0/3 nodes are available"},
                                         {"a-2", true, "ImagePullBackOff", ""}};
  EXPECT_EQ(json::serialize(story.write().at("pendingpodconditions")),
            R"([{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable",)"
            R"("message":"0/3 nodes are available"}],"podname":"a-1"},)"
            R"({"conditions":[{"type":"Ready","status":"False","reason":"ImagePullBackOff"}],)"
            R"("podname":"a-2"}])");
  const ports::AttemptSight sight = story.facts.sight.take();
  EXPECT_TRUE(story.write().contains("pendingpodconditions")) << "a server that started again";
  story.facts.sight = sight;
  story.facts.sight.edit().stuck_pods.clear();
  story.facts.sight.edit().trouble = "Deployment web: it makes no pods";
  EXPECT_EQ(json::serialize(story.write().at("pendingpodconditions")),
            R"([{"conditions":[{"type":"PodScheduled","status":"False",)"
            R"("message":"Deployment web: it makes no pods"}]}])");
  story.facts.sight.edit().trouble.clear();
  EXPECT_FALSE(story.write().contains("pendingpodconditions"));
}

TEST(Status, WhatTheFactsAloneTellIsWhatIsWritten) {
  for (const bool is_v1beta2 : {false, true}) {
    StatusStory story;
    story.is_v1beta2 = is_v1beta2;
    const auto check = [&](const char* what) {
      story.write();
      const auto known = is_v1beta2 ? known_phase(story.facts) : known_state(story.facts);
      EXPECT_EQ(known, text(story.status, is_v1beta2 ? "phase" : "state")) << what;
    };
    check("new");
    story.waits();
    check("waits");
    story.placed();
    check("placed");
    story.made(1);
    check("made");
    story.facts.sight.edit().is_complete = true;
    check("complete");
    story.facts.row->state = JobState::Succeeded;
    check("over");
    story.facts.row->state = JobState::Failed;
    story.facts.row->why = EndWhy::Cancelled;
    check("cancelled");
    story.facts.refusal = "no";
    check("refused");
  }
}

TEST(StatusV1beta1, OneThatRunsStaysAsItWasWhileNothingIsSeenOfItAfterARestart) {
  StatusStory story;
  story.placed();
  story.made(2);
  const json::object before = story.write();
  story.facts.sight = {};
  EXPECT_EQ(story.write(), before);
}

TEST(StatusV1beta1, OneThatRanTooLongHasFailedForGood) {
  StatusStory story;
  story.facts.ask.run_limit = seconds(90);
  story.placed();
  story.made(2);
  story.write();
  story.facts.row->state = JobState::Failed;
  story.facts.row->why = EndWhy::RunLimit;
  const json::object& status = story.write();
  EXPECT_EQ(text(status, "state"), "Failed");
  EXPECT_EQ(message(status, "PreemptCandidate", "DispatchDeadlineExceeded"),
            "Dispatch deadline exceeded. allowed to run for 90 seconds");
}

TEST(StatusV1beta1, OneThatCannotBeMadeHasFailed) {
  StatusStory story;
  story.facts.row.reset();
  story.facts.refusal = "ns/name creation failure: spec.resources: nothing is wrapped";
  const json::object& status = story.write();
  EXPECT_EQ(text(status, "state"), "Failed");
  EXPECT_EQ(message(status, "Failed", "ItemCreationFailure."), *story.facts.refusal);
  EXPECT_TRUE(is_refused(status)) << "and is read again when it is changed";
  story.facts.refusal = {};
  story.facts.row.emplace();
  EXPECT_EQ(text(story.write(), "state"), "Pending");
  EXPECT_FALSE(is_refused(story.status));
}

TEST(StatusV1beta1, OneThatWaitsForADefinitionSaysSoAndIsNotCountedAsRequeued) {
  StatusStory story;
  story.waits();
  story.write();
  is_not_made(story, 1);
  const json::object status = story.write();
  const std::string why = story.facts.row->reason;
  EXPECT_EQ(text(status, "state"), "Pending");
  EXPECT_EQ(message(status, "Backoff", "AppWrapperNotRunnable."), why);
  EXPECT_EQ(message(status, "Waiting", "CannotBeMade"), why);
  EXPECT_FALSE(status.contains("numberOfRequeueings"));
  is_not_made(story, 2);
  json::object again = story.write();
  EXPECT_EQ(again.at("conditions"), status.at("conditions")) << "the same is not said twice";
  story.placed(3);
  story.made(2);
  again = story.write();
  EXPECT_EQ(text(again, "queuejobstate"), "Dispatched");
  EXPECT_FALSE(again.contains("numberOfRequeueings"));
}

TEST(Status, WhyOneCannotBeMadeStandsUntilItIs) {
  for (const bool is_v1beta2 : {false, true}) {
    SCOPED_TRACE(is_v1beta2);
    StatusStory story;
    story.is_v1beta2 = is_v1beta2;
    story.write();
    is_not_made(story, 1);
    story.write();
    const std::string why = story.facts.row->reason;
    const auto expect_said = [&](const char* when) {
      const json::object& status = story.write();
      EXPECT_EQ(message(status, "Waiting", "CannotBeMade"), why) << when;
      EXPECT_EQ(text(status.at("muster").as_object(), "reason"), "CannotBeMade") << when;
    };
    story.placed(2);
    expect_said("while it is tried again");
    is_not_made(story, 2);
    story.facts.wait.reset();
    expect_said("before the engine was asked why it waits");
    story.placed(3);
    story.made(2);
    EXPECT_EQ(message(story.write(), "Waiting", "Dispatched"), "It waits no more.");
    EXPECT_EQ(text(story.status.at("muster").as_object(), "reason"), "");
    story.placed(4);
    EXPECT_EQ(text(story.write().at("muster").as_object(), "reason"), "") << "that is over";
  }
}

TEST(StatusV1beta1, AHoldIsNoRequeue) {
  StatusStory story;
  story.placed();
  story.made(2);
  story.write();
  story.facts.row->state = JobState::Held;
  story.facts.row->why = EndWhy::Held;
  story.waits(WrapperWait::Kind::Held);
  story.facts.row->state = JobState::Held;
  EXPECT_EQ(text(story.write(), "state"), "Pending");
  EXPECT_EQ(message(story.status, "PreemptCandidate", "Held"), "It was put on hold.");
  EXPECT_FALSE(story.status.contains("numberOfRequeueings"));
}

TEST(Status, AnEstimateThatIsOverIsWrittenAnewAndNumbersAreNot) {
  for (const bool is_v1beta2 : {false, true}) {
    StatusStory story;
    story.is_v1beta2 = is_v1beta2;
    story.waits();
    story.facts.wait->expected_start = story.now + minutes(10);
    const json::object first = story.write();
    story.facts.wait->expected_start = story.now + minutes(20);
    story.facts.wait->sentence = "waits for room: 0 of 2 pods fit";
    EXPECT_EQ(story.write(), first) << "it may come true";
    story.now = story.now + minutes(14);
    EXPECT_EQ(story.write(), first) << "it may be a little late";
    story.now = story.now + minutes(1);
    story.facts.wait->expected_start = story.now + minutes(20);
    const json::object second = story.write();
    EXPECT_EQ(message(second, "Waiting", "InsufficientResources"),
              waiting_words(story.facts).message);
    EXPECT_EQ(condition(second, "Waiting"), condition(first, "Waiting"));
    story.facts.wait->expected_start.reset();
    EXPECT_EQ(story.write(), second);
  }
}

TEST(Status, OneThatIsDeletedAndStaysSaysWhyInBothVersions) {
  StatusStory old;
  old.placed();
  old.made(2);
  old.facts.row->state = JobState::Succeeded;
  old.write();
  old.facts.is_deleting = true;
  old.facts.stuck = "cluster west cannot be reached";
  EXPECT_EQ(text(old.write(), "state"), "Completed");
  EXPECT_EQ(message(old.status, "Waiting", "CopiesRemain"), "cluster west cannot be reached");
  EXPECT_EQ(kube::text_at(json::value(old.status), {"muster", "reason"}), "CopiesRemain");

  StatusStory story;
  story.is_v1beta2 = true;
  story.facts.is_deleting = true;
  story.facts.stuck = "cluster west cannot be reached";
  EXPECT_EQ(text(story.write(), "phase"), "Terminating");
  EXPECT_EQ(message(story.status, "DeletingResources", "CopiesRemain"),
            "cluster west cannot be reached");
}

TEST(MergePatch, TurnsOneStatusIntoTheOther) {
  const json::object from = {{"a", 1}, {"b", {{"c", 1}, {"d", 2}}}, {"e", {1, 2}}};
  const json::object to = {{"b", {{"d", 3}}}, {"e", {1, 2}}, {"f", true}};
  const json::object patch = merge_patch(from, to);
  EXPECT_EQ(json::value(patch),
            json::value({{"a", nullptr}, {"b", {{"c", nullptr}, {"d", 3}}}, {"f", true}}));
  EXPECT_TRUE(merge_patch(to, to).empty());
}

}  // namespace
}  // namespace muster::api
