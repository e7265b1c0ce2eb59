#include "api/appwrapper/wrapper_events.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/appwrapper/rows.h"
#include "kube/json.h"

namespace muster::api {
namespace {

using model::EndWhy;
using model::JobState;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// "!Failed: why", with ! before what is a warning.
std::vector<std::string> told(const WrapperFacts& facts) {
  std::vector<std::string> lines;
  for (const WrapperStep& step : steps_of(facts))
    lines.push_back(fmt::format("{}{}: {}", step.is_warning ? "!" : "", step.reason, step.message));
  return lines;
}

const std::string any_job = "aw-1-uid";

WrapperFacts at(JobState state, std::uint32_t attempt) {
  WrapperFacts facts;
  facts.job = &any_job;
  facts.row.emplace();
  facts.row->state = state;
  facts.row->attempt = attempt;
  facts.row->cluster = attempt > 0 ? "west" : "";
  return facts;
}
WrapperFacts waiting(std::uint32_t attempt = 0) {
  WrapperFacts facts = at(JobState::Waiting, attempt);
  facts.wait = WrapperWait{WrapperWait::Kind::Room, "no node has 8 CPUs", std::nullopt};
  return facts;
}
WrapperFacts running(std::uint32_t attempt = 1) {
  WrapperFacts facts = at(JobState::Running, attempt);
  facts.sight.edit().attempt.number = attempt;
  facts.sight.edit().is_made = true;
  facts.sight.edit().pods.running = 2;
  return facts;
}

TEST(WrapperSteps, TellItsStory) {
  EXPECT_THAT(told(at(JobState::Waiting, 0)), IsEmpty()) << "nobody looked at it yet";
  EXPECT_THAT(told(waiting()), ElementsAre("InsufficientResources: no node has 8 CPUs"));
  EXPECT_THAT(told(at(JobState::Starting, 1)), IsEmpty()) << "nothing of it is made yet";
  EXPECT_THAT(told(running()), ElementsAre("Dispatched: to cluster west, attempt 1",
                                           "Running: its pods run in cluster west"));
  WrapperFacts done = running();
  done.row->state = JobState::Succeeded;
  EXPECT_THAT(told(done),
              ElementsAre("Dispatched: to cluster west, attempt 1", "Completed: in cluster west"));
  done.row->state = JobState::Failed;
  done.row->reason = "pod p exited with 1";
  EXPECT_THAT(told(done), ElementsAre("Dispatched: to cluster west, attempt 1",
                                      "!Failed: pod p exited with 1"));
}

TEST(WrapperSteps, SayWhyItIsBackInTheQueueOrWasNeverThere) {
  WrapperFacts back = waiting(2);
  back.row->why = EndWhy::Priority;
  EXPECT_THAT(told(back), ElementsAre("!Requeued: a job of higher priority needs what it used",
                                      "InsufficientResources: no node has 8 CPUs"));
  back.wait.reset();
  back.row->why = EndWhy::StartFailed;
  back.row->reason = "Secret s is missing";
  EXPECT_THAT(told(back), ElementsAre("!Requeued: Secret s is missing"));
  back.row->why = EndWhy::Held;
  EXPECT_THAT(told(back), IsEmpty()) << "its owner wanted it so";
  WrapperFacts refused;
  refused.refusal = "spec: missing";
  EXPECT_THAT(told(refused), ElementsAre("!Refused: spec: missing"));
  WrapperFacts stuck = at(JobState::Succeeded, 0);
  stuck.stuck = "cluster west cannot be reached";
  EXPECT_EQ(told(stuck).front(), "!CopiesRemain: cluster west cannot be reached");
}

TEST(WrapperSteps, AndListsSayWhyWhatAnotherControllerLeftIsNotTakenOver) {
  WrapperFacts left;
  left.wait = WrapperWait{WrapperWait::Kind::Takeover, "pods is forbidden", std::nullopt};
  EXPECT_THAT(told(left), ElementsAre("CannotBeTakenOver: pods is forbidden"));
  WrapperRow row;
  put_facts(left, row);
  EXPECT_EQ(row.reason, "pods is forbidden");
}

TEST(WrapperSteps, SayWhatIsNotAsItsAuthorWroteIt) {
  WrapperFacts facts = running();
  facts.sight.edit().trouble = "pod p on n: ImagePullBackOff: no such image";
  facts.ask.warnings = std::vector<std::string>{"spec.a: is not followed", "spec.b: neither"};
  facts.ignored = "it was changed";
  EXPECT_THAT(
      told(facts),
      ElementsAre("!NotAllFollowed: spec.a: is not followed; spec.b: neither",
                  "!ChangeIgnored: it was changed", "Dispatched: to cluster west, attempt 1",
                  "!PodsDoNotStart: pod p on n: ImagePullBackOff: no such image",
                  "Running: its pods run in cluster west"));
}

TEST(WrapperSteps, EachChangeThatIsIgnoredIsToldWithItsReason) {
  WrapperFacts facts = running();
  const auto key_when_ignored = [&](const std::string& why) {
    facts.ignored = why;
    return steps_of(facts).front().key;
  };
  const std::string first = key_when_ignored("it was changed while its job was out");
  EXPECT_NE(first, key_when_ignored("its new spec is not followed: spec.priority: not a number"));
  EXPECT_EQ(first, key_when_ignored("it was changed while its job was out"));
  WrapperRow row;
  put_facts(facts, row);
  EXPECT_THAT(row.warnings, ElementsAre(*facts.ignored)) << "lists say it too";
}

TEST(WrapperSteps, OneThatStaysSuspendedBecauseItsJobWasCancelledSaysSo) {
  WrapperFacts cancelled = at(JobState::Cancelled, 1);
  EXPECT_FALSE(steps_of(cancelled).back().is_problem) << "its AppWrapper is gone";
  cancelled.is_labelled = true;
  EXPECT_EQ(steps_of(cancelled).back().reason, "Cancelled");
  EXPECT_TRUE(steps_of(cancelled).back().is_problem);
}

TEST(WrapperEventObject, IsAboutItAndHasTheSameNameWheneverItIsTold) {
  const WrapperKey key{WrapperGroup::Workload, "team", "train"};
  const WrapperStep step = steps_of(waiting()).front();
  const auto one = event_of(subject_of(key, "u"), step, Time{0});
  EXPECT_EQ(kube::text_at(one, {"involvedObject", "kind"}), "AppWrapper");
  EXPECT_EQ(kube::text_at(one, {"involvedObject", "uid"}), "u");
  EXPECT_EQ(kube::namespace_of(one), "team");
  EXPECT_EQ(kube::text_at(one, {"type"}), "Normal");
  EXPECT_EQ(kube::name_of(one),
            kube::name_of(event_of(subject_of(key, "u"), step, Time{0} + hours(1))));
  EXPECT_NE(kube::name_of(one), kube::name_of(event_of(subject_of(key, "v"), step, Time{0})));
  WrapperFacts again = waiting(1);
  EXPECT_NE(kube::name_of(one),
            kube::name_of(event_of(subject_of(key, "u"), steps_of(again).back(), Time{0})));
}

struct Told {
  const WrapperKey key{WrapperGroup::Workload, "team", "train"};
  const Time now = Time{0} + hours(1);
  std::size_t written = 0;

  WrapperEvents events(EventTelling telling) {
    return {telling, [this](const kube::ApiRequest& request) {
              EXPECT_EQ(request.path, "/api/v1/namespaces/team/events");
              ++written;
            }};
  }
};

TEST(WrapperEvents, AreWrittenOnceForEachStepAndOnlyWhatIsWanted) {
  Told told;
  WrapperEvents events = told.events(EventTelling::Problems);
  for (int i = 0; i < 3; ++i) events.tell("a", subject_of(told.key, "u"), waiting(), told.now);
  events.tell("a", subject_of(told.key, "u"), running(), told.now);
  EXPECT_EQ(told.written, 1U) << "that it waits, and not that it runs";
  WrapperEvents none = told.events(EventTelling::None);
  none.tell("a", subject_of(told.key, "u"), waiting(), told.now);
  EXPECT_EQ(told.written, 1U);
  WrapperEvents all = told.events(EventTelling::All);
  all.tell("a", subject_of(told.key, "u"), running(), told.now);
  EXPECT_EQ(told.written, 3U);
}

TEST(WrapperEvents, AreBoundedForOneAndForAll) {
  Told told;
  WrapperEvents events = told.events(EventTelling::All);
  for (std::uint32_t attempt = 1; attempt <= 30; ++attempt)
    events.tell("a", subject_of(told.key, "u"), waiting(attempt), told.now);
  EXPECT_EQ(told.written, 20U);
  for (int i = 0; i < 200; ++i)
    events.tell(fmt::format("b{}", i), subject_of(told.key, "u"), waiting(), told.now);
  EXPECT_EQ(told.written, 100U);
  for (int i = 0; i < 200; ++i)
    events.tell(fmt::format("c{}", i), subject_of(told.key, "u"), waiting(), told.now + seconds(2));
  EXPECT_EQ(told.written, 110U);
}

}  // namespace
}  // namespace muster::api
