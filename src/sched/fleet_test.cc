#include "sched/fleet.h"

#include <gtest/gtest.h>

#include "sched/testing/site.h"

namespace muster::sched {
namespace {

using testing::node_spec;
using testing::Site;

model::ForeignPod foreign_pod(const std::string& uid, const std::string& node, int gpus,
                              std::int64_t cpu = 0) {
  model::ForeignPod pod;
  pod.uid = uid;
  pod.node = node;
  pod.gpus = gpus;
  pod.requests.cpu = {cpu};
  return pod;
}

/// One cluster "a" and pods put on its nodes by hand.
struct Yard : Site {
  PodShapeId pod;

  Yard() {
    cluster("a");
    queue("q");
    submit(testing::job_spec("job", "q", 1, 1));
    pod = world.shapes[job("job").shape].sets[0].pod;
  }
  Fleet& fleet() { return world.fleet; }
  NodeId id(const std::string& name) { return fleet().find_node(cluster_id("a"), name); }
  const Node& at(const std::string& name) { return fleet().node(id(name)); }
  PodOn on(const std::string& name, std::uint32_t devices, std::uint16_t each = 1000) {
    return {world.find_job("job"), 0, pod, id(name), devices, each};
  }
  void expect_sound() {
    // Pods put by hand belong to no active job: only the fleet's own sums are looked at.
    for (std::size_t i = 0; i < fleet().node_count(); ++i) {
      const Node& node = fleet().node(NodeId{static_cast<std::uint32_t>(i)});
      EXPECT_EQ(fleet().usable(node), !node.cls.is_none()) << node.spec.name;
    }
  }
};

TEST(Fleet, EqualNodesAreOneClass) {
  Yard yard;
  for (const char* name : {"n1", "n2", "n3"}) yard.node("a", node_spec(name, 8));
  yard.node("a", node_spec("n4", 4));
  yard.fleet().settle(yard.world.shapes);
  EXPECT_EQ(yard.at("n1").cls, yard.at("n2").cls);
  EXPECT_EQ(yard.at("n1").cls, yard.at("n3").cls);
  EXPECT_NE(yard.at("n1").cls, yard.at("n4").cls);
  EXPECT_EQ(yard.fleet().class_count(), 2u);
  EXPECT_EQ(yard.fleet().node_class(yard.at("n1").cls).size, 3u);
}

TEST(Fleet, NodesThatDifferInAnythingLookedAtAreNot) {
  const std::vector<std::function<void(model::NodeSpec&)>> changes = {
      [](auto& n) { n.gpu_count = 4; },
      [](auto& n) { n.gpu_type = "H100"; },
      [](auto& n) { n.gpu_memory = {1}; },
      [](auto& n) { n.allocatable.cpu = {1000}; },
      [](auto& n) { n.allocatable.memory = {1}; },
      [](auto& n) { n.pods_max = 3; },
      [](auto& n) { n.taints.push_back({"key", "value", model::TaintEffect::NoSchedule}); },
      [](auto& n) { n.allocatable.extended["nic"] = 1; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Yard yard;
    yard.node("a", node_spec("n1", 8));
    model::NodeSpec other = node_spec("n2", 8);
    changes[i](other);
    yard.node("a", other);
    EXPECT_NE(yard.at("n1").cls, yard.at("n2").cls) << "change " << i;
  }
}

TEST(Fleet, OnlyLabelsThatSomebodyAskedAboutCount) {
  Yard yard;
  model::NodeSpec x = node_spec("x", 8);
  x.labels["zone"] = "x";
  model::NodeSpec y = node_spec("y", 8);
  y.labels["zone"] = "y";
  yard.node("a", x);
  yard.node("a", y);
  yard.fleet().settle(yard.world.shapes);
  EXPECT_EQ(yard.at("x").cls, yard.at("y").cls);
  yard.world.shapes.ask_key("zone");
  yard.fleet().settle(yard.world.shapes);
  EXPECT_NE(yard.at("x").cls, yard.at("y").cls);
  EXPECT_EQ(yard.fleet().profile(yard.at("x").profile).labels.at("zone"), "x");
}

TEST(Fleet, RanksFollowNamesNotArrival) {
  Yard yard;
  for (const char* name : {"n3", "n1", "n2"}) yard.node("a", node_spec(name, 8));
  yard.fleet().settle(yard.world.shapes);
  EXPECT_EQ(yard.at("n1").rank, 0u);
  EXPECT_EQ(yard.at("n2").rank, 1u);
  EXPECT_EQ(yard.at("n3").rank, 2u);
  EXPECT_EQ(yard.fleet().first_member(yard.at("n3").cls), yard.id("n1"));
  yard.node("a", node_spec("n0", 8));
  yard.fleet().settle(yard.world.shapes);
  EXPECT_EQ(yard.fleet().first_member(yard.at("n3").cls), yard.id("n0"));
}

TEST(Fleet, OccupyAndVacateAreOpposites) {
  Yard yard;
  yard.node("a", node_spec("n1", 4));
  const Fleet::Totals before = yard.fleet().totals();
  const ClassId cls = yard.at("n1").cls;
  const PodOn half = yard.on("n1", 0b0010, 500);
  const PodOn two = yard.on("n1", 0b1100);
  yard.fleet().occupy(half, yard.world.shapes);
  yard.fleet().occupy(two, yard.world.shapes);
  EXPECT_EQ(yard.at("n1").devices[0], 1000);
  EXPECT_EQ(yard.at("n1").devices[1], 500);
  EXPECT_EQ(yard.at("n1").devices[2], 0);
  EXPECT_EQ(yard.at("n1").cpu, 62'000);
  EXPECT_EQ(yard.at("n1").pod_slots, 108);
  EXPECT_EQ(yard.fleet().totals().idle_gpu_milli, 1500);
  EXPECT_NE(yard.at("n1").cls.is_none(), true);
  yard.fleet().vacate(half, yard.world.shapes);
  yard.fleet().vacate(two, yard.world.shapes);
  EXPECT_EQ(yard.at("n1").devices[1], 1000);
  EXPECT_EQ(yard.at("n1").cpu, 64'000);
  EXPECT_EQ(yard.fleet().totals(), before);
  EXPECT_EQ(yard.fleet().node_class(yard.at("n1").cls).size, 1u);
  (void)cls;
  yard.expect_sound();
}

TEST(Fleet, ForeignPodsUseRoomAndGiveItBack) {
  Yard yard;
  yard.node("a", node_spec("n1", 4));
  yard.apply(model::ForeignPodSeen{"a", foreign_pod("f", "n1", 2, 3000)});
  EXPECT_EQ(yard.at("n1").cpu, 61'000);
  EXPECT_EQ(yard.at("n1").devices[3], 0) << "booked from the last device";
  EXPECT_EQ(yard.at("n1").devices[2], 0);
  EXPECT_EQ(yard.at("n1").devices[1], 1000);
  yard.apply(model::ForeignPodSeen{"a", foreign_pod("f", "n1", 1, 1000)});
  EXPECT_EQ(yard.at("n1").cpu, 63'000) << "the same pod seen again replaces what was known";
  EXPECT_EQ(yard.at("n1").devices[2], 1000);
  yard.apply(model::ForeignPodGone{"a", "f"});
  EXPECT_EQ(yard.at("n1").cpu, 64'000);
  EXPECT_EQ(yard.at("n1").devices[3], 1000);
}

TEST(Fleet, AForeignPodMakesWayAndComesBackInATrial) {
  Yard yard;
  yard.node("a", node_spec("n1", 2));
  const PodOn ours = yard.on("n1", 0b10);
  yard.fleet().occupy(ours, yard.world.shapes);
  yard.apply(model::ForeignPodSeen{"a", foreign_pod("f", "n1", 1)});
  EXPECT_EQ(yard.at("n1").devices[0], 0);
  yard.fleet().vacate(ours, yard.world.shapes);
  yard.fleet().occupy(ours, yard.world.shapes);
  EXPECT_EQ(yard.at("n1").devices[0], 0) << "no device was won by trying";
  EXPECT_EQ(yard.at("n1").devices[1], 0);
}

TEST(Fleet, ForeignPodsMayOvercommit) {
  Yard yard;
  model::NodeSpec small = node_spec("n1", 1);
  small.allocatable.cpu = {1000};
  yard.node("a", small);
  yard.apply(model::ForeignPodSeen{"a", foreign_pod("f", "n1", 3, 5000)});
  EXPECT_EQ(yard.at("n1").cpu, -4000);
  EXPECT_EQ(yard.at("n1").devices[0], 0);
  EXPECT_EQ(check(yard.world), "");
}

TEST(Fleet, ForeignPodsHoldTheGpusThatAreNotPlannedWithFirst) {
  struct Row {
    int told, foreign;
    std::int64_t idle;
  };
  const Row rows[] = {{32, 0, 16}, {32, 16, 16}, {32, 17, 15}, {32, 32, 0},
                      {32, 40, 0}, {20, 16, 4},  {16, 16, 0},  {8, 3, 5}};
  for (const Row& row : rows) {
    Yard yard;
    for (int i = 0; i < row.foreign; ++i)
      yard.apply(model::ForeignPodSeen{"a", foreign_pod("f" + std::to_string(i), "n1", 1)});
    yard.node("a", node_spec("n1", row.told));
    EXPECT_EQ(yard.fleet().totals().idle_gpu_milli, row.idle * 1000)
        << row.foreign << " of " << row.told;
    EXPECT_EQ(check(yard.world), "");
  }
}

TEST(Fleet, TheSameNodeToldAgainIsNoGain) {
  for (const int gpus : {8, 16, 32}) {
    Yard yard;
    yard.node("a", node_spec("n1", gpus));
    yard.fleet().gained().clear();
    yard.node("a", node_spec("n1", gpus));
    EXPECT_TRUE(yard.fleet().gained().empty()) << gpus;
    yard.node("a", node_spec("n1", gpus + 1));
    EXPECT_FALSE(yard.fleet().gained().empty()) << gpus;
  }
}

TEST(Fleet, AForeignPodMovesWithItsUid) {
  Yard yard;
  yard.node("a", node_spec("n1", 2));
  yard.node("a", node_spec("n2", 2));
  yard.apply(model::ForeignPodSeen{"a", foreign_pod("f", "n1", 2)});
  yard.apply(model::ForeignPodSeen{"a", foreign_pod("f", "n2", 2)});
  EXPECT_EQ(yard.at("n1").devices[0], 1000);
  EXPECT_EQ(yard.at("n2").devices[0], 0);
  EXPECT_EQ(check(yard.world), "");
}

TEST(Fleet, UnusableNodesAreInNoClass) {
  struct Row {
    const char* what;
    bool ready, cordoned, gone, hidden;
  };
  const Row rows[] = {{"not ready", false, false, false, false},
                      {"cordoned", true, true, false, false},
                      {"gone", true, false, true, false},
                      {"hidden", true, false, false, true}};
  for (const Row& row : rows) {
    Yard yard;
    model::NodeSpec spec = node_spec("n1", 8);
    yard.node("a", spec);
    EXPECT_EQ(yard.fleet().totals().cpu, 64'000);
    spec.ready = row.ready;
    spec.cordoned = row.cordoned;
    yard.node("a", spec);
    if (row.gone) yard.apply(model::NodeGone{"a", "n1"});
    if (row.hidden) yard.fleet().hide(yard.id("n1"), true);
    EXPECT_TRUE(yard.at("n1").cls.is_none()) << row.what;
    EXPECT_EQ(yard.fleet().totals().cpu, 0) << row.what;
    EXPECT_EQ(yard.fleet().class_count(), 0u) << row.what;
    if (row.hidden) yard.fleet().hide(yard.id("n1"), false);
    yard.node("a", node_spec("n1", 8));
    EXPECT_FALSE(yard.at("n1").cls.is_none()) << row.what;
    EXPECT_EQ(check(yard.world), "") << row.what;
  }
}

TEST(Fleet, ReservedNodesAreCountedApart) {
  Yard yard;
  yard.node("a", node_spec("n1", 8));
  yard.node("a", node_spec("n2", 8));
  const Cluster& cluster = yard.fleet().cluster(yard.cluster_id("a"));
  const std::size_t type = yard.fleet().find_type("A100").index();
  EXPECT_EQ(cluster.unreserved[type][8], 2);
  yard.fleet().reserve(yard.id("n1"), ReservationId{0});
  EXPECT_EQ(cluster.unreserved[type][8], 1);
  EXPECT_EQ(cluster.all[type][8], 2);
  EXPECT_NE(yard.at("n1").cls, yard.at("n2").cls);
  yard.fleet().reserve(yard.id("n1"), ReservationId::none());
  EXPECT_EQ(cluster.unreserved[type][8], 2);
  EXPECT_EQ(yard.at("n1").cls, yard.at("n2").cls);
}

TEST(Fleet, PodsOnAnUnseenNodeWaitForIt) {
  Yard yard;
  const NodeId id = yard.fleet().node_for(yard.cluster_id("a"), "n1");
  PodOn pod = yard.on("n1", 0b1);
  pod.node = id;
  yard.fleet().occupy(pod, yard.world.shapes);
  EXPECT_TRUE(yard.at("n1").cls.is_none());
  yard.node("a", node_spec("n1", 2));
  EXPECT_EQ(yard.at("n1").devices[0], 0);
  EXPECT_EQ(yard.at("n1").cpu, 63'000);
  yard.apply(model::NodeGone{"a", "n1"});
  yard.fleet().vacate(pod, yard.world.shapes);
  EXPECT_EQ(yard.at("n1").cpu, 0);
  yard.node("a", node_spec("n1", 2));
  EXPECT_EQ(yard.at("n1").devices[0], 1000);
}

TEST(Fleet, AClusterThatComesBackHasItsNodes) {
  Yard yard;
  yard.node("a", node_spec("n1", 8));
  yard.apply(model::ClusterLeft{"a"});
  EXPECT_EQ(yard.fleet().class_count(), 0u);
  yard.node("a", node_spec("n1", 8));
  EXPECT_EQ(yard.fleet().class_count(), 0u) << "it has left";
  yard.cluster("a");
  EXPECT_EQ(yard.fleet().class_count(), 1u);
  EXPECT_EQ(check(yard.world), "");
}

TEST(Fleet, GainsAreNodesWithMoreRoom) {
  Yard yard;
  yard.node("a", node_spec("n1", 2));
  yard.fleet().gained().clear();
  const PodOn pod = yard.on("n1", 0b1);
  yard.fleet().occupy(pod, yard.world.shapes);
  EXPECT_TRUE(yard.fleet().gained().empty());
  yard.fleet().vacate(pod, yard.world.shapes);
  EXPECT_FALSE(yard.fleet().gained().empty());
}

}  // namespace
}  // namespace muster::sched
