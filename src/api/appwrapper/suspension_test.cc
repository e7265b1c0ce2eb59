#include "api/appwrapper/suspension.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "api/appwrapper/rows.h"
#include "api/appwrapper/status_fields.h"

namespace muster::api {
namespace {

using model::JobState;

const std::string any_job = "aw-1-uid";

/// "hold release priority"
std::string words(const std::vector<model::EventBody>& events) {
  std::string text;
  for (const model::EventBody& event : events) {
    if (!text.empty()) text += ' ';
    if (const auto* held = std::get_if<model::JobHeld>(&event))
      text += held->stops ? "hold-and-stop" : "hold";
    if (std::holds_alternative<model::JobReleased>(event)) text += "release";
    if (std::holds_alternative<model::PriorityChanged>(event)) text += "priority";
  }
  return text;
}

TEST(Suspension, SetHoldsAndStopsTheJobAndSetBackReleasesIt) {
  WrapperAsk free;
  WrapperAsk held;
  held.is_held = true;
  EXPECT_EQ(words(changes_between("j", free, held)), "hold-and-stop");
  EXPECT_EQ(words(changes_between("j", held, free)), "release");
  EXPECT_EQ(words(changes_between("j", held, held)), "");
  held.priority = 7;
  EXPECT_EQ(words(changes_between("j", free, held)), "priority hold-and-stop");
}

TEST(Suspension, IsAskedForOnlyWhereItMeansSomething) {
  const std::vector<model::EventBody> both = {model::JobHeld{"j", true}, model::JobReleased{"j"}};
  const auto of = [&](JobState state, const sched::Active* active = nullptr) {
    sched::Job job;
    job.state = state;
    if (active != nullptr) job.active = std::make_unique<sched::Active>(*active);
    return words(still_wanted(job, both));
  };
  EXPECT_EQ(of(JobState::Waiting), "hold-and-stop");
  EXPECT_EQ(of(JobState::Held), "release");
  EXPECT_EQ(of(JobState::Succeeded), "");
  sched::Active active;
  EXPECT_EQ(of(JobState::Running, &active), "hold-and-stop");
  active.stopping = true;
  EXPECT_EQ(of(JobState::Stopping, &active), "hold-and-stop") << "it makes room for another";
  active.held = true;
  EXPECT_EQ(of(JobState::Stopping, &active), "release");
  active.held = false;
  active.stop = model::StopWhy::RunLimit;
  EXPECT_EQ(of(JobState::Stopping, &active), "");
  active.stop = model::StopWhy::Priority;
  active.cancelled = true;
  EXPECT_EQ(of(JobState::Stopping, &active), "");
}

TEST(Suspension, WhatWasFollowedStandsInTheStatus) {
  WrapperFacts facts;
  EXPECT_FALSE(was_suspended({{"muster", muster_fields(facts, {})}}));
  facts.ask.is_held = true;
  EXPECT_TRUE(was_suspended({{"muster", muster_fields(facts, {})}}));
  EXPECT_FALSE(was_suspended({}));
}

TEST(Suspension, APriorityThatSomebodyElseGaveTheJobIsLeftAloneAndAnEditIsNot) {
  const auto asked_after_restart = [](const WrapperFacts& before, int priority_now) {
    const auto written = followed_priority({{"muster", muster_fields(before, {})}});
    WrapperAsk followed;
    followed.priority = written.value_or(before.row->priority);
    WrapperAsk now;
    now.priority = priority_now;
    return words(changes_between("j", followed, now));
  };
  WrapperFacts facts;
  facts.job = &any_job;
  facts.row.emplace();
  facts.row->priority = facts.ask.priority = 5;
  EXPECT_FALSE(muster_fields(facts, {}).contains("priority")) << "most say nothing";
  EXPECT_EQ(asked_after_restart(facts, 5), "");
  EXPECT_EQ(asked_after_restart(facts, 9), "priority");
  facts.row->priority = 50;
  EXPECT_EQ(asked_after_restart(facts, 5), "") << "an administrator's";
  EXPECT_EQ(asked_after_restart(facts, 9), "priority");
  facts.ask.priority = 0;
  EXPECT_EQ(asked_after_restart(facts, 0), "");
  facts.row->state = JobState::Succeeded;
  EXPECT_FALSE(muster_fields(facts, {}).contains("priority")) << "it does not matter any more";
}

TEST(Suspension, AListHasThePriorityOfTheJob) {
  WrapperFacts facts;
  facts.ask.priority = 9;
  WrapperRow row;
  put_facts(facts, row);
  EXPECT_EQ(row.priority, 9) << "it is no job yet";
  facts.job = &any_job;
  facts.row.emplace();
  facts.row->priority = 5;
  put_facts(facts, row);
  EXPECT_EQ(row.priority, 5);
}

}  // namespace
}  // namespace muster::api
