#include "clusters/kubernetes/aggregate_node.h"

#include <gtest/gtest.h>

namespace muster::clusters {
namespace {

model::NodeSpec node(const std::string& name, std::int64_t cores, int gpus) {
  model::NodeSpec spec;
  spec.name = name;
  spec.allocatable.cpu = {cores * 1000};
  spec.allocatable.memory = {std::int64_t{1} << 30};
  spec.gpu_count = gpus;
  spec.gpu_type = gpus > 0 ? "A100" : "";
  return spec;
}

TEST(AggregateNode, IsWhatAllNodesHaveTogether) {
  AggregateNode all;
  all.put(node("a", 8, 40));
  all.put(node("b", 4, 2));
  const model::NodeSpec sum = all.sum();
  EXPECT_EQ(sum.name, aggregate_name);
  EXPECT_EQ(sum.allocatable.cpu.v, 12'000);
  EXPECT_EQ(sum.allocatable.memory.v, std::int64_t{2} << 30);
  EXPECT_EQ(sum.allocatable.extended.at(aggregate_gpu), 42);
  EXPECT_EQ(sum.gpu_count, 0) << "GPUs are an amount there";
  EXPECT_EQ(sum.pods_max, 220);
  EXPECT_TRUE(sum.ready);
}

TEST(AggregateNode, NodesThatTakeNoPodsCountForNothing) {
  AggregateNode all;
  all.put(node("a", 8, 0));
  model::NodeSpec cordoned = node("b", 4, 0);
  cordoned.cordoned = true;
  model::NodeSpec sick = node("c", 4, 0);
  sick.ready = false;
  model::NodeSpec tainted = node("d", 4, 0);
  tainted.taints.push_back({"k", "v", model::TaintEffect::NoSchedule});
  for (const model::NodeSpec& one : {cordoned, sick, tainted}) all.put(one);
  EXPECT_EQ(all.sum().allocatable.cpu.v, 8'000);
  cordoned.cordoned = false;
  all.put(cordoned);
  EXPECT_EQ(all.sum().allocatable.cpu.v, 12'000);
  cordoned.cordoned = true;
  all.put(cordoned);
  all.remove("a");
  EXPECT_FALSE(all.sum().ready) << "no node is left";
}

TEST(AggregateNode, PodsOfOthersTakeFromTheSum) {
  model::ForeignPod pod;
  pod.uid = "u";
  pod.node = "a";
  pod.gpus = 3;
  pod.host_ports = {80};
  const model::ForeignPod counted = aggregate_pod(pod);
  EXPECT_EQ(counted.node, aggregate_name);
  EXPECT_EQ(counted.gpus, 0);
  EXPECT_EQ(counted.requests.extended.at(aggregate_gpu), 3);
  EXPECT_TRUE(counted.host_ports.empty()) << "two nodes may both have it";
}

}  // namespace
}  // namespace muster::clusters
