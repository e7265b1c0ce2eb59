#include <gtest/gtest.h>

#include <limits>

#include "sched/testing/site.h"

namespace muster::sched {
namespace {

using testing::job_spec;
using testing::node_spec;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

/// One node of two GPUs, and a job of two pods that waits for them.
class Bounds : public ::testing::Test, public testing::Site {
 protected:
  Bounds() {
    cluster("c");
    node("c", node_spec("n", 2));
    model::QueueSpec queue;
    queue.name = "q";
    apply(model::QueueSet{queue});
    apply(model::JobSubmitted{job_spec("j", "q", 2, 1), 1});
  }
  void expect_refused(const model::EventBody& body) {
    const std::uint64_t before = world.hash();
    EXPECT_FALSE(apply(body)) << "event " << body.index();
    EXPECT_EQ(world.hash(), before) << "event " << body.index();
    EXPECT_EQ(check(world), "");
  }
  model::JobSpec other() { return job_spec("other", "q", 1, 1); }
  static model::PodPlace place(std::uint32_t devices, std::uint32_t set = 0) {
    return {set, "n", "A100", devices, 1000};
  }
};

TEST_F(Bounds, AJobWhoseSumsWouldOverflowIsRefused) {
  model::JobSpec spec = other();
  spec.gang.sets[0].count = std::numeric_limits<int>::max();
  expect_refused(model::JobSubmitted{spec, 2});
  spec = other();
  spec.gang.sets[0].pod.requests.cpu.v = most;
  expect_refused(model::JobSubmitted{spec, 2});
  spec = other();
  spec.gang.sets[0].count = 2;
  spec.gang.sets[0].pod.requests.memory.v = model::amount_max;
  expect_refused(model::JobSubmitted{spec, 2});
  spec = other();
  spec.run_limit = Duration{most};
  expect_refused(model::JobSubmitted{spec, 2});
}

TEST_F(Bounds, AJobWithoutAnIdAQueueOrPodsIsRefused) {
  expect_refused(model::JobSubmitted{job_spec("", "q", 1, 1), 2});
  expect_refused(model::JobSubmitted{job_spec("other", "", 1, 1), 2});
  expect_refused(model::JobSubmitted{job_spec("other", "q", 0, 1), 2});
  model::JobSpec spec = other();
  spec.gang.sets.clear();
  expect_refused(model::JobSubmitted{spec, 2});
}

TEST_F(Bounds, AJobThatAsksForNoneOfADeviceIsRefused) {
  model::JobSpec spec = other();
  spec.gang.sets[0].pod.requests.extended["example.com/fpga"] = 0;
  expect_refused(model::JobSubmitted{spec, 2});
}

TEST_F(Bounds, APlacementOfHalfAGangIsRefused) {
  expect_refused(model::Placed{"j", 1, "c", "", {place(1)}});
  expect_refused(model::Placed{"j", 1, "c", "", {place(1), place(2), place(4)}});
  expect_refused(model::Placed{"j", 1, "c", "", {place(1), place(2, 7)}});
  EXPECT_TRUE(apply(model::Placed{"j", 1, "c", "", {place(1), place(2)}}));
}

TEST_F(Bounds, APlacementOnDevicesThatNoNodeHasOrOthersHaveIsRefused) {
  expect_refused(model::Placed{"j", 1, "c", "", {place(1), place(1)}});
  expect_refused(model::Placed{"j", 1, "c", "", {place(1), place(1U << 20)}});
  ASSERT_TRUE(apply(model::Placed{"j", 1, "c", "", {place(1), place(2)}}));
  ASSERT_TRUE(apply(model::JobSubmitted{other(), 2}));
  expect_refused(model::Placed{"other", 1, "c", "", {place(2)}});
}

TEST_F(Bounds, NodesQueuesAndTimesBeyondAllAmountsAreRefused) {
  model::NodeSpec node = node_spec("m", 2);
  node.allocatable.memory.v = -1;
  expect_refused(model::NodeSeen{"c", node});
  model::QueueSpec queue;
  queue.name = "r";
  queue.limits["gpu"].maximum = most;
  expect_refused(model::QueueSet{queue});
  expect_refused(model::Reserved{"j", "c", Time{most}, false, {"n"}});
  now = Time{-1};
  expect_refused(model::JobCancelled{"j"});
}

TEST_F(Bounds, ANodeThatIsNamedTwiceIsReservedOnce) {
  EXPECT_TRUE(apply(model::Reserved{"j", "c", now + seconds(60), false, {"n", "n"}}));
  EXPECT_EQ(check(world), "");
}

}  // namespace
}  // namespace muster::sched
