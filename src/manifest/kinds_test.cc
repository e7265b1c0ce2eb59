#include "manifest/kinds.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace muster::manifest
