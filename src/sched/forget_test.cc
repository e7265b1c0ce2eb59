#include <gtest/gtest.h>

#include "sched/testing/site.h"
#include "sched/world.h"

namespace muster::sched {
namespace {

class Forget : public ::testing::Test {
 protected:
  Forget() {
    apply(model::ClusterSet{{"c1", {}, {}, minutes(5)}});
    model::QueueSpec queue;
    queue.name = "q";
    apply(model::QueueSet{queue});
  }
  bool apply(model::EventBody body) { return sched::apply(world, {now, std::move(body)}, policy); }
  void submit(const std::string& id, std::vector<std::string> depends_on = {},
              const std::string& name = "train") {
    model::JobSubmitted event;
    event.spec.id = id;
    event.spec.queue = "q";
    event.spec.user = "ada";
    event.spec.name = name;
    event.spec.depends_on = std::move(depends_on);
    event.spec.gang.sets.resize(1);
    event.seq = ++seq;
    apply(event);
  }
  void run(const std::string& id, bool success = true) {
    apply(model::Placed{id, 1, "c1", "", {{0, "n1", "", 0, 0}}});
    apply(model::Started{id, 1});
    now = now + seconds(10);
    apply(model::Finished{id, 1, success});
  }
  void forget() {
    now = now + seconds(1);
    apply(model::FinishedForgotten{now - seconds(1), Time{0}});
    ASSERT_EQ(check(world), "");
  }

  World world;
  Policy policy;
  Time now{1000};
  std::uint64_t seq = 0;
};

TEST_F(Forget, FinishedJobsLeaveTheirSlotsToLaterOnes) {
  for (int i = 0; i < 1000; ++i) {
    const std::string id = fmt::format("job-{}", i);
    submit(id, {}, fmt::format("name-{}", i % 3));
    run(id);
    forget();
    EXPECT_TRUE(world.find_job(id).is_none());
  }
  EXPECT_EQ(world.job_count(), 1u);
  EXPECT_EQ(world.live_jobs(), 0u);
  EXPECT_EQ(world.newest_submit, 1000u);
}

/// A site where every job has a shape of its own, as pods with labels of their own have.
struct Fair : testing::Site {
  Fair() {
    world.idle_shapes_most = 4;
    cluster("a");
    for (const std::string name : {"n1", "n2"}) node("a", testing::node_spec(name, 8));
    model::QueueSpec queue;
    queue.name = "q";
    queue.strategy = model::Strategy::SkipAhead;
    apply(model::QueueSet{queue});
  }
  model::JobSpec own(const std::string& id, int gpus) {
    model::JobSpec spec = testing::job_spec(id, "q", 1, gpus);
    spec.gang.sets[0].pod.labels["job"] = id;
    spec.gang.sets[0].pod.pod_anti_affinity = {{{{{"job", id}}, {}}, "kubernetes.io/hostname"}};
    return spec;
  }
  void end(const std::string& id) {
    apply(model::Finished{id, job(id).attempt, true});
    now = now + seconds(10);
    apply(model::FinishedForgotten{now - seconds(1), Time{0}});
    ASSERT_EQ(check(world), "");
  }
};

TEST(ForgetShapes, ThoseThatNoJobHasAnyMoreGoAndOthersKeepTheirPlaces) {
  Fair fair;
  fair.submit(fair.own("stays", 8));
  fair.submit(fair.own("next", 4));
  fair.plan();
  fair.submit(fair.own("waits", 16));
  fair.submit(fair.own("behind", 8));
  for (int i = 0; i < 100; ++i) {
    const std::string id = fmt::format("job-{}", i);
    fair.submit(fair.own(id, 4));
    fair.plan();
    ASSERT_EQ(fair.job(id).state, model::JobState::Running) << i;
    ASSERT_NO_FATAL_FAILURE(fair.end(id));
    EXPECT_LE(fair.world.shapes.size(), 12u);
    EXPECT_LE(fair.world.line_slots(), 12u);
  }
  fair.plan();
  EXPECT_EQ(fair.job("stays").state, model::JobState::Running);
  EXPECT_EQ(fair.job("behind").state, model::JobState::Waiting);
  ASSERT_NO_FATAL_FAILURE(fair.end("next"));
  fair.plan();
  EXPECT_EQ(fair.job("behind").state, model::JobState::Running) << "it has the node to itself";
  EXPECT_EQ(check(fair.world), "");
}

TEST_F(Forget, OneThatEndedLaterStays) {
  submit("a");
  submit("b");
  run("a");
  const Time between = now;
  now = now + seconds(1);
  run("b");
  apply(model::FinishedForgotten{between, Time{0}});
  EXPECT_TRUE(world.find_job("a").is_none());
  EXPECT_FALSE(world.find_job("b").is_none());
}

TEST_F(Forget, ADependentThatWasCancelledIsNotWokenInItsSlot) {
  submit("first");
  submit("second", {"first"});
  apply(model::JobCancelled{"second"});
  forget();
  apply(model::JobHeld{"first"});
  submit("third", {"first"});  // takes the slot of the second
  submit("fourth");
  apply(model::JobReleased{"first"});
  run("first", false);
  EXPECT_EQ(check(world), "");
  EXPECT_EQ(world.doomed, (std::set<JobSlot>{world.find_job("third")}));
}

TEST_F(Forget, OneWithAnAttemptLeftBehindStaysUntilThatIsGone) {
  model::JobSubmitted event;
  event.spec.id = "a";
  event.spec.queue = "q";
  event.spec.gang.sets.resize(1);
  event.spec.gang.on_cluster_loss = model::OnClusterLoss::Rerun;
  apply(event);
  apply(model::Placed{"a", 1, "c1", "", {{0, "n1", "", 0, 0}}});
  apply(model::Stopped{"a", 1, model::StopWhy::ClusterLost, ""});
  apply(model::JobCancelled{"a"});
  forget();
  EXPECT_FALSE(world.find_job("a").is_none());
  apply(model::Gone{"a", 1});
  forget();
  EXPECT_TRUE(world.find_job("a").is_none());
}

TEST_F(Forget, RunTimesOutliveTheirJobsUntilTheyAreForgottenThemselves) {
  submit("a");
  run("a");
  const Time ended = now;
  forget();
  ASSERT_EQ(world.idle_names().size(), 1u);
  submit("b");
  EXPECT_EQ(world.learned_run_time(world.job(world.find_job("b")).history), seconds(10));
  EXPECT_TRUE(world.idle_names().empty());
  apply(model::JobCancelled{"b"});
  forget();
  ASSERT_EQ(world.idle_names().size(), 1u);
  now = now + seconds(10);
  apply(model::FinishedForgotten{Time{0}, ended});
  EXPECT_EQ(world.idle_names().size(), 1u) << "it was used since";
  apply(model::FinishedForgotten{Time{0}, now - seconds(1)});
  EXPECT_TRUE(world.idle_names().empty());
  submit("c");
  EXPECT_EQ(world.learned_run_time(world.job(world.find_job("c")).history), std::nullopt);
}

TEST_F(Forget, NamesThatNeverRanLeaveNothing) {
  submit("a", {}, "once");
  apply(model::JobCancelled{"a"});
  forget();
  EXPECT_TRUE(world.idle_names().empty());
}

TEST_F(Forget, AGuestOfATrialTakesNoFreeSlot) {
  submit("a");
  submit("b");
  run("a");
  forget();
  const std::uint64_t before = world.hash();
  Job guest;
  guest.id = "guest";
  guest.queue = world.quota.find("q");
  guest.shape = world.job(world.find_job("b")).shape;
  guest.user = world.text_id("eve");
  guest.name = world.text_id("try");
  const JobSlot slot = world.add_guest(std::move(guest));
  EXPECT_EQ(slot.index(), 2u);
  world.withdraw_guest(slot);
  EXPECT_EQ(world.hash(), before);
  submit("c");
  EXPECT_EQ(world.find_job("c").index(), 0u);
}

}  // namespace
}  // namespace muster::sched
