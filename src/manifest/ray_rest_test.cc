#include "manifest/ray_rest.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "kube/json.h"
#include "kube/yaml.h"

namespace muster::manifest {
namespace {

namespace json = boost::json;

json::value object(const std::string& kind, const std::string& spec,
                   const std::string& status = "") {
  const auto read =
      kube::parse_yaml("{apiVersion: ray.io/v1, kind: " + kind + ", metadata: {name: n}, spec: {" +
                       spec + "}, status: {" + status + "}}");
  EXPECT_TRUE(read.ok());
  return read->at(0);
}

TEST(RayRest, ARayJobRestsOnlyIfItWouldShutItsClusterDown) {
  EXPECT_TRUE(is_told_to_rest(object("RayCluster", "suspend: true")));
  EXPECT_FALSE(is_told_to_rest(object("RayCluster", "suspend: false")));
  EXPECT_FALSE(is_told_to_rest(object("RayCluster", "")));
  EXPECT_FALSE(is_told_to_rest(object("RayJob", "suspend: true"))) << "KubeRay refuses it";
  EXPECT_TRUE(is_told_to_rest(object("RayJob", "suspend: true, shutdownAfterJobFinishes: true")));
  for (const char* kind : {"RayCluster", "RayJob"}) {
    json::value told = object(kind, "rayVersion: '2'");
    tell_to_rest(told);
    EXPECT_TRUE(is_told_to_rest(told)) << kind;
  }
}

TEST(RayRest, SomeRayJobsCannotBeHeld) {
  EXPECT_EQ(why_it_cannot_rest(object("RayCluster", "")), "");
  EXPECT_EQ(why_it_cannot_rest(object("RayJob", "clusterSelector: {}")), "");
  EXPECT_NE(why_it_cannot_rest(object("RayJob", "clusterSelector: {ray.io/cluster: c}")), "");
  EXPECT_NE(why_it_cannot_rest(object("RayJob", "submissionMode: InteractiveMode")), "");
}

TEST(RayRest, WhatAGoProgramLeavesEmptyIsNoChange) {
  const json::value written = object("RayJob", "entrypoint: run, list: [{a: 1}]");
  EXPECT_EQ(asked_of(written),
            asked_of(object("RayJob",
                            "suspend: true, entrypoint: run, list: [{a: 1, metadata: {}, b: {c: "
                            "null}}], groups: []")));
  EXPECT_NE(asked_of(written), asked_of(object("RayJob", "entrypoint: run, list: [{a: 2}]")));
}

TEST(RayRest, TheOperatorSaysWhetherItRests) {
  EXPECT_EQ(rest_of(object("RayCluster", "", "state: suspended")), RayRest::Rests);
  EXPECT_EQ(rest_of(object("RayCluster", "", "state: ready")), RayRest::Busy);
  EXPECT_EQ(rest_of(object("RayCluster", "")), RayRest::Unseen);
  EXPECT_EQ(rest_of(object("RayJob", "", "jobDeploymentStatus: Suspended")), RayRest::Rests);
  EXPECT_EQ(rest_of(object("RayJob", "", "jobDeploymentStatus: Suspending")), RayRest::Busy);
  EXPECT_EQ(rest_of(object("RayJob", "", "jobDeploymentStatus: ''")), RayRest::Unseen);
}

TEST(RayRest, ARayJobThatIsOverIsTheOnlyOneThatEnds) {
  const json::value done = object("RayJob", "", "jobDeploymentStatus: Complete, rayClusterName: c");
  EXPECT_TRUE(has_ended(done));
  EXPECT_EQ(cluster_made_for(done), "c");
  EXPECT_TRUE(has_ended(object("RayJob", "", "jobDeploymentStatus: Failed")));
  EXPECT_FALSE(has_ended(object("RayJob", "", "jobDeploymentStatus: Running")));
  EXPECT_FALSE(has_ended(object("RayCluster", "", "state: failed")));
  EXPECT_EQ(cluster_made_for(
                object("RayJob", "clusterSelector: {ray.io/cluster: c}", "rayClusterName: c")),
            "");
}

}  // namespace
}  // namespace muster::manifest
