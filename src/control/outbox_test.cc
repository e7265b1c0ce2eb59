#include "control/outbox.h"

#include <gtest/gtest.h>

namespace muster::control {
namespace {

using ports::Verb;

/// A world with one cluster `c1`, node `n1`, and jobs placed by hand.
class OutboxTest : public testing::Test {
 protected:
  OutboxTest() {
    apply(model::ClusterSet{{"c1", {}, {}, minutes(5)}});
    model::QueueSpec queue;
    queue.name = "q";
    apply(model::QueueSet{queue});
    model::NodeSpec node;
    node.name = "n1";
    node.allocatable.cpu = {8000};
    apply(model::NodeSeen{"c1", node});
  }

  void apply(model::EventBody body, Time at = Time{0}) {
    sched::apply(world, {at, std::move(body)}, policy);
    for (std::size_t i = 0; i < world.job_count(); ++i)
      outbox.look_at(world, sched::JobSlot{static_cast<std::uint32_t>(i)}, at);
  }
  void submit(const std::string& id, model::OnClusterLoss loss = model::OnClusterLoss::Wait) {
    model::JobSpec spec;
    spec.id = id;
    spec.queue = "q";
    model::PodSet set;
    set.pod.requests.cpu = {1000};
    spec.gang.sets.push_back(set);
    spec.gang.on_cluster_loss = loss;
    apply(model::JobSubmitted{spec, world.job_count() + 1});
  }
  void place(const std::string& id, std::uint32_t attempt = 1) {
    apply(model::Placed{id, attempt, "c1", "", {{0, "n1", "", 0, 0}}});
  }
  std::string due(Time now) {
    std::string text;
    for (const auto& action : outbox.take_due(world, now))
      text += fmt::format("{}{}/{} ", action.verb == Verb::Create ? "+" : "-", action.attempt.job,
                          action.attempt.number);
    return text;
  }
  std::string derived() {
    Outbox anew({}, minutes(10));
    anew.rebuild(world, Time{0});
    return anew.text();
  }

  sched::Policy policy;
  sched::World world;
  Outbox outbox{Retry{}, minutes(10)};
};

TEST(Retry, PausesDoubleUpToTheMost) {
  const Retry retry{seconds(5), minutes(1)};
  EXPECT_EQ(retry.pause(1), seconds(5));
  EXPECT_EQ(retry.pause(2), seconds(10));
  EXPECT_EQ(retry.pause(4), seconds(40));
  EXPECT_EQ(retry.pause(5), minutes(1));
  EXPECT_EQ(retry.pause(1000), minutes(1));
}

TEST_F(OutboxTest, APlacedJobIsCreatedUntilItStarts) {
  submit("a");
  place("a");
  EXPECT_EQ(due(Time{0}), "+a/1 ");
  EXPECT_EQ(due(Time{4999}), "");
  EXPECT_EQ(due(Time{5000}), "+a/1 ");
  EXPECT_EQ(due(Time{14'999}), "");
  EXPECT_EQ(due(Time{15'000}), "+a/1 ");
  apply(model::Started{"a", 1});
  EXPECT_EQ(outbox.size(), 0u);
  EXPECT_TRUE(outbox.next().is_never());
}

TEST_F(OutboxTest, ACreateCarriesTheWholePlacement) {
  submit("a");
  place("a");
  const auto actions = outbox.take_due(world, Time{0});
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(actions[0].cluster, "c1");
  EXPECT_EQ(actions[0].pods, (std::vector<model::PodPlace>{{0, "n1", "", 0, 0}}));
  EXPECT_EQ(actions[0].counted, (std::vector<model::Resources>{{{1000}, {}, {}}}));
  EXPECT_EQ(actions[0].requeues, 0u);
}

TEST_F(OutboxTest, ACreateSaysHowOftenTheJobWasRequeuedWhateverEndedItSince) {
  submit("a");
  place("a");
  apply(model::StartFailed{"a", 1, Time{0}, "too few pods", 1});
  place("a", 2);
  apply(model::StartFailed{"a", 2, Time{0}, "a kind is missing", 0});
  place("a", 3);
  apply(model::Gone{"a", 3});
  place("a", 4);
  outbox.rebuild(world, Time{0});
  const auto actions = outbox.take_due(world, Time{0});
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(actions[0].attempt.number, 4u);
  EXPECT_EQ(actions[0].requeues, 1u);
}

TEST_F(OutboxTest, AStoppedOrCancelledJobIsDeletedUntilItIsGone) {
  submit("a");
  place("a");
  apply(model::Started{"a", 1});
  apply(model::Stopped{"a", 1, model::StopWhy::Priority, ""});
  EXPECT_EQ(due(Time{0}), "-a/1 ");
  EXPECT_EQ(due(Time{5000}), "-a/1 ");
  apply(model::Gone{"a", 1});
  EXPECT_EQ(outbox.size(), 0u);
  place("a", 2);
  EXPECT_EQ(due(Time{6000}), "+a/2 ");
  apply(model::JobCancelled{"a"}, Time{6000});
  EXPECT_EQ(due(Time{6000}), "-a/2 ");
  EXPECT_EQ(outbox.text(), derived());
}

TEST_F(OutboxTest, AGangThatIsNotReadyInTimeIsRemoved) {
  submit("a");
  place("a");
  due(Time{0});
  EXPECT_EQ(due(Time{0} + minutes(10)), "-a/1 ");
  EXPECT_EQ(outbox.text(), derived());
  apply(model::Gone{"a", 1}, Time{0} + minutes(10));
  EXPECT_EQ(world.job(world.find_job("a")).state, model::JobState::Waiting);
  EXPECT_EQ(outbox.size(), 0u);
}

TEST_F(OutboxTest, TheLimitFollowsTheClustersThatAreThere) {
  submit("a");
  place("a");
  due(Time{0});
  outbox.set_ready_limit(minutes(30));
  EXPECT_EQ(due(Time{0} + minutes(29)), "+a/1 ");
  EXPECT_EQ(due(Time{0} + minutes(30)), "-a/1 ");
  submit("b");
  place("b");
  outbox.set_ready_limit(minutes(5));
  EXPECT_EQ(due(Time{0} + minutes(30)), "-b/1 ");
}

TEST_F(OutboxTest, WhatWasGivenUpIsNotMadeAgainWhenThereIsMoreTime) {
  submit("a");
  place("a");
  due(Time{0});
  EXPECT_FALSE(outbox.has_given_up({"a", 1}));
  EXPECT_EQ(due(Time{0} + minutes(10)), "-a/1 ");
  EXPECT_TRUE(outbox.has_given_up({"a", 1}));
  outbox.set_ready_limit(minutes(30));
  outbox.look_at(world, world.find_job("a"), Time{0} + minutes(10));
  EXPECT_EQ(due(Time{0} + minutes(11)), "-a/1 ");
}

TEST_F(OutboxTest, NothingGoesToAnUnreachableClusterAndOrphansGoWhenItIsBack) {
  submit("a", model::OnClusterLoss::Rerun);
  place("a");
  apply(model::Started{"a", 1});
  apply(model::ClusterHealth{"c1", model::Health::Unreachable});
  apply(model::Stopped{"a", 1, model::StopWhy::ClusterLost, ""});
  EXPECT_EQ(outbox.text(), "a/1 delete c1\n");
  EXPECT_EQ(due(Time{0}), "");
  EXPECT_EQ(outbox.text(), derived());
  apply(model::ClusterHealth{"c1", model::Health::Ready}, Time{7000});
  outbox.wake("c1", Time{7000});
  EXPECT_EQ(due(Time{7000}), "-a/1 ");
  apply(model::Gone{"a", 1}, Time{8000});
  EXPECT_EQ(outbox.size(), 0u);
}

}  // namespace
}  // namespace muster::control
