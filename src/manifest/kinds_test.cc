#include "manifest/kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <set>

namespace muster::manifest {
namespace {

TEST(Kinds, EachIsThereOnce) {
  std::set<std::string> kinds;
  std::set<std::string> resources;
  for (const KnownKind& one : known_kinds()) {
    EXPECT_TRUE(kinds.insert(kind_text(one.group, one.kind)).second) << one.kind;
    EXPECT_TRUE(resources.insert(kind_text(one.group, one.plural)).second) << one.plural;
  }
}

TEST(Kinds, WhatRunsWithRightsOrScalesByItselfIsNotUsual) {
  std::set<std::string> usual;
  for (const KnownKind& one : known_kinds()) {
    if (one.is_usual) usual.insert(kind_text(one.group, one.kind));
  }
  EXPECT_TRUE(usual.contains("batch/Job"));
  EXPECT_TRUE(usual.contains("Secret"));
  EXPECT_FALSE(usual.contains("ServiceAccount"));
  EXPECT_FALSE(usual.contains("autoscaling/HorizontalPodAutoscaler"));
}

TEST(Kinds, OfObjectsThoseCountThatAClusterMayLack) {
  const boost::json::value objects = boost::json::parse(R"([
    {"apiVersion": "ray.io/v1", "kind": "RayCluster"}, {"apiVersion": "v1", "kind": "Service"},
    {"apiVersion": "batch/v1", "kind": "Job"}, {"apiVersion": "apps/v1", "kind": "Deployment"},
    {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"},
    {"apiVersion": "ray.io/v1", "kind": "RayCluster"}])");
  EXPECT_THAT(kinds_to_serve(objects.as_array()),
              testing::ElementsAre("jobset.x-k8s.io/v1alpha2/JobSet", "ray.io/v1/RayCluster"));
}

}  // namespace
}  // namespace muster::manifest
