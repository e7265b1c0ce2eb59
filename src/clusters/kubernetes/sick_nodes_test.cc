#include "clusters/kubernetes/sick_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace muster::clusters {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

PodSight pod(const std::string& node, const std::string& device) {
  PodSight sight;
  sight.node = node;
  sight.phase = "Running";
  if (!device.empty()) sight.devices = {device};
  return sight;
}

TEST(SickNodes, AreThoseWithTheLabelOnWhichAPodRunsThatAsksForTheResource) {
  const std::vector<model::NodeMark> marks = {{"gpu", "health", "EVICT"}};
  std::map<std::string, std::set<std::string>> labelled = {{"health=EVICT", {"bad", "worse"}}};
  const auto nodes_with = [&](const std::string& label,
                              const std::string& value) -> const std::set<std::string>& {
    return labelled[label + "=" + value];
  };
  const auto sick = [&](const std::vector<PodSight>& pods) {
    return sick_nodes_of(marks, pods, nodes_with);
  };
  EXPECT_THAT(sick({pod("good", "gpu"), pod("bad", "gpu"), pod("bad", "gpu")}), ElementsAre("bad"));
  EXPECT_THAT(sick({pod("good", "gpu"), pod("bad", "")}), IsEmpty()) << "it asks for no GPU";
  PodSight ended = pod("bad", "gpu");
  ended.phase = "Succeeded";
  PodSight leaving = pod("worse", "gpu");
  leaving.is_deleting = true;
  EXPECT_THAT(sick({ended, leaving}), IsEmpty());
  EXPECT_THAT(sick_nodes_of({}, {pod("bad", "gpu")}, nodes_with), IsEmpty());
  EXPECT_EQ(sick_reason({"a", "b"}),
            "Workload contains pods using NoExecute resources on Nodes: a, b");
}

}  // namespace
}  // namespace muster::clusters
