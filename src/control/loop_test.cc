#include "control/loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "ports/memory_cluster.h"
#include "ports/memory_inbox.h"
#include "ports/memory_store.h"

namespace muster::control {
namespace {

class LoopTest : public testing::Test {
 protected:
  LoopTest() {
    model::QueueSpec queue;
    queue.name = "q";
    const std::vector<model::Event> books{{Time{0}, model::ClusterSet{{"c1", {}, {}, minutes(5)}}},
                                          {Time{0}, model::QueueSet{queue}}};
    MUSTER_CHECK(store.commit({books}).ok(), "set up");
  }
  static model::NodeSpec node() {
    model::NodeSpec spec;
    spec.name = "n1";
    spec.allocatable.cpu = {4000};
    return spec;
  }
  /// A new process on the same journal. Stage::Dispatched and "never" alike run through.
  Loop& start(std::optional<Stage> dies_at = std::nullopt) {
    Options options;
    options.memory = memory;
    if (dies_at) options.goes_on = [dies_at](Stage stage) { return stage != *dies_at; };
    inbox.take(1000);
    auto recovered = recover(store, policy);
    MUSTER_CHECK(recovered.ok(), "recover");
    loop.emplace(Loop::Ports{inbox, store, {{"c1", &cluster}}}, std::move(*recovered), policy,
                 std::move(options));
    return *loop;
  }
  void submit(const std::string& id, int cpu = 1000) {
    model::JobSpec spec;
    spec.id = id;
    spec.queue = "q";
    model::PodSet set;
    set.pod.requests.cpu = {cpu};
    spec.gang.sets.push_back(set);
    ASSERT_TRUE(inbox.put({Time{0}, model::JobSubmitted{spec, ++seq}}));
  }
  model::JobState state(const std::string& id) const {
    return loop->world().job(loop->world().find_job(id)).state;
  }
  /// The world of the journal with the cluster's nodes shown to it.
  std::uint64_t replayed() const {
    auto recovered = recover(store, policy);
    sched::apply(recovered->world, {recovered->last, model::NodeSeen{"c1", node()}}, policy);
    return recovered->world.hash();
  }

  sched::Policy policy;
  Memory memory;
  std::uint64_t seq = 0;
  ports::MemoryInbox inbox{1000};
  ports::MemoryStore store;
  ports::MemoryCluster cluster{"c1", {node()}, inbox};
  std::optional<Loop> loop;
};

TEST_F(LoopTest, AJobGoesFromSubmitToRunningToItsEnd) {
  start();
  submit("a");
  const StepReport first = loop->step(Time{100});
  ASSERT_EQ(first.decisions.size(), 1u);
  EXPECT_EQ(first.actions.size(), 1u);
  EXPECT_EQ(first.scores.size(), 1u);
  EXPECT_TRUE(first.more) << "Started waits in the inbox";
  loop->step(Time{200});
  EXPECT_EQ(state("a"), model::JobState::Running);
  cluster.finish({"a", 1}, true);
  loop->step(Time{300});
  EXPECT_EQ(state("a"), model::JobState::Succeeded);
  EXPECT_EQ(loop->world().hash(), replayed());
}

TEST_F(LoopTest, AClusterIsToldOfAPlacementBeforeItIsWrittenAndAskedForItAfterwards) {
  struct Expecting : ports::MemoryCluster {
    using MemoryCluster::MemoryCluster;
    void expect(const model::Placed& placed) override { expected.push_back(placed); }
    std::vector<model::Placed> expected;
  };
  Expecting expecting{"c1", {node()}, inbox};
  const auto loop_on_the_journal = [&](const Options& options) {
    auto recovered = recover(store, policy);
    return std::make_unique<Loop>(Loop::Ports{inbox, store, {{"c1", &expecting}}},
                                  std::move(*recovered), policy, options);
  };
  Options dying;
  dying.goes_on = [](Stage stage) { return stage != Stage::Decided; };
  submit("a");
  loop_on_the_journal(dying)->step(Time{100});
  ASSERT_EQ(expecting.expected.size(), 1u);
  EXPECT_TRUE(expecting.actions().empty());
  loop_on_the_journal({})->step(Time{200});
  ASSERT_EQ(expecting.actions().size(), 1u);
  EXPECT_EQ(expecting.actions()[0].pods, expecting.expected[0].pods);
}

TEST_F(LoopTest, SightIsNotJournaled) {
  start();
  loop->step(Time{100});
  EXPECT_EQ(store.last(), 2u) << "only the set-up";
  submit("a");
  loop->step(Time{200});
  loop->step(Time{300});
  EXPECT_EQ(store.last(), 5u) << "submitted, placed, started";
}

TEST_F(LoopTest, TimeInTheBooksNeverRunsBackwards) {
  start();
  loop->step(Time{5000});
  submit("a");
  EXPECT_EQ(loop->step(Time{1000}).now, Time{5000});
  start();
  EXPECT_EQ(loop->step(Time{10}).now, Time{5000});
}

TEST_F(LoopTest, ABusyStoreLosesNothing) {
  start();
  submit("a");
  store.be_busy(1);
  const StepReport refused = loop->step(Time{100});
  ASSERT_TRUE(refused.refused);
  EXPECT_EQ(refused.refused->fault, Fault::Unavailable);
  EXPECT_TRUE(refused.events.empty());
  EXPECT_EQ(loop->step(refused.next_look).decisions.size(), 1u);
}

TEST_F(LoopTest, DecisionsTheStoreRefusedAreMadeAgain) {
  start();
  loop->step(Time{50});
  submit("a");
  // The submit is committed, then the store is busy for the decision.
  Options options;
  options.goes_on = [this, first = true](Stage stage) mutable {
    if (stage == Stage::Planned && std::exchange(first, false)) store.be_busy(1);
    return true;
  };
  auto recovered = recover(store, policy);
  std::vector<model::Event> kept = inbox.take(100);
  loop.emplace(Loop::Ports{inbox, store, {{"c1", &cluster}}}, std::move(*recovered), policy,
               std::move(options));
  for (auto& event : kept) ASSERT_TRUE(inbox.put(event));
  const StepReport report = loop->step(Time{100});
  ASSERT_TRUE(report.refused);
  EXPECT_EQ(state("a"), model::JobState::Waiting);
  EXPECT_EQ(loop->step(Time{200}).decisions.size(), 1u);
  EXPECT_EQ(state("a"), model::JobState::Starting);
}

TEST_F(LoopTest, FinishedJobsAreForgottenAfterAWhileAndTheJournalSaysSo) {
  memory.finished = minutes(1);
  start();
  for (const char* id : {"a", "b"}) {
    submit(id);
    const Time at = Time{0} + seconds(id[0] == 'a' ? 10 : 100);
    loop->step(at);
    loop->step(at + Duration{1});
    cluster.finish({id, 1}, true);
    loop->step(at + Duration{2});
  }
  EXPECT_TRUE(loop->world().find_job("a").is_none()) << "it ended 90 seconds ago";
  EXPECT_FALSE(loop->world().find_job("b").is_none());
  EXPECT_EQ(loop->world().hash(), replayed());
  submit("c");
  loop->step(Time{0} + seconds(200));
  EXPECT_EQ(loop->world().newest_submit, 3u);
  EXPECT_EQ(loop->world().live_jobs(), 1u);
  EXPECT_EQ(loop->world().hash(), replayed());
}

TEST_F(LoopTest, TooManyFinishedJobsAreForgottenEarlier) {
  memory.finished = hours(1);
  memory.finished_most = 3;
  start();
  for (int i = 0; i < 10; ++i) {
    const std::string id = fmt::format("job-{}", i);
    submit(id);
    const Time at = Time{0} + seconds(10 * i);
    loop->step(at);
    loop->step(at + Duration{1});
    cluster.finish({id, 1}, true);
    loop->step(at + Duration{2});
  }
  loop->step(Time{0} + seconds(200));
  EXPECT_EQ(loop->world().live_jobs(), 3u);
  EXPECT_EQ(loop->world().hash(), replayed());
}

/// Dies at every stage in turn, with a job on its way in; the next process carries on.
class LoopCrashTest : public LoopTest, public testing::WithParamInterface<Stage> {};

TEST_P(LoopCrashTest, TheNextProcessCarriesOnAndNothingRunsTwice) {
  start(GetParam());
  submit("a");
  EXPECT_TRUE(loop->step(Time{100}).died);
  start();
  if (loop->world().find_job("a").is_none()) submit("a");  // it was never answered
  for (int i = 2; i < 8; ++i) loop->step(Time{i * 10'000});
  EXPECT_EQ(state("a"), model::JobState::Running);
  EXPECT_EQ(cluster.creations({"a", 1}), 1);
  EXPECT_EQ(cluster.running().size(), 1u);
  EXPECT_EQ(loop->world().hash(), replayed());
}
INSTANTIATE_TEST_SUITE_P(Stages, LoopCrashTest,
                         testing::Values(Stage::Taken, Stage::Committed, Stage::Applied,
                                         Stage::Planned, Stage::Decided, Stage::Dispatched));

TEST_F(LoopTest, WhatEndedWhileNobodyListenedIsFoundByTheRelist) {
  start();
  submit("a");
  for (int i = 1; i < 4; ++i) loop->step(Time{i * 100});
  cluster.finish({"a", 1}, true);
  start();  // drops what was in the inbox; the relist finds no trace of attempt 1
  for (int i = 4; i < 8; ++i) loop->step(Time{i * 100});
  EXPECT_EQ(state("a"), model::JobState::Running);
  EXPECT_EQ(cluster.creations({"a", 2}), 1);
}

TEST_F(LoopTest, AStartThatIsGivenUpWaitsAWhileAndSaysWhy) {
  cluster.mute_creates(true);
  start();
  submit("a");
  loop->step(Time{100});
  loop->set_ready_limit(minutes(20));
  loop->step(Time{0} + minutes(15));
  EXPECT_EQ(cluster.actions().back().verb, ports::Verb::Create);
  const Time given_up = Time{0} + minutes(21);
  loop->step(given_up);
  ASSERT_EQ(cluster.actions().back().verb, ports::Verb::Delete);
  const StepReport report = loop->step(given_up + Duration{1});
  const auto failed =
      std::find_if(report.events.begin(), report.events.end(), [](const model::Event& event) {
        return std::holds_alternative<model::StartFailed>(event.body);
      });
  ASSERT_NE(failed, report.events.end());
  const auto& body = std::get<model::StartFailed>(failed->body);
  EXPECT_EQ(body.not_before, given_up + Duration{1} + policy.start_retry_pause);
  EXPECT_EQ(body.reason,
            "it did not start within 20m of its placement, and its cluster did not say why");
  EXPECT_EQ(state("a"), model::JobState::Waiting);
  EXPECT_EQ(loop->world().hash(), replayed());
}

TEST_F(LoopTest, AClusterThatSaidWhyItRemovesAnAttemptIsRemindedOfItAfterARestart) {
  struct Asked : ports::MemoryCluster {
    using MemoryCluster::MemoryCluster;
    void relist(std::span<const ports::Expected> all) override {
      asked.assign(all.begin(), all.end());
      MemoryCluster::relist({});
    }
    std::vector<ports::Expected> asked;
  };
  const model::Demise demise{model::Ailment::TooFewPods, false, 0, 3, "one pod of two"};
  start();
  submit("a");
  for (int i = 1; i < 3; ++i) loop->step(Time{i * 100});
  ASSERT_EQ(state("a"), model::JobState::Running);
  ASSERT_TRUE(inbox.put({Time{0}, model::Ailing{"a", 7, {model::Ailment::NotMade}}}));
  ASSERT_TRUE(inbox.put({Time{0}, model::Ailing{"a", 1, demise}}));
  loop->step(Time{300});
  EXPECT_EQ(state("a"), model::JobState::Running) << "until its pods are gone";
  Asked asked{"c1", {node()}, inbox};
  auto recovered = recover(store, policy);
  ASSERT_TRUE(recovered);
  const Loop again(Loop::Ports{inbox, store, {{"c1", &asked}}}, std::move(*recovered), policy, {});
  ASSERT_EQ(asked.asked.size(), 1u);
  EXPECT_TRUE(asked.asked[0].created);
  EXPECT_EQ(asked.asked[0].demise, demise);
  EXPECT_EQ(loop->world().hash(), replayed());
}

TEST_F(LoopTest, AnAttemptThatIsNotInTheBooksIsRemoved) {
  cluster.apply({ports::Verb::Create, {"ghost", 4}, "c1", {{0, "n1", "", 0, 0}}});
  start();
  EXPECT_TRUE(cluster.running().empty());
}

TEST_F(LoopTest, AClusterThatComesBackIsAskedWhatIsThere) {
  start();
  submit("a");
  for (int i = 1; i < 3; ++i) loop->step(Time{i * 100});
  ASSERT_TRUE(inbox.put({Time{0}, model::ClusterHealth{"c1", model::Health::Unreachable}}));
  loop->step(Time{300});
  cluster.finish({"a", 1}, true);
  inbox.take(100);  // nobody heard it
  ASSERT_TRUE(inbox.put({Time{0}, model::ClusterHealth{"c1", model::Health::Ready}}));
  loop->step(Time{400});
  loop->step(Time{500});
  EXPECT_NE(state("a"), model::JobState::Running) << "Gone was said in answer to the relist";
}

struct AdmissionTest : LoopTest {
  void allow(model::Admission admission) {
    model::ClusterSpec spec = loop->world().fleet.cluster(id()).spec;
    spec.admission = admission;
    ASSERT_TRUE(inbox.put({Time{0}, model::ClusterSet{spec}}));
  }
  void report(model::Health health) {
    ASSERT_TRUE(inbox.put({Time{0}, model::ClusterHealth{"c1", health}}));
  }
  sched::ClusterId id() const { return loop->world().fleet.find_cluster("c1"); }
  model::Health health() const { return loop->world().fleet.cluster(id()).health; }
};

TEST_F(AdmissionTest, ACordonHoldsWhateverTheClusterSaysOfItself) {
  start();
  loop->step(Time{100});
  allow(model::Admission::Cordoned);
  submit("a");
  loop->step(Time{200});
  EXPECT_EQ(health(), model::Health::Cordoned);
  EXPECT_EQ(state("a"), model::JobState::Waiting);
  report(model::Health::Ready);
  loop->step(Time{300});
  EXPECT_EQ(health(), model::Health::Cordoned);
  report(model::Health::Unreachable);
  loop->step(Time{400});
  EXPECT_EQ(health(), model::Health::Unreachable);
  report(model::Health::Degraded);
  loop->step(Time{500});
  EXPECT_EQ(health(), model::Health::Cordoned);
  allow(model::Admission::Open);
  for (int i = 6; i < 9; ++i) loop->step(Time{i * 100});
  EXPECT_EQ(health(), model::Health::Ready);  // as it said when it was asked what is there
  EXPECT_EQ(state("a"), model::JobState::Running);
}

TEST_F(AdmissionTest, ADrainGoesOnAfterARestart) {
  start();
  submit("a");
  for (int i = 1; i < 4; ++i) loop->step(Time{i * 100});
  ASSERT_EQ(state("a"), model::JobState::Running);
  start(Stage::Committed);  // dies with the drain in the books only
  allow(model::Admission::Draining);
  loop->step(Time{400});
  start();
  EXPECT_EQ(health(), model::Health::Draining);
  for (int i = 5; i < 9; ++i) loop->step(Time{i * 100});
  EXPECT_EQ(health(), model::Health::Draining);
  EXPECT_EQ(state("a"), model::JobState::Waiting);
}

}  // namespace
}  // namespace muster::control
