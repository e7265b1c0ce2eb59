#include "sched/node_cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sched/world.h"

namespace muster::sched {
namespace {

constexpr NodeChoice every_choice[] = {NodeChoice::Worth, NodeChoice::Fgd, NodeChoice::BestFit,
                                       NodeChoice::Spread, NodeChoice::Random};

/// A world of one cluster, "east", made by events as in production.
class NodeCostTest : public testing::Test {
 protected:
  NodeCostTest() { tell(model::ClusterSet{{.name = "east", .labels = {}, .gpu_price_milli = {}}}); }

  void tell(model::EventBody body) { apply(world, {Time{1}, std::move(body)}, policy); }

  void see(const std::string& name, int gpus, const std::string& type, std::int64_t cpu = 96'000,
           std::int64_t memory = gib(512)) {
    model::NodeSpec spec;
    spec.name = name;
    spec.gpu_count = gpus;
    spec.gpu_type = type;
    spec.allocatable = {.cpu = {cpu}, .memory = {memory}, .extended = {}};
    tell(model::NodeSeen{"east", spec});
  }

  PodShapeId ask(int gpus, std::int64_t each, std::vector<std::string> types = {},
                 std::int64_t memory = gib(16)) {
    model::JobSpec job;
    job.id = "job" + std::to_string(++jobs_);
    job.queue = "q";
    job.gang.sets.resize(1);
    model::PodShape& pod = job.gang.sets[0].pod;
    pod.requests = {.cpu = {4'000}, .memory = {memory}, .extended = {}};
    pod.gpu.count = gpus;
    pod.gpu.each = {each};
    pod.gpu_types = std::move(types);
    tell(model::JobSubmitted{job, static_cast<std::uint64_t>(jobs_)});
    return world.shapes[world.job(world.find_job(job.id)).shape].sets[0].pod;
  }

  NodeCost cost(NodeChoice choice, const std::string& name, PodShapeId pod, std::uint16_t each) {
    world.fleet.settle(world.shapes);
    const ClusterId east = world.fleet.find_cluster("east");
    const Node& node = world.fleet.node(world.fleet.find_node(east, name));
    return node_cost(choice, model, world.fleet, world.fleet.node_class(node.cls),
                     world.shapes.pod(pod), each, 7);
  }

  static std::int64_t gib(std::int64_t n) { return n << 30; }

  World world;
  Policy policy;
  CostModel model;

 private:
  int jobs_ = 0;
};

TEST_F(NodeCostTest, ModelOfAnEmptyFleetIsMadeAndThenMadeAgainFromNothing) {
  const PodShapeId pod = ask(1, 500);
  make_model(model, world, Time{0});
  EXPECT_TRUE(model.made);
  see("n1", 8, "A100");
  for (const NodeChoice choice : every_choice) {
    EXPECT_EQ(cost(choice, "n1", pod, 500).device, 1000);
  }
  EXPECT_TRUE(needs_model(model, world, Time{0}));
  make_model(model, world, Time{0});
  EXPECT_FALSE(needs_model(model, world, Time{0}));
  CostModel fresh;
  make_model(fresh, world, Time{0});
  ASSERT_EQ(model.mix.kinds.size(), 1u);
  EXPECT_EQ(model.mix.kinds[0].price, fresh.mix.kinds[0].price);
}

TEST_F(NodeCostTest, ModelIsDueWhenDemandHasGrownByMoreThanAQuarter) {
  see("n1", 8, "A100");
  for (int i = 0; i < 4; ++i) ask(1, 500);
  make_model(model, world, Time{0});
  ask(1, 500);
  EXPECT_FALSE(needs_model(model, world, Time{0}));
  ask(1, 500);
  EXPECT_TRUE(needs_model(model, world, Time{0}));
}

TEST_F(NodeCostTest, ModelOfALargeFleetIsLeftAloneForAMinute) {
  for (int i = 0; i < 257; ++i) see("n" + std::to_string(i), 8, "A100");
  make_model(model, world, Time{0});
  ask(1, 500);
  EXPECT_FALSE(needs_model(model, world, Time{59'999}));
  EXPECT_TRUE(needs_model(model, world, Time{60'000}));
}

TEST_F(NodeCostTest, WithoutAnyModelEveryChoiceAnswers) {
  const PodShapeId pod = ask(1, 500);
  see("n1", 2, "A100");
  for (const NodeChoice choice : every_choice) {
    EXPECT_EQ(cost(choice, "n1", pod, 500).device, 1000);
  }
}

TEST_F(NodeCostTest, CpuNodeCostsACpuPodNothing) {
  const PodShapeId pod = ask(0, 1000);
  ask(1, 1000);
  see("cpu", 0, "", 8'000);
  see("gpu", 8, "A100", 8'000);
  make_model(model, world, Time{0});
  EXPECT_EQ(cost(NodeChoice::Worth, "cpu", pod, 0).cost, 0);
  EXPECT_GT(cost(NodeChoice::Worth, "gpu", pod, 0).cost, 0);
  EXPECT_EQ(cost(NodeChoice::Spread, "cpu", pod, 0).device, 0);
}

TEST_F(NodeCostTest, TypeThatJoinsAfterTheModelGetsASaneCost) {
  const PodShapeId any = ask(1, 1000);
  const PodShapeId picky = ask(1, 1000, {"H100"});
  see("old", 8, "A100");
  make_model(model, world, Time{0});
  see("new", 8, "H100");
  // The type was unknown when the model was made: it is worth what pods of any type bring.
  EXPECT_EQ(cost(NodeChoice::Worth, "new", any, 1000).cost,
            cost(NodeChoice::Worth, "old", any, 1000).cost);
  EXPECT_GE(cost(NodeChoice::Worth, "new", picky, 1000).cost, 0);
}

TEST_F(NodeCostTest, OvercommittedNodeCountsAsFull) {
  const PodShapeId pod = ask(0, 1000);
  ask(1, 1000);
  see("n1", 8, "A100", 8'000);
  model::ForeignPod other;
  other.uid = "u1";
  other.node = "n1";
  other.requests = {.cpu = {90'000}, .memory = {gib(900)}, .extended = {}};
  tell(model::ForeignPodSeen{"east", other});
  make_model(model, world, Time{0});
  for (const NodeChoice choice : every_choice) {
    if (choice == NodeChoice::Spread || choice == NodeChoice::Random) continue;
    EXPECT_GE(cost(choice, "n1", pod, 0).cost, 0);
  }
}

TEST_F(NodeCostTest, MoreTypesThanModelsShareTheLast) {
  std::vector<PodShapeId> pods;
  for (int i = 0; i < 80; ++i) {
    const std::string type = "type" + std::to_string(i);
    see("n" + std::to_string(i), 4, type);
    pods.push_back(ask(1, 500, {type}));
  }
  make_model(model, world, Time{0});
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const std::string name = "n" + std::to_string(i);
    EXPECT_EQ(cost(NodeChoice::Worth, name, pods[i], 500).device, 1000) << name;
  }
}

TEST_F(NodeCostTest, ShareGetsADeviceThatHasRoomWhateverTheRounding) {
  // Half a MiB free and half a MiB asked: rounded, it would not fit.
  const PodShapeId pod = ask(1, 300, {}, 1 << 19);
  see("n1", 2, "A100", 96'000, 1 << 19);
  const ClusterId east = world.fleet.find_cluster("east");
  PodOn share;
  share.pod = ask(1, 600, {}, 0);
  share.node = world.fleet.find_node(east, "n1");
  share.each = 600;
  share.devices = 0b01;
  world.fleet.occupy(share, world.shapes);
  share.devices = 0b10;
  share.each = 650;
  world.fleet.occupy(share, world.shapes);
  make_model(model, world, Time{0});
  for (const NodeChoice choice : every_choice) {
    const int device = cost(choice, "n1", pod, 300).device;
    EXPECT_TRUE(device == 400 || device == 350) << device;
  }
}

TEST_F(NodeCostTest, HugeAmountsAreCapped) {
  const PodShapeId pod = ask(1, 500, {}, std::int64_t{1} << 54);
  see("n1", 8, "A100", std::int64_t{1} << 54, std::int64_t{1} << 54);
  make_model(model, world, Time{0});
  for (const NodeChoice choice : every_choice) {
    EXPECT_EQ(cost(choice, "n1", pod, 500).device, 1000);
  }
}

TEST_F(NodeCostTest, SpreadPrefersTheEmptierNode) {
  const PodShapeId pod = ask(1, 1000);
  see("small", 2, "A100");
  see("large", 8, "A100");
  EXPECT_LT(cost(NodeChoice::Spread, "large", pod, 1000).cost,
            cost(NodeChoice::Spread, "small", pod, 1000).cost);
}

}  // namespace
}  // namespace muster::sched
