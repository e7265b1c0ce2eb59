// What every Cluster must do. A kind of cluster passes a Harness:
//   Cluster& cluster()                   with one ready node `n1`, named `c1`, jobs that run long
//   std::vector<model::Event> heard()    lets everything settle, then takes what the inbox got
//   int creations(attempt)               how often the attempt's pods were really made
//   void set_reachable(bool)
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "ports/cluster.h"

namespace muster::ports {

template <typename Harness>
class ClusterContract : public testing::Test {
 protected:
  static Action action(Verb verb, const Attempt& attempt) {
    return {verb, attempt, "c1", {{0, "n1", "", 0, 0}}};
  }
  template <typename Body>
  static int count(const std::vector<model::Event>& events, const Attempt& attempt) {
    return static_cast<int>(std::count_if(events.begin(), events.end(), [&](const auto& event) {
      const Body* body = std::get_if<Body>(&event.body);
      return body != nullptr && body->job == attempt.job && body->attempt == attempt.number;
    }));
  }
  Harness harness;
  const Attempt one{"a", 1};
};
TYPED_TEST_SUITE_P(ClusterContract);

TYPED_TEST_P(ClusterContract, ACreatedAttemptStarts) {
  this->harness.cluster().apply(this->action(Verb::Create, this->one));
  EXPECT_EQ(this->template count<model::Started>(this->harness.heard(), this->one), 1);
  EXPECT_EQ(this->harness.creations(this->one), 1);
}

TYPED_TEST_P(ClusterContract, CreatingTwiceMakesNothingNewAndSaysAgainHowItStands) {
  Cluster& cluster = this->harness.cluster();
  cluster.apply(this->action(Verb::Create, this->one));
  this->harness.heard();
  cluster.apply(this->action(Verb::Create, this->one));
  EXPECT_EQ(this->template count<model::Started>(this->harness.heard(), this->one), 1);
  EXPECT_EQ(this->harness.creations(this->one), 1);
}

TYPED_TEST_P(ClusterContract, ADeletedAttemptIsGone) {
  Cluster& cluster = this->harness.cluster();
  cluster.apply(this->action(Verb::Create, this->one));
  this->harness.heard();
  cluster.apply(this->action(Verb::Delete, this->one));
  EXPECT_EQ(this->template count<model::Gone>(this->harness.heard(), this->one), 1);
}

TYPED_TEST_P(ClusterContract, DeletingWhatIsNotThereSaysGone) {
  this->harness.cluster().apply(this->action(Verb::Delete, this->one));
  EXPECT_EQ(this->template count<model::Gone>(this->harness.heard(), this->one), 1);
}

TYPED_TEST_P(ClusterContract, ACreateAfterADeleteMakesNothing) {
  Cluster& cluster = this->harness.cluster();
  cluster.apply(this->action(Verb::Delete, this->one));
  cluster.apply(this->action(Verb::Create, this->one));
  EXPECT_EQ(this->template count<model::Started>(this->harness.heard(), this->one), 0);
  EXPECT_EQ(this->harness.creations(this->one), 0);
}

TYPED_TEST_P(ClusterContract, RelistSaysHowTheExpectedStandAndRemovesTheRest) {
  Cluster& cluster = this->harness.cluster();
  const Attempt missing{"b", 3};
  const Attempt unwanted{"c", 1};
  const Attempt on_its_way{"d", 1};
  cluster.apply(this->action(Verb::Create, this->one));
  cluster.apply(this->action(Verb::Create, unwanted));
  this->harness.heard();
  cluster.relist(std::vector<Expected>{{this->one, true}, {missing, true}, {on_its_way, false}});
  const auto events = this->harness.heard();
  EXPECT_EQ(this->template count<model::Started>(events, this->one), 1);
  EXPECT_EQ(this->template count<model::Gone>(events, missing), 1);
  EXPECT_EQ(this->template count<model::Gone>(events, on_its_way), 0);
  EXPECT_EQ(this->template count<model::Gone>(events, unwanted), 1);
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const model::Event& event) {
    return std::holds_alternative<model::NodeSeen>(event.body);
  }));
}

TYPED_TEST_P(ClusterContract, RelistRemovesOrphans) {
  Cluster& cluster = this->harness.cluster();
  cluster.apply(this->action(Verb::Create, this->one));
  this->harness.heard();
  cluster.relist(std::vector<Expected>{{this->one, false, true}});
  EXPECT_EQ(this->template count<model::Gone>(this->harness.heard(), this->one), 1);
  cluster.apply(this->action(Verb::Create, this->one));
  EXPECT_EQ(this->template count<model::Started>(this->harness.heard(), this->one), 0);
}

TYPED_TEST_P(ClusterContract, WhatWasSaidToBeGoneDoesNotComeBack) {
  Cluster& cluster = this->harness.cluster();
  cluster.relist(std::vector<Expected>{{this->one, true}});
  EXPECT_EQ(this->template count<model::Gone>(this->harness.heard(), this->one), 1);
  cluster.apply(this->action(Verb::Create, this->one));
  EXPECT_EQ(this->template count<model::Started>(this->harness.heard(), this->one), 0);
  EXPECT_EQ(this->harness.creations(this->one), 0);
}

TYPED_TEST_P(ClusterContract, AnUnreachableClusterDoesNothingAndSaysSo) {
  Cluster& cluster = this->harness.cluster();
  this->harness.set_reachable(false);
  this->harness.heard();
  cluster.apply(this->action(Verb::Create, this->one));
  cluster.relist(std::vector<Expected>{{this->one, true}});
  const auto events = this->harness.heard();
  EXPECT_EQ(this->harness.creations(this->one), 0);
  ASSERT_EQ(events.size(), 1u);
  const auto* health = std::get_if<model::ClusterHealth>(&events[0].body);
  ASSERT_NE(health, nullptr);
  EXPECT_EQ(health->health, model::Health::Unreachable);
}

REGISTER_TYPED_TEST_SUITE_P(ClusterContract, ACreatedAttemptStarts,
                            CreatingTwiceMakesNothingNewAndSaysAgainHowItStands,
                            ADeletedAttemptIsGone, DeletingWhatIsNotThereSaysGone,
                            ACreateAfterADeleteMakesNothing,
                            RelistSaysHowTheExpectedStandAndRemovesTheRest, RelistRemovesOrphans,
                            WhatWasSaidToBeGoneDoesNotComeBack,
                            AnUnreachableClusterDoesNothingAndSaysSo);

}  // namespace muster::ports
