#include "work/wrapped/node_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "kube/yaml.h"

namespace muster::work {
namespace {

using ::testing::ElementsAre;

/// The affinity of a pod template after it was kept away.
std::string affinity_of(const std::string& spec,
                        const std::vector<model::NodeHealth>& health = autopilot_health()) {
  boost::json::value pod = kube::parse_yaml("{spec: " + spec + "}")->at(0);
  keep_from_sick_nodes(pod, health);
  const auto* affinity = pod.at("spec").as_object().if_contains("affinity");
  return affinity == nullptr ? "" : boost::json::serialize(*affinity);
}

constexpr const char* away =
    R"({"key":"autopilot.ibm.com/gpuhealth","operator":"NotIn","values":["TESTING","EVICT"]})";
constexpr const char* rather_not =
    R"({"weight":50,"preference":{"matchExpressions":[{"key":"autopilot.ibm.com/gpuhealth",)"
    R"("operator":"NotIn","values":["WARN"]}]}})";

std::string affinity(const std::string& terms, const std::string& preferred) {
  return R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
         R"({"nodeSelectorTerms":[)" +
         terms + R"(]},"preferredDuringSchedulingIgnoredDuringExecution":[)" + preferred + "]}}";
}

TEST(NodeHealth, PodsWithGpusKeepAwayFromNodesThatAutopilotMarked) {
  const std::string expected =
      affinity(std::string(R"({"matchExpressions":[)") + away + "]}", rather_not);
  for (const char* resources :
       {"{limits: {nvidia.com/gpu: 1}}", "{requests: {nvidia.com/gpu: '2'}}"}) {
    EXPECT_EQ(affinity_of(std::string("{containers: [{name: a}, {name: b, resources: ") +
                          resources + "}]}"),
              expected)
        << resources;
    EXPECT_EQ(affinity_of(std::string("{initContainers: [{name: a, resources: ") + resources +
                          "}], containers: [{name: b}]}"),
              expected)
        << resources;
  }
}

TEST(NodeHealth, OthersAndThoseThatAreToldNothingStayAsTheyAre) {
  EXPECT_EQ(affinity_of("{containers: [{name: a, resources: {limits: {cpu: 1}}}]}"), "");
  EXPECT_EQ(affinity_of("{containers: [{name: a, resources: {limits: {nvidia.com/gpu: 0}}}]}"), "");
  EXPECT_EQ(affinity_of("{containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1}}}]}", {}),
            "");
}

TEST(NodeHealth, WhatATemplateAsksOfItsNodesHoldsToo) {
  EXPECT_EQ(
      affinity_of(
          "{containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1}}}], affinity: "
          "{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
          "[{matchExpressions: [{key: zone, operator: Exists}]}, {matchFields: [{key: "
          "metadata.name, operator: In, values: [n]}]}]}, "
          "preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {}}]}}}"),
      affinity(std::string(R"({"matchExpressions":[{"key":"zone","operator":"Exists"},)") + away +
                   R"(]},{"matchFields":[{"key":"metadata.name","operator":"In",)"
                   R"("values":["n"]}],"matchExpressions":[)" +
                   away + "]}",
               std::string(R"({"weight":1,"preference":{}},)") + rather_not));
}

TEST(NodeHealth, OnlyEvictingValuesTakePodsAway) {
  EXPECT_THAT(
      evicting_marks(autopilot_health()),
      ElementsAre(model::NodeMark{"nvidia.com/gpu", "autopilot.ibm.com/gpuhealth", "EVICT"}));
}

}  // namespace
}  // namespace muster::work
