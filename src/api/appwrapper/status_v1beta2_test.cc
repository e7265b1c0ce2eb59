#include "api/appwrapper/status_v1beta2.h"

#include <gtest/gtest.h>

#include <utility>

#include "api/appwrapper/testing/status_story.h"

namespace muster::api {
namespace {

TEST(StatusV1beta2, OneThatWaitsForADefinitionIsSuspendedAndSaysSo) {
  StatusStory story;
  story.is_v1beta2 = true;
  story.write();
  is_not_made(story, 1);
  const json::object& status = story.write();
  EXPECT_EQ(text(status, "phase"), "Suspended");
  EXPECT_EQ(message(status, "Waiting", "CannotBeMade"), story.facts.row->reason);
  EXPECT_FALSE(status.contains("resettingCount"));
}

TEST(StatusV1beta2, PhasesFollowTheJob) {
  StatusStory story;
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
  StatusStory story;
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

TEST(StatusV1beta2, OneThatIsSuspendedWhileItRunsGoesThroughSuspending) {
  StatusStory story;
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
  StatusStory story;
  story.is_v1beta2 = true;
  story.placed();
  story.made(1);
  story.write();
  EXPECT_EQ(condition(story.status, "PodsReady"), "False InsufficientPodsReady");
  story.facts.sight.edit().needed_pods = 1;
  story.write();
  EXPECT_EQ(condition(story.status, "PodsReady"), "True SufficientPodsReady");
}

TEST(StatusV1beta2, OneThatWaitsDoesNotSayThatItIsSuspended) {
  StatusStory story;
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
  StatusStory story;
  story.is_v1beta2 = true;
  story.facts.ask.failed_ttl = minutes(1);
  story.placed();
  story.made(2);
  story.write();
  story.facts.sight.edit().ailment = model::Ailment::FailedPods;
  story.facts.sight.edit().kept_failure = "1 of its pods failed";
  EXPECT_EQ(text(story.write(), "phase"), "Failed") << "though its job counts while pods run";
  EXPECT_EQ(condition(story.status, "QuotaReserved"), "True Resuming");
  EXPECT_EQ(condition(story.status, "ResourcesDeployed"), "True Resuming");
  EXPECT_EQ(condition(story.status, "DeletingResources"), "False DeletionPaused");
  EXPECT_EQ(message(story.status, "Unhealthy", "FoundFailedPods"), "1 of its pods failed");
  story.facts.row->state = JobState::Failed;
  story.facts.row->reason = "1 of its pods failed";
  story.write();
  EXPECT_EQ(condition(story.status, "ResourcesDeployed"), "True Resuming") << "until they are gone";
  story.facts.sight.edit().kept_failure.clear();
  EXPECT_EQ(text(story.write(), "phase"), "Failed");
  EXPECT_EQ(condition(story.status, "QuotaReserved"), "False Failed");
  EXPECT_EQ(condition(story.status, "ResourcesDeployed"), "False Failed");
  EXPECT_EQ(condition(story.status, "DeletingResources"), "False DeletionComplete");
}

TEST(StatusV1beta2, AFailureThatAnEarlierServerKeptIsTheSameUntilWhatIsKeptIsGone) {
  StatusStory story;
  story.is_v1beta2 = true;
  story.facts.ask.failed_ttl = minutes(1);
  story.placed();
  story.made(2);
  story.facts.sight.edit().ailment = model::Ailment::FailedPods;
  story.facts.sight.edit().kept_failure = "1 of its pods failed";
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
  story.facts.sight.edit().ailment = model::Ailment::MissingObject;
  story.write();
  story.facts.keeps_failed = false;
  EXPECT_EQ(text(story.write(), "phase"), "Failed");
  EXPECT_EQ(message(story.status, "ResourcesDeployed", "Failed"), "1 of its pods failed");
  EXPECT_EQ(condition(story.status, "DeletingResources"), "False DeletionComplete");
  EXPECT_EQ(condition(story.status, "Unhealthy"), "True FoundFailedPods");
  EXPECT_FALSE(kept_failure_v1beta2(story.status));
}

TEST(StatusV1beta2, WhatFailedDoesNotRunAgainWhileItsRestIsRemoved) {
  StatusStory story;
  story.is_v1beta2 = true;
  story.facts.ask.failed_ttl = minutes(1);
  story.placed();
  story.made(2);
  story.facts.sight.edit().kept_failure = "1 of its pods failed";
  story.write();
  story.facts.sight.edit().kept_failure.clear();
  EXPECT_EQ(text(story.write(), "phase"), "Failed") << "its job ends when all is gone";
}

TEST(StatusV1beta2, AComponentThatIsMissingIsSaidSoByWhomeverSeesNothingOfIt) {
  StatusStory story;
  story.is_v1beta2 = true;
  story.placed();
  story.made(2);
  story.write();
  story.facts.sight = {};  // a server that started again
  story.facts.row->state = JobState::Failed;
  story.facts.row->why = EndWhy::Failure;
  story.facts.row->ailment = model::Ailment::MissingObject;
  EXPECT_EQ(text(story.write(), "phase"), "Failed");
  EXPECT_EQ(condition(story.status, "Unhealthy"), "True MissingComponent");
}

TEST(StatusV1beta2, OneThatIsTakenBackSaysSoWhileItsPodsAreStillThere) {
  StatusStory story;
  story.is_v1beta2 = true;
  story.placed();
  story.made(1);
  story.facts.sight.edit().requeues = 1;
  story.write();
  story.facts.sight.edit().ailment = model::Ailment::FailedPods;
  story.facts.sight.edit().is_removed = true;
  story.facts.sight.edit().trouble = "pod p: exit code 3";
  EXPECT_EQ(text(story.write(), "phase"), "Resetting") << "though its job counts until then";
  EXPECT_EQ(story.status.at("resettingCount"), json::value(2));
  EXPECT_EQ(message(story.status, "Unhealthy", "FoundFailedPods"), "pod p: exit code 3");
  EXPECT_EQ(condition(story.status, "DeletingResources"), "True DeletionInitiated");
  EXPECT_EQ(condition(story.status, "ResourcesDeployed"), "True Resuming");
  story.facts.sight.edit().pods = {};
  story.write();
  EXPECT_EQ(story.status.at("resettingCount"), json::value(2)) << "as long as it takes";
  story.facts.row->state = JobState::Waiting;
  story.facts.row->why = EndWhy::StartFailed;
  story.facts.row->reason = "pod p: exit code 3";
  EXPECT_EQ(text(story.write(), "phase"), "Resetting");
  EXPECT_EQ(condition(story.status, "DeletingResources"), "False DeletionComplete");
  EXPECT_EQ(condition(story.status, "ResourcesDeployed"), "False Resetting");
  EXPECT_EQ(story.status.at("resettingCount"), json::value(2));
  story.placed(2);
  EXPECT_EQ(text(story.write(), "phase"), "Resuming") << "what was said is of the other attempt";
  EXPECT_EQ(story.status.at("resettingCount"), json::value(2));
}

TEST(StatusV1beta2, WhatWasSaidOfOneThatIsRemovedStandsAfterARestartUntilSomethingIsSeen) {
  for (const bool fails : {false, true}) {
    StatusStory story;
    story.is_v1beta2 = true;
    story.placed();
    story.made(2);
    story.write();
    story.facts.sight.edit().ailment = model::Ailment::FailedPods;
    story.facts.sight.edit().is_removed = true;
    story.facts.sight.edit().fails = fails;
    story.facts.sight.edit().trouble = "pod p: exit code 3";
    const json::object before = story.write();
    EXPECT_TRUE(is_removing_v1beta2(before));
    const ports::AttemptSight sight = story.facts.sight.take();
    EXPECT_EQ(story.write(), before);
    story.facts.sight = sight;
    EXPECT_EQ(story.write(), before);
    story.facts.sight = {};
    story.facts.row->state = fails ? JobState::Failed : JobState::Waiting;
    story.facts.row->why = fails ? EndWhy::Failure : EndWhy::StartFailed;
    story.facts.row->ailment = model::Ailment::FailedPods;
    EXPECT_EQ(text(story.write(), "phase"), fails ? "Failed" : "Resetting");
    EXPECT_EQ(condition(story.status, "DeletingResources"), "False DeletionComplete");
    EXPECT_EQ(condition(story.status, "Unhealthy"), "True FoundFailedPods");
    EXPECT_EQ(story.status.contains("resettingCount"), !fails) << "once";
    EXPECT_FALSE(is_removing_v1beta2(story.status));
    story.status = before;  // or nothing was written until the next try
    story.placed(2);
    EXPECT_EQ(text(story.write(), "phase"), "Resuming");
    EXPECT_EQ(condition(story.status, "DeletingResources"), "False DeletionComplete");
  }
}

TEST(StatusV1beta2, OneThatFailedSaysSoWhileItsPodsAreStillThere) {
  StatusStory story;
  story.is_v1beta2 = true;
  story.placed();
  story.made(2);
  story.write();
  story.facts.sight.edit().ailment = model::Ailment::MissingObject;
  story.facts.sight.edit().is_removed = story.facts.sight.edit().fails = true;
  story.facts.sight.edit().trouble = "Job j was deleted";
  EXPECT_EQ(text(story.write(), "phase"), "Failed");
  EXPECT_EQ(condition(story.status, "DeletingResources"), "True DeletionInitiated");
  EXPECT_EQ(message(story.status, "Unhealthy", "MissingComponent"), "Job j was deleted");
  EXPECT_FALSE(story.status.contains("resettingCount"));
  story.facts.row->state = JobState::Failed;
  story.facts.row->why = EndWhy::Failure;
  story.facts.row->reason = "Job j was deleted";
  EXPECT_EQ(text(story.write(), "phase"), "Failed");
  EXPECT_EQ(condition(story.status, "DeletingResources"), "False DeletionComplete");
  EXPECT_EQ(condition(story.status, "ResourcesDeployed"), "False Failed");
}

TEST(StatusV1beta2, SuspendTrumpsAReset) {
  StatusStory story;
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
  StatusStory story;
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
  const std::pair<model::Ailment, const char*> cases[] = {
      {model::Ailment::NotMade, "True CreateFailed"},
      {model::Ailment::MissingObject, "True MissingComponent"},
      {model::Ailment::FailedObject, "True FailedComponent"},
      {model::Ailment::FailedPods, "True FoundFailedPods"},
      {model::Ailment::SickNode, "True AutopilotNoExecute"},
      {model::Ailment::TooFewPods, "True InsufficientPodsReady"},
      {model::Ailment::Unplaced, "True InsufficientPodsReady"},
      {model::Ailment::Forgotten, "True InsufficientPodsReady"},
  };
  for (const auto& [ailment, expected] : cases) {
    StatusStory story;
    story.is_v1beta2 = true;
    story.placed();
    story.made(2);
    story.write();
    story.facts.sight.edit().ailment = ailment;
    story.facts.row->state = JobState::Waiting;
    story.facts.row->why = EndWhy::StartFailed;
    EXPECT_EQ(text(story.write(), "phase"), "Resetting");
    EXPECT_EQ(condition(story.status, "Unhealthy"), expected);
    EXPECT_EQ(story.status.contains("resettingCount"), ailment != model::Ailment::SickNode);
    story.facts.sight = {};  // a server that started again
    story.facts.row->state = JobState::Failed;
    EXPECT_EQ(text(story.write(), "phase"), "Failed");
    EXPECT_EQ(condition(story.status, "Unhealthy"), expected);
  }
}

TEST(StatusV1beta2, OneThatIsDeletedIsTerminating) {
  StatusStory story;
  story.is_v1beta2 = true;
  story.facts.is_deleting = true;
  EXPECT_EQ(text(story.write(), "phase"), "Terminating");
}

}  // namespace
}  // namespace muster::api
