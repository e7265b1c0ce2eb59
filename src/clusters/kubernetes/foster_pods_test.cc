#include "clusters/kubernetes/foster_pods.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kube/yaml.h"

namespace muster::clusters {
namespace {

boost::json::value yaml(const std::string& text) {
  const auto read = kube::parse_yaml(text);
  EXPECT_TRUE(read.ok()) << text;
  return read->at(0);
}

TEST(FosterPods, GetTheMarksOfTheAttemptThatTookTheirObjectOver) {
  const auto marks = foster_marks(
      yaml("{kind: Deployment, metadata: {name: d, uid: u, labels: {app: x, muster.dev/job: j, "
           "muster.dev/attempt: '1', muster.dev/server: s, muster.dev/set: main}, annotations: "
           "{muster.dev/adopted: u, muster.dev/job-id: j, muster.dev/workloads: '1', "
           "muster.dev/makes-pods: 'true', other: y}}}"));
  ASSERT_TRUE(marks.has_value());
  EXPECT_EQ(*marks, yaml("{labels: {muster.dev/job: j, muster.dev/attempt: '1', muster.dev/server: "
                         "s, muster.dev/adopting: null}, annotations: {muster.dev/job-id: j, "
                         "muster.dev/workloads: '1'}}"));
}

TEST(FosterPods, WhatMusterMadeItselfMarksItsPodsItself) {
  EXPECT_FALSE(foster_marks(yaml("{metadata: {name: d, labels: {muster.dev/job: j}}}")));
  EXPECT_FALSE(foster_marks(yaml("{metadata: {name: d}}")));
}

TEST(FosterPods, AReplicaSetThatRepeatsTheAnnotationsOfItsDeploymentSaysNothing) {
  EXPECT_FALSE(foster_marks(yaml(
      "{metadata: {name: d-1, labels: {app: x}, annotations: {muster.dev/adopted: 'true'}}}")));
  EXPECT_FALSE(foster_marks(
      yaml("{metadata: {name: d-1, uid: of-replica-set, labels: {app: x, muster.dev/job: j, "
           "muster.dev/server: that-made-it}, annotations: {muster.dev/adopted: "
           "of-deployment}}}")));
}

TEST(FosterPods, WhatAnEarlierVersionTookOverCountsToo) {
  EXPECT_TRUE(
      foster_marks(yaml("{metadata: {name: d, uid: u, labels: {muster.dev/job: j}, annotations: "
                        "{muster.dev/adopted: 'true'}}}")));
}

TEST(FosterPods, WhatCannotBeFoundOutIsAskedForWithPausesThatGrowToAMinute) {
  MissedPause pause;
  EXPECT_FALSE(pause.is_due(false, Time{1000}));
  std::vector<std::int64_t> times;
  for (std::int64_t s = 2; s < 240; ++s) {
    if (pause.is_due(true, Time{s * 1000})) times.push_back(s);
  }
  EXPECT_EQ(times, (std::vector<std::int64_t>{2, 7, 17, 37, 77, 137, 197}));
  EXPECT_FALSE(pause.is_due(false, Time{256'000})) << "the answers may still be to come";
  EXPECT_FALSE(pause.is_due(false, Time{257'000}));
  EXPECT_TRUE(pause.is_due(true, Time{258'000}));
  EXPECT_TRUE(pause.is_due(true, Time{263'000})) << "it was well in between";
}

}  // namespace
}  // namespace muster::clusters
