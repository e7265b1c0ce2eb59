#include "clusters/kubernetes/node_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace muster::clusters {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

PodUse use_of(std::string_view spec, std::string_view status = "{}") {
  return pod_use_of(boost::json::parse(std::string(R"({"spec":)") + std::string(spec) +
                                       R"(,"status":)" + std::string(status) + "}"),
                    GpuNaming());
}

constexpr const char* gpu_node = R"({
  "metadata":{"name":"n1","labels":{"nvidia.com/gpu.product":"NVIDIA-A100-SXM4-80GB",
    "nvidia.com/gpu.memory":"81920","zone":"a"}},
  "spec":{"unschedulable":true,"taints":[
    {"key":"gpu","value":"yes","effect":"NoSchedule"},{"key":"x","effect":"Strange"}]},
  "status":{"allocatable":{"cpu":"95500m","memory":"512Gi","pods":"250","nvidia.com/gpu":"8",
      "rdma/hca":"4","hugepages-2Mi":"0","strange":"many"},
    "conditions":[{"type":"MemoryPressure","status":"False"},{"type":"Ready","status":"True"}]}})";

TEST(KubernetesNode, BecomesANodeOfTheModel) {
  GpuNaming naming;
  naming.aliases = {{"NVIDIA-A100", "A100"}, {"NVIDIA", "other"}};
  const auto node = node_spec_of(boost::json::parse(gpu_node), naming);
  EXPECT_EQ(node.name, "n1");
  EXPECT_EQ(node.allocatable.cpu.v, 95'500);
  EXPECT_EQ(node.allocatable.memory.v, std::int64_t{512} << 30);
  EXPECT_THAT(node.allocatable.extended, ElementsAre(Pair("rdma/hca", 4)));
  EXPECT_EQ(node.pods_max, 250);
  EXPECT_EQ(node.gpu_count, 8);
  EXPECT_EQ(node.gpu_type, "A100");
  EXPECT_EQ(node.gpu_memory.v, std::int64_t{80} << 30);
  EXPECT_TRUE(node.ready);
  EXPECT_TRUE(node.cordoned);
  ASSERT_EQ(node.taints.size(), 1U);
  EXPECT_EQ(node.taints[0].key, "gpu");
}

TEST(KubernetesNode, WithoutAnAliasTheLabelIsTheType) {
  EXPECT_EQ(node_spec_of(boost::json::parse(gpu_node), GpuNaming()).gpu_type,
            "NVIDIA-A100-SXM4-80GB");
}

TEST(KubernetesNode, OneThatSaysNothingIsNotReadyAndHasNothing) {
  const auto node = node_spec_of(boost::json::parse(R"({"metadata":{"name":"n"}})"), GpuNaming());
  EXPECT_FALSE(node.ready);
  EXPECT_EQ(node.gpu_count, 0);
  EXPECT_EQ(node.gpu_type, "");
  EXPECT_EQ(node.allocatable.cpu.v, 0);
}

TEST(KubernetesPod, ContainersAreSummedAndALimitAloneIsARequest) {
  const PodUse use = use_of(R"({"containers":[
    {"name":"a","resources":{"requests":{"cpu":"500m","memory":"1Gi"},"limits":{"cpu":"2"}}},
    {"name":"b","resources":{"limits":{"cpu":1,"nvidia.com/gpu":"2"}}}]})");
  EXPECT_EQ(use.requests.cpu.v, 1500);
  EXPECT_EQ(use.requests.memory.v, 1 << 30);
  EXPECT_EQ(use.gpus, 2);
}

TEST(KubernetesPod, TheLargestInitContainerCountsWhenItIsMore) {
  const PodUse use = use_of(R"({
    "containers":[{"name":"a","resources":{"requests":{"cpu":"1","memory":"2Gi"}}}],
    "initContainers":[{"name":"i","resources":{"requests":{"cpu":"4","memory":"1Gi"}}},
                      {"name":"j","resources":{"requests":{"cpu":"3"}}}]})");
  EXPECT_EQ(use.requests.cpu.v, 4000);
  EXPECT_EQ(use.requests.memory.v, std::int64_t{2} << 30);
}

TEST(KubernetesPod, SidecarsStayAndCountWithBothSides) {
  // The second init container runs beside the sidecar: 1 + 5. In the end 2 + 1 run.
  const PodUse use = use_of(R"({
    "containers":[{"name":"a","resources":{"requests":{"cpu":"2"}}}],
    "initContainers":[{"name":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},
                      {"name":"i","resources":{"requests":{"cpu":"5"}}}]})");
  EXPECT_EQ(use.requests.cpu.v, 6000);
  const PodUse early = use_of(R"({
    "containers":[{"name":"a","resources":{"requests":{"cpu":"2"}}}],
    "initContainers":[{"name":"i","resources":{"requests":{"cpu":"2500m"}}},
                      {"name":"s","restartPolicy":"Always",
                       "resources":{"requests":{"cpu":"1"}}}]})");
  EXPECT_EQ(early.requests.cpu.v, 3000) << "the init container was over before the sidecar began";
}

TEST(KubernetesPod, OverheadIsAddedAndPodLevelRequestsReplaceTheSum) {
  const PodUse use = use_of(R"({
    "overhead":{"cpu":"250m","memory":"64Mi"},"resources":{"requests":{"cpu":"3"}},
    "containers":[{"name":"a","resources":{"requests":{"cpu":"1","memory":"1Gi"}}}]})");
  EXPECT_EQ(use.requests.cpu.v, 3250);
  EXPECT_EQ(use.requests.memory.v, (std::int64_t{1} << 30) + (64 << 20));
}

TEST(KubernetesPod, WhileItShrinksTheNodesAllocationCounts) {
  const PodUse use = use_of(R"({"containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}]})",
                            R"({"containerStatuses":[{"name":"a",
                                "allocatedResources":{"cpu":"2"}}]})");
  EXPECT_EQ(use.requests.cpu.v, 2000);
}

TEST(KubernetesPod, WhileItShrinksWhatItsContainerStillHasCounts) {
  const PodUse use = use_of(R"({"containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}]})",
                            R"({"containerStatuses":[{"name":"a","allocatedResources":{"cpu":"1"},
                                "resources":{"requests":{"cpu":"3"}}}]})");
  EXPECT_EQ(use.requests.cpu.v, 3000);
}

TEST(KubernetesPod, APodLevelLimitIsARequestWhereNothingElseIs) {
  const PodUse use = use_of(R"({"resources":{"limits":{"cpu":"3","memory":"4Gi"}},
    "containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}]})");
  EXPECT_EQ(use.requests.cpu.v, 1000) << "what containers ask for goes before";
  EXPECT_EQ(use.requests.memory.v, std::int64_t{4} << 30);
}

TEST(KubernetesPod, OnlyBoundPodsThatHaveNotEndedTakeRoom) {
  const auto foreign = [](std::string_view text) {
    return foreign_pod_of(boost::json::parse(text), GpuNaming()).has_value();
  };
  EXPECT_FALSE(foreign(R"({"spec":{},"status":{"phase":"Pending"}})"));
  EXPECT_TRUE(foreign(R"({"spec":{"nodeName":"n"},"status":{"phase":"Pending"}})"));
  EXPECT_TRUE(foreign(R"({"spec":{"nodeName":"n"},"status":{"phase":"Unknown"}})"));
  EXPECT_FALSE(foreign(R"({"spec":{"nodeName":"n"},"status":{"phase":"Succeeded"}})"));
}

TEST(KubernetesPod, PortsOfTheHostAreKnown) {
  const auto pod = foreign_pod_of(
      boost::json::parse(R"({"metadata":{"uid":"u","labels":{"a":"b"}},"spec":{"nodeName":"n",
        "containers":[{"name":"c","ports":[{"hostPort":80,"containerPort":8080},
                                           {"containerPort":9090}]}]}})"),
      GpuNaming());
  ASSERT_TRUE(pod.has_value());
  EXPECT_EQ(pod->uid, "u");
  EXPECT_THAT(pod->host_ports, ElementsAre(80));
}

}  // namespace
}  // namespace muster::clusters
