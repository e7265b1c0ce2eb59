#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "api/appwrapper/status_fields.h"
#include "api/appwrapper/status_v1beta1.h"
#include "api/appwrapper/status_v1beta2.h"
#include "kube/json.h"

namespace muster::api {
namespace {

namespace json = boost::json;
using model::EndWhy;
using model::JobState;

std::string text(const json::object& from, std::string_view key) {
  return std::string(kube::text_at(json::value(from), {key}));
}

/// "Init Queueing/AwaitingHeadOfLine ..."
std::string conditions(const json::object& status) {
  std::string line;
  const json::value whole(status);
  for (const json::value& one : kube::items_at(whole, {"conditions"})) {
    const std::string_view reason = kube::text_at(one, {"reason"});
    if (!line.empty()) line += ' ';
    line += kube::text_at(one, {"type"});
    if (!reason.empty()) line += "/" + std::string(reason);
  }
  return line;
}

std::string message(const json::object& status, std::string_view type, std::string_view reason) {
  const json::value whole(status);
  for (const json::value& one : kube::items_at(whole, {"conditions"})) {
    if (kube::text_at(one, {"type"}) == type && kube::text_at(one, {"reason"}) == reason)
      return std::string(kube::text_at(one, {"message"}));
  }
  return "no such condition";
}

struct Story {
  WrapperFacts facts;
  Time now = Time{0} + hours(1);
  json::object status;
  bool is_v1beta2 = false;

  Story() {
    facts.row.emplace();
    facts.row->id = "aw-1-uid";
    facts.row->queue = "default";
    facts.row->pods = 2;
    facts.ask.priority = 7;
    facts.ask.totals = {3000, std::int64_t{5} << 30, 1};
  }
  json::object& write() {
    now = now + seconds(1);
    status = is_v1beta2 ? status_v1beta2(status, facts, now) : status_v1beta1(status, facts, now);
    return status;
  }
  void waits(WrapperWait::Kind kind = WrapperWait::Kind::Room) {
    facts.row->state = JobState::Waiting;
    facts.wait = WrapperWait{kind, "waits for room: 1 of 2 pods fit in cluster a", now};
  }
  void placed(std::uint32_t attempt = 1) {
    facts.wait.reset();
    facts.row->state = JobState::Starting;
    facts.row->attempt = attempt;
    facts.row->cluster = "a";
    facts.row->started = Time::never();
    facts.row->why = EndWhy::None;
  }
  void made(int running = 0) {
    facts.row->state = JobState::Running;
    facts.row->started = now;
    facts.sight.attempt = {facts.row->id, facts.row->attempt};
    facts.sight.is_made = true;
    facts.sight.pods = {2 - running, running, 0, 0};
  }
};

TEST(StatusV1beta1, OneThatIsNewIsQueueing) {
  Story story;
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
  Story story;
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
  Story story;
  story.waits(WrapperWait::Kind::Quota);
  EXPECT_EQ(message(story.write(), "Backoff", "quota limit exceeded"),
            "Insufficient quota and/or resources to dispatch AppWrapper.");
}

TEST(StatusV1beta1, OneThatFitsIsDispatchedWithTheConditionsOfTheGuide) {
  Story story;
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
  Story story;
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
  Story story;
  story.placed();
  story.made(2);
  story.write();
  story.facts.sight.is_complete = true;
  EXPECT_EQ(text(story.write(), "state"), "RunningHoldCompletion");
  story.facts.row->state = JobState::Succeeded;
  story.facts.sight.pods = {0, 0, 2, 0};
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
  Story story;
  story.facts.is_mcad = true;
  story.placed();
  story.made(2);
  story.write();
  story.facts.row->state = JobState::Succeeded;
  EXPECT_EQ(text(story.write(), "state"), "Running");
  story.facts.ask.names_its_end = true;
  EXPECT_EQ(text(story.write(), "state"), "Completed");
}

TEST(StatusV1beta1, OneOfWhichTooFewPodsRanIsRequeuedAndDispatchedAgain) {
  Story story;
  story.facts.ask.min_available = 2;
  story.facts.ask.first_wait = seconds(60);
  story.placed();
  story.made(1);
  story.write();
  const std::string why =
      "Insufficient number of Running and Completed pods, minimum=2, running=1, completed=0.";
  story.facts.row->state = JobState::Waiting;
  story.facts.row->why = EndWhy::StartFailed;
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
  const struct {
    EndWhy why;
    std::string reason;
    int running;
    const char* word;
    std::string message;
  } cases[] = {
      {EndWhy::StartFailed, "not all pods were ready within 10 s; pod a: Unschedulable: 0/3 nodes",
       0, "PodsFailedScheduling", "Pods failed scheduling failed=2, running=0."},
      {EndWhy::StartFailed, "not all pods were ready within 10 s; pod a: Unschedulable: 0/3 nodes",
       1, "MinPodsNotRunning",
       "not all pods were ready within 10 s; pod a: Unschedulable: 0/3 nodes"},
      {EndWhy::StartFailed, "not all pods were ready within 10 s", 0, "MinPodsNotRunning",
       "not all pods were ready within 10 s"},
      {EndWhy::StartFailed, "pod p was deleted by somebody else", 2, "PodsLost",
       "pod p was deleted by somebody else"},
      {EndWhy::ClusterLost, "", 2, "ClusterLost", "Its cluster is lost."},
  };
  for (const auto& c : cases) {
    Story story;
    story.placed();
    story.made(c.running);
    story.write();
    story.facts.row->state = JobState::Waiting;
    story.facts.row->why = c.why;
    story.facts.row->reason = c.reason;
    story.facts.sight.pods = {};
    EXPECT_EQ(message(story.write(), "PreemptCandidate", c.word), c.message);
    EXPECT_EQ(message(story.status, "Backoff", "PreemptionTriggered"), c.message);
  }
}

TEST(StatusV1beta1, ARequeueThatNobodySawBetweenTwoWritesIsCounted) {
  Story story;
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
    Story story;
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
      story.facts.row->reason = "Insufficient number of Running and Completed pods";
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
  Story story;
  story.placed();
  story.made(2);
  story.write();
  story.placed(4);
  story.made(2);
  story.facts.sight.requeues = 2;
  EXPECT_EQ(story.write().at("numberOfRequeueings"), json::value(2)) << "one was not made";
  story.placed(6);
  story.made(2);
  story.facts.sight.requeues = 4;
  story.facts.row->state = JobState::Waiting;
  EXPECT_EQ(story.write().at("numberOfRequeueings"), json::value(5)) << "and this one";
}

TEST(StatusV1beta1, OneWhoseItemsAreCompleteAndHasNoPodsLeftHoldsNothing) {
  Story story;
  story.placed();
  story.made(2);
  story.write();
  story.facts.sight.is_complete = true;
  story.facts.sight.pods = {0, 0, 2, 0};
  EXPECT_EQ(text(story.write(), "state"), "Running");
}

TEST(StatusV1beta1, WhyAPodDoesNotStartIsToldAsMcadTellsIt) {
  Story story;
  story.placed();
  story.made(0);
  story.facts.sight.trouble = "pod a-1: Unschedulable: 0/3 nodes are available";
  EXPECT_EQ(json::serialize(story.write().at("pendingpodconditions")),
            R"([{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable",)"
            R"("message":"0/3 nodes are available"}],"podname":"a-1"}])");
  const ports::AttemptSight sight = std::exchange(story.facts.sight, {});
  EXPECT_TRUE(story.write().contains("pendingpodconditions")) << "a server that started again";
  story.facts.sight = sight;
  story.facts.sight.trouble.clear();
  EXPECT_FALSE(story.write().contains("pendingpodconditions"));
}

TEST(Status, WhatTheFactsAloneTellIsWhatIsWritten) {
  for (const bool is_v1beta2 : {false, true}) {
    Story story;
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
    story.facts.sight.is_complete = true;
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
  Story story;
  story.placed();
  story.made(2);
  const json::object before = story.write();
  story.facts.sight = {};
  EXPECT_EQ(story.write(), before);
}

TEST(StatusV1beta1, OneThatRanTooLongHasFailedForGood) {
  Story story;
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
  Story story;
  story.facts.row.reset();
  story.facts.refusal = "ns/name creation failure: spec.resources: nothing is wrapped";
  const json::object& status = story.write();
  EXPECT_EQ(text(status, "state"), "Failed");
  EXPECT_EQ(message(status, "Failed", "ItemCreationFailure."), story.facts.refusal);
  EXPECT_TRUE(is_refused(status)) << "and is read again when it is changed";
  story.facts.refusal.clear();
  story.facts.row.emplace();
  EXPECT_EQ(text(story.write(), "state"), "Pending");
  EXPECT_FALSE(is_refused(story.status));
}

/// A start that ended before its objects were made.
void is_not_made(Story& story, std::uint32_t attempt) {
  story.placed(attempt);
  story.facts.row->state = JobState::Waiting;
  story.facts.row->why = EndWhy::StartFailed;
  story.facts.row->reason = "Thing t: this cluster has no kind Thing of example.com/v1";
  story.facts.wait = WrapperWait{WrapperWait::Kind::Turn, "may not start yet", std::nullopt};
}

TEST(StatusV1beta1, OneThatWaitsForADefinitionSaysSoAndIsNotCountedAsRequeued) {
  Story story;
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

TEST(StatusV1beta2, OneThatWaitsForADefinitionIsSuspendedAndSaysSo) {
  Story story;
  story.is_v1beta2 = true;
  story.write();
  is_not_made(story, 1);
  const json::object& status = story.write();
  EXPECT_EQ(text(status, "phase"), "Suspended");
  EXPECT_EQ(message(status, "Waiting", "CannotBeMade"), story.facts.row->reason);
  EXPECT_FALSE(status.contains("resettingCount"));
}

TEST(Status, WhyOneCannotBeMadeStandsUntilItIs) {
  for (const bool is_v1beta2 : {false, true}) {
    SCOPED_TRACE(is_v1beta2);
    Story story;
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

TEST(StatusV1beta2, PhasesFollowTheJob) {
  Story story;
  story.is_v1beta2 = true;
  story.waits();
  EXPECT_EQ(text(story.write(), "phase"), "Suspended");
  EXPECT_EQ(conditions(story.status),
            "QuotaReserved/Suspended ResourcesDeployed/Suspended Waiting/InsufficientResources");
  story.placed();
  EXPECT_EQ(text(story.write(), "phase"), "Resuming");
  story.made();
  EXPECT_EQ(text(story.write(), "phase"), "Running");
  EXPECT_EQ(message(story.status, "PodsReady", "InsufficientPodsReady"),
            "2 pods pending; 0 pods running; 0 pods succeeded");
  story.made(2);
  story.write();
  EXPECT_EQ(message(story.status, "PodsReady", "SufficientPodsReady"),
            "2 pods running; 0 pods succeeded");
  story.facts.row->state = JobState::Succeeded;
  EXPECT_EQ(text(story.write(), "phase"), "Succeeded");
  EXPECT_TRUE(is_final_v1beta2(story.status));
}

TEST(StatusV1beta2, OneThatFailedIsResetAndCounted) {
  Story story;
  story.is_v1beta2 = true;
  story.placed();
  story.made(2);
  story.write();
  story.facts.row->state = JobState::Waiting;
  story.facts.row->why = EndWhy::Failure;
  story.facts.row->failures = 1;
  story.facts.row->reason = "pod p: exit code 3";
  EXPECT_EQ(text(story.write(), "phase"), "Resetting");
  EXPECT_EQ(story.status.at("resettingCount"), json::value(1));
  EXPECT_EQ(message(story.status, "Unhealthy", "FoundFailedPods"), "pod p: exit code 3");
  story.facts.row->state = JobState::Failed;
  EXPECT_EQ(text(story.write(), "phase"), "Failed");
}

/// "True Resuming" of a condition.
std::string condition(const json::object& status, std::string_view type) {
  const json::value whole(status);
  for (const json::value& one : kube::items_at(whole, {"conditions"})) {
    if (kube::text_at(one, {"type"}) == type)
      return fmt::format("{} {}", kube::text_at(one, {"status"}), kube::text_at(one, {"reason"}));
  }
  return "";
}

TEST(StatusV1beta2, OneThatIsSuspendedWhileItRunsGoesThroughSuspending) {
  Story story;
  story.is_v1beta2 = true;
  story.placed();
  story.made(2);
  story.write();
  story.facts.ask.is_held = true;
  story.facts.row->state = JobState::Stopping;
  story.facts.row->why = EndWhy::Held;
  EXPECT_EQ(text(story.write(), "phase"), "Suspending");
  EXPECT_EQ(condition(story.status, "QuotaReserved"), "True Resuming");
  EXPECT_EQ(condition(story.status, "DeletingResources"), "True DeletionInitiated");
  story.facts.row->state = JobState::Held;
  EXPECT_EQ(text(story.write(), "phase"), "Suspended");
  EXPECT_EQ(condition(story.status, "QuotaReserved"), "False Suspended");
  EXPECT_EQ(condition(story.status, "ResourcesDeployed"), "False Suspended");
  EXPECT_EQ(condition(story.status, "PodsReady"), "False Suspended");
  EXPECT_EQ(condition(story.status, "DeletingResources"), "False DeletionComplete");
  EXPECT_EQ(kube::flag_at(json::value(story.status), {"muster", "suspend"}), true);
  EXPECT_FALSE(story.status.contains("resettingCount"));
  story.facts.ask.is_held = false;
  story.facts.row->state = JobState::Waiting;
  EXPECT_EQ(text(story.write(), "phase"), "Suspended");
  story.placed(2);
  EXPECT_EQ(text(story.write(), "phase"), "Resuming");
  EXPECT_EQ(condition(story.status, "QuotaReserved"), "True Resuming");
  story.made(2);
  EXPECT_EQ(text(story.write(), "phase"), "Running");
  EXPECT_EQ(condition(story.status, "PodsReady"), "True SufficientPodsReady");
  EXPECT_FALSE(story.status.contains("resettingCount"));
}

TEST(StatusV1beta2, AClusterThatScaledItselfDownHasThePodsThatItNeeds) {
  Story story;
  story.is_v1beta2 = true;
  story.placed();
  story.made(1);
  story.write();
  EXPECT_EQ(condition(story.status, "PodsReady"), "False InsufficientPodsReady");
  story.facts.sight.needed_pods = 1;
  story.write();
  EXPECT_EQ(condition(story.status, "PodsReady"), "True SufficientPodsReady");
}

TEST(StatusV1beta2, OneThatWaitsDoesNotSayThatItIsSuspended) {
  Story story;
  story.is_v1beta2 = true;
  story.waits();
  story.write();
  EXPECT_EQ(message(story.status, "QuotaReserved", "Suspended"), "It waits in its queue");
  story.facts.ask.is_held = true;
  story.facts.row->state = JobState::Held;
  story.write();
  EXPECT_EQ(message(story.status, "QuotaReserved", "Suspended"), "Suspend is true");
  EXPECT_EQ(message(story.status, "ResourcesDeployed", "Suspended"), "Suspend is true");
}

TEST(StatusV1beta2, OneThatFailedAndKeepsItsResourcesSaysThatTheirDeletionIsPaused) {
  Story story;
  story.is_v1beta2 = true;
  story.facts.ask.failed_ttl = minutes(1);
  story.placed();
  story.made(2);
  story.write();
  story.facts.sight.ailment = ports::Ailment::FailedPods;
  story.facts.sight.kept_failure = "1 of its pods failed";
  EXPECT_EQ(text(story.write(), "phase"), "Failed") << "though its job counts while pods run";
  EXPECT_EQ(condition(story.status, "QuotaReserved"), "True Resuming");
  EXPECT_EQ(condition(story.status, "ResourcesDeployed"), "True Resuming");
  EXPECT_EQ(condition(story.status, "DeletingResources"), "False DeletionPaused");
  EXPECT_EQ(message(story.status, "Unhealthy", "FoundFailedPods"), "1 of its pods failed");
  story.facts.row->state = JobState::Failed;
  story.facts.row->reason = "1 of its pods failed";
  story.write();
  EXPECT_EQ(condition(story.status, "ResourcesDeployed"), "True Resuming") << "until they are gone";
  story.facts.sight.kept_failure.clear();
  EXPECT_EQ(text(story.write(), "phase"), "Failed");
  EXPECT_EQ(condition(story.status, "QuotaReserved"), "False Failed");
  EXPECT_EQ(condition(story.status, "ResourcesDeployed"), "False Failed");
  EXPECT_EQ(condition(story.status, "DeletingResources"), "False DeletionComplete");
}

TEST(StatusV1beta2, AFailureThatAnEarlierServerKeptIsTheSameUntilWhatIsKeptIsGone) {
  Story story;
  story.is_v1beta2 = true;
  story.facts.ask.failed_ttl = minutes(1);
  story.placed();
  story.made(2);
  story.facts.sight.ailment = ports::Ailment::FailedPods;
  story.facts.sight.kept_failure = "1 of its pods failed";
  const json::object before = story.write();
  const Time since = story.now;

  story.facts.sight = {};  // another server, which knows what was written
  story.now = story.now + seconds(30);
  const auto kept = kept_failure_v1beta2(before);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->why, "1 of its pods failed");
  EXPECT_EQ(kept->since, since);
  story.facts.failed_before = kept->why;
  story.facts.keeps_failed = true;
  EXPECT_EQ(story.write(), before);
  story.made(2);
  EXPECT_EQ(story.write(), before) << "its pods run, as they did";
  story.facts.row->state = JobState::Failed;
  story.facts.row->reason = "its objects were deleted by somebody else";
  story.facts.sight.ailment = ports::Ailment::MissingObject;
  story.write();
  story.facts.keeps_failed = false;
  EXPECT_EQ(text(story.write(), "phase"), "Failed");
  EXPECT_EQ(message(story.status, "ResourcesDeployed", "Failed"), "1 of its pods failed");
  EXPECT_EQ(condition(story.status, "DeletingResources"), "False DeletionComplete");
  EXPECT_EQ(condition(story.status, "Unhealthy"), "True FoundFailedPods");
  EXPECT_FALSE(kept_failure_v1beta2(story.status));
}

TEST(StatusV1beta2, WhatFailedDoesNotRunAgainWhileItsRestIsRemoved) {
  Story story;
  story.is_v1beta2 = true;
  story.facts.ask.failed_ttl = minutes(1);
  story.placed();
  story.made(2);
  story.facts.sight.kept_failure = "1 of its pods failed";
  story.write();
  story.facts.sight.kept_failure.clear();
  EXPECT_EQ(text(story.write(), "phase"), "Failed") << "its job ends when all is gone";
}

TEST(StatusV1beta2, AComponentThatIsMissingIsSaidSoByWhomeverSeesNothingOfIt) {
  Story story;
  story.is_v1beta2 = true;
  story.placed();
  story.made(2);
  story.write();
  story.facts.sight = {};  // a server that started again
  story.facts.row->state = JobState::Failed;
  story.facts.row->why = EndWhy::Failure;
  story.facts.row->reason =
      "1 of its 2 objects are there; the others were deleted by somebody else";
  EXPECT_EQ(text(story.write(), "phase"), "Failed");
  EXPECT_EQ(condition(story.status, "Unhealthy"), "True MissingComponent");
}

TEST(StatusV1beta2, SuspendTrumpsAReset) {
  Story story;
  story.is_v1beta2 = true;
  story.placed();
  story.made(2);
  story.write();
  story.facts.row->state = JobState::Waiting;
  story.facts.row->why = EndWhy::StartFailed;
  EXPECT_EQ(text(story.write(), "phase"), "Resetting");
  story.facts.row->state = JobState::Held;
  EXPECT_EQ(text(story.write(), "phase"), "Suspended");
  EXPECT_EQ(condition(story.status, "Unhealthy"), "False Suspended");
  story.facts.row->state = JobState::Waiting;
  EXPECT_EQ(text(story.write(), "phase"), "Suspended") << "released it waits for its turn";
  EXPECT_EQ(story.status.at("resettingCount"), json::value(1)) << "and was reset once";
  story.placed(2);
  story.made(2);
  story.write();
  story.facts.row->state = JobState::Waiting;
  story.facts.row->why = EndWhy::StartFailed;
  EXPECT_EQ(text(story.write(), "phase"), "Resetting");
}

TEST(StatusV1beta2, OneThatIsGoneAtOnceIsSaidToBeDeletedToo) {
  Story story;
  story.is_v1beta2 = true;
  story.waits();
  story.write();
  EXPECT_EQ(condition(story.status, "DeletingResources"), "") << "there was nothing to delete";
  story.placed();
  story.made(2);
  story.write();
  story.facts.row->state = JobState::Held;
  story.facts.row->why = EndWhy::Held;
  EXPECT_EQ(text(story.write(), "phase"), "Suspended");
  EXPECT_EQ(condition(story.status, "DeletingResources"), "False DeletionComplete");
  EXPECT_EQ(condition(story.status, "PodsReady"), "False Suspended");
}

TEST(StatusV1beta2, WhatWasWrongIsSaidInItsOwnWords) {
  const std::pair<ports::Ailment, const char*> cases[] = {
      {ports::Ailment::NotMade, "True CreateFailed"},
      {ports::Ailment::MissingObject, "True MissingComponent"},
      {ports::Ailment::FailedObject, "True FailedComponent"},
      {ports::Ailment::FailedPods, "True FoundFailedPods"},
      {ports::Ailment::SickNode, "True AutopilotNoExecute"},
      {ports::Ailment::TooFewPods, "True InsufficientPodsReady"},
      {ports::Ailment::Forgotten, "True InsufficientPodsReady"},
  };
  for (const auto& [ailment, expected] : cases) {
    Story story;
    story.is_v1beta2 = true;
    story.placed();
    story.made(2);
    story.write();
    story.facts.sight.ailment = ailment;
    story.facts.row->state = JobState::Waiting;
    story.facts.row->why = EndWhy::StartFailed;
    EXPECT_EQ(text(story.write(), "phase"), "Resetting");
    EXPECT_EQ(condition(story.status, "Unhealthy"), expected);
    EXPECT_EQ(story.status.contains("resettingCount"), ailment != ports::Ailment::SickNode);
    story.facts.sight = {};  // a server that started again
    story.facts.row->state = JobState::Failed;
    EXPECT_EQ(text(story.write(), "phase"), "Failed");
    EXPECT_EQ(condition(story.status, "Unhealthy"), expected);
  }
}

TEST(StatusV1beta1, AHoldIsNoRequeue) {
  Story story;
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

TEST(StatusV1beta2, OneThatIsDeletedIsTerminating) {
  Story story;
  story.is_v1beta2 = true;
  story.facts.is_deleting = true;
  EXPECT_EQ(text(story.write(), "phase"), "Terminating");
}

TEST(Status, OneThatIsDeletedAndStaysSaysWhyInBothVersions) {
  Story old;
  old.placed();
  old.made(2);
  old.facts.row->state = JobState::Succeeded;
  old.write();
  old.facts.is_deleting = true;
  old.facts.stuck = "cluster west cannot be reached";
  EXPECT_EQ(text(old.write(), "state"), "Completed");
  EXPECT_EQ(message(old.status, "Waiting", "CopiesRemain"), "cluster west cannot be reached");
  EXPECT_EQ(kube::text_at(json::value(old.status), {"muster", "reason"}), "CopiesRemain");

  Story story;
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
