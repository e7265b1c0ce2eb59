#include "view/fleet_json.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace muster::view {
namespace {

namespace json = boost::json;
using namespace sched;  // NOLINT: the engine's words are what is tested

/// Clusters a (n1 to n3; n1, n3 in zone x) and b (m1). A job of half a GPU runs on a's n1.
struct FleetJson : testing::Test {
  World world;
  Policy policy;
  Time now = Time{0} + hours(1);

  FleetJson() {
    tell(model::ClusterSet{{"b", {}, {}, minutes(5)}});
    tell(model::ClusterSet{{"a", {}, {}, minutes(5)}});
    for (const std::string name : {"n3", "n1", "n2"}) {
      model::NodeSpec node = node_of(name);
      node.labels["zone"] = name == "n2" ? "y" : "x";
      if (name == "n3") node.cordoned = true;
      if (name == "n1") node.taints = {{"gpu", "yes", model::TaintEffect::NoSchedule}};
      tell(model::NodeSeen{"a", node});
    }
    tell(model::NodeSeen{"b", node_of("m1")});
    tell(model::PoolSet{{"x", "a", {{"zone", "x"}}, {{"gpu", false, "yes", "NoSchedule"}}}});
    tell(model::PoolSet{{"all", "a", {}, {}}});
    tell(model::PoolSet{{"other", "b", {}, {}}});
    tell(model::FleetPoolSet{{"wide", {"x", "all", "other"}}});
    model::QueueSpec queue;
    queue.name = "q";
    tell(model::QueueSet{queue});
    model::JobSpec job;
    job.id = "runs";
    job.queue = "q";
    model::PodSet set;
    set.pod.requests.cpu = {1500};
    set.pod.requests.extended["rdma/hca"] = 1;
    set.pod.gpu = {1, {500}, {0}};
    job.gang.sets.push_back(set);
    tell(model::JobSubmitted{job, 1});
    tell(model::Placed{"runs", 1, "a", "", {{0, "n1", "A100", 1, 500}}});
    world.fleet.settle(world.shapes);
  }
  static model::NodeSpec node_of(const std::string& name) {
    model::NodeSpec node;
    node.name = name;
    node.allocatable.cpu = {64'000};
    node.allocatable.memory = {std::int64_t{256} << 30};
    node.allocatable.extended["rdma/hca"] = 1;
    node.gpu_count = 8;
    node.gpu_type = "A100";
    return node;
  }
  void tell(model::EventBody body) { apply(world, {now, std::move(body)}, policy); }
  static NodeAsk ask(const std::string& cluster, const std::string& pool = "",
                     const std::string& cursor = "") {
    return {cluster, pool, cursor, 100};
  }
  json::object page(const NodeAsk& ask) const {
    const auto text = nodes_json(world, ask);
    EXPECT_TRUE(text) << text.error().message;
    return text ? json::parse(*text).as_object() : json::object();
  }
  static std::vector<std::string> names(const json::object& page) {
    std::vector<std::string> list;
    for (const json::value& node : page.at("nodes").as_array())
      list.push_back(json::value_to<std::string>(node.at("cluster")) + "/" +
                     json::value_to<std::string>(node.at("name")));
    return list;
  }
  using Names = std::vector<std::string>;
};

TEST_F(FleetJson, ANodeSaysWhatItHasAndWhatIsUsed) {
  const json::object n1 = json::parse(*node_json(world, "a", "n1")).as_object();
  EXPECT_EQ(n1.at("usable"), true);
  EXPECT_EQ(n1.at("labels").at("zone"), "x");
  EXPECT_EQ(n1.at("taints"), (json::array{"gpu=yes:NoSchedule"}));
  EXPECT_EQ(n1.at("allocatable").at("cpu"), "64");
  EXPECT_EQ(n1.at("allocatable").at("memory"), "256Gi");
  EXPECT_EQ(n1.at("allocatable").at("gpu.A100"), "8");
  EXPECT_EQ(n1.at("used").at("cpu"), "1500m");
  EXPECT_EQ(n1.at("used").at("gpu.A100"), "500m");
  EXPECT_EQ(n1.at("used").at("rdma/hca"), "1");
  EXPECT_EQ(n1.at("gpus_idle"), "7500m");
  EXPECT_EQ(n1.at("pods"), 1);
  EXPECT_EQ(n1.at("jobs"), (json::array{"runs"}));
  const json::object n3 = json::parse(*node_json(world, "a", "n3")).as_object();
  EXPECT_EQ(n3.at("cordoned"), true);
  EXPECT_EQ(n3.at("usable"), false);
  EXPECT_EQ(n3.at("used").at("rdma/hca"), "0");
}

TEST_F(FleetJson, WhatIsNotThereIsNotFound) {
  for (const auto& result : {node_json(world, "c", "n1"), node_json(world, "a", "m1"),
                             pool_json(world, "wide"), fleet_pool_json(world, "x"),
                             nodes_json(world, ask("c")), nodes_json(world, ask("", "wide"))}) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().fault, Fault::NotFound);
  }
  tell(model::NodeGone{"a", "n2"});
  EXPECT_FALSE(node_json(world, "a", "n2"));
}

TEST_F(FleetJson, PagesGoOnWhereTheOneBeforeEnded) {
  EXPECT_EQ(names(page({})), (Names{"a/n1", "a/n2", "a/n3", "b/m1"}));
  EXPECT_TRUE(page({}).at("next").is_null());
  NodeAsk two;
  two.limit = 2;
  const json::object first = page(two);
  EXPECT_EQ(names(first), (Names{"a/n1", "a/n2"}));
  two.cursor = json::value_to<std::string>(first.at("next"));
  // Nodes that come and go between two pages neither repeat nor hide others.
  tell(model::NodeGone{"a", "n2"});
  model::NodeSpec early = node_of("n0");
  tell(model::NodeSeen{"a", early});
  world.fleet.settle(world.shapes);
  const json::object second = page(two);
  EXPECT_EQ(names(second), (Names{"a/n3", "b/m1"}));
  EXPECT_TRUE(second.at("next").is_null());
}

TEST_F(FleetJson, PagesAreFilteredByClusterAndPool) {
  EXPECT_EQ(names(page(ask("b"))), (Names{"b/m1"}));
  EXPECT_EQ(names(page(ask("", "x"))), (Names{"a/n1", "a/n3"}));
  EXPECT_EQ(names(page(ask("b", "x"))), Names{});
  EXPECT_EQ(names(page(ask("", "", "nonsense"))), Names{});
}

TEST_F(FleetJson, APoolCountsTheNodesItSelects) {
  const json::object x = json::parse(*pool_json(world, "x")).as_object();
  EXPECT_EQ(x.at("cluster"), "a");
  EXPECT_EQ(x.at("node_selector").at("zone"), "x");
  EXPECT_EQ(x.at("tolerations"), (json::array{"gpu=yes:NoSchedule"}));
  EXPECT_EQ(x.at("nodes"), 2);
  EXPECT_EQ(x.at("nodes_usable"), 1);
  EXPECT_EQ(x.at("jobs"), 1);
  EXPECT_EQ(x.at("gpus").at("A100").at("total"), 16);
  EXPECT_EQ(x.at("gpus").at("A100").at("idle"), "7500m");
}

TEST_F(FleetJson, AFleetPoolCountsEachNodeOnce) {
  const json::object wide = json::parse(*fleet_pool_json(world, "wide")).as_object();
  EXPECT_EQ(wide.at("pools"), (json::array{"x", "all", "other"}));
  EXPECT_EQ(wide.at("nodes"), 4);
  EXPECT_EQ(wide.at("nodes_usable"), 3);
  EXPECT_EQ(wide.at("gpus").at("A100").at("total"), 32);
}

TEST_F(FleetJson, TaintsAndTolerationsAreShort) {
  EXPECT_EQ(taint_text({"k", "", model::TaintEffect::NoExecute}), "k:NoExecute");
  EXPECT_EQ(toleration_text({"", true, "", ""}), "everything");
  EXPECT_EQ(toleration_text({"k", true, "", "NoExecute"}), "k:NoExecute");
  EXPECT_EQ(toleration_text({"k", false, "v", ""}), "k=v");
}

}  // namespace
}  // namespace muster::view
