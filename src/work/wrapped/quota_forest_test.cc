#include "work/wrapped/quota_forest.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace muster::work {
namespace {

namespace json = boost::json;

json::value subtree(std::string_view name, std::string_view tree, std::string_view spec) {
  std::string text = R"({"metadata": {"name": "NAME", "labels": {"tree": "TREE"}}, "spec": SPEC})";
  const auto put = [&](std::string_view word, std::string_view by) {
    text.replace(text.find(word), word.size(), by);
  };
  put("NAME", name);
  put("TREE", tree);
  put("SPEC", spec);
  return json::parse(text);
}

const json::value top = subtree("top", "team", R"({"children": [
  {"name": "all", "quotas": {"requests": {"cpu": 8, "memory": "16Gi", "nvidia.com/gpu": 4}}}]})");
const json::value leaves = subtree("leaves", "team", R"({"parent": "all", "children": [
  {"name": "soft", "quotas": {"requests": {"cpu": "2500m"}}},
  {"name": "hard", "quotas": {"hardLimit": true, "requests": {"cpu": 4}}},
  {"name": "off", "quotas": {"disabled": true, "requests": {"cpu": 1}}}]})");

TEST(QuotaForest, ATreeOfSeveralObjectsIsQueuesWithParentsFirst) {
  const QuotaForest forest = read_quota_forest({leaves, top});
  EXPECT_TRUE(forest.problems.empty());
  EXPECT_EQ(forest.trees, std::vector<std::string>{"team"});
  ASSERT_EQ(forest.queues.size(), 4u);
  EXPECT_EQ(forest.queues[0].name, "team.all");
  EXPECT_EQ(forest.queues[0].parent, "");
  EXPECT_EQ(forest.queues[0].tree, "") << "the first tree is the main one";
  EXPECT_EQ(forest.queues[0].limits.at("cpu").maximum, 8000) << "there is no more than that";
  EXPECT_EQ(forest.queues[0].limits.at("gpu").maximum, 4000);
  EXPECT_EQ(forest.queues[0].limits.at("nvidia.com/gpu").maximum, 4) << "as MCAD's profile counts";
  EXPECT_EQ(forest.queues[0].limits.at("memory").maximum, std::int64_t{16} << 30);
  EXPECT_EQ(forest.queues[0].strategy, model::Strategy::SkipAhead);
}

TEST(QuotaForest, SoftNodesBorrowAndHardOnesDoNot) {
  const QuotaForest forest = read_quota_forest({top, leaves});
  const auto queue = [&](const std::string& name) {
    for (const model::QueueSpec& spec : forest.queues) {
      if (spec.name == name) return spec;
    }
    return model::QueueSpec{};
  };
  EXPECT_EQ(queue("team.soft").parent, "team.all");
  EXPECT_EQ(queue("team.soft").limits.at("cpu").guaranteed, 2500);
  EXPECT_FALSE(queue("team.soft").limits.at("cpu").maximum);
  EXPECT_EQ(queue("team.hard").limits.at("cpu").guaranteed, 4000);
  EXPECT_EQ(queue("team.hard").limits.at("cpu").maximum, 4000);
  EXPECT_TRUE(queue("team.off").limits.empty());
}

TEST(QuotaForest, FurtherTreesAreTreesOfTheirOwn) {
  const json::value other = subtree(
      "o", "zone", R"({"children": [{"name": "east", "quotas": {"requests": {"cpu": 1}}}]})");
  const QuotaForest forest = read_quota_forest({other, top});
  EXPECT_EQ(forest.trees, (std::vector<std::string>{"team", "zone"}));
  EXPECT_EQ(forest.queues.back().name, "zone.east");
  EXPECT_EQ(forest.queues.back().tree, "zone");
}

TEST(QuotaForest, TheOldestTreeIsTheMainOneWhateverIsAddedLater) {
  const auto made = [](json::value object, std::string_view at) {
    object.at("metadata").as_object()["creationTimestamp"] = at;
    return object;
  };
  const std::string_view spec = R"({"children": [{"name": "all"}]})";
  const json::value zone = made(subtree("z", "zone", spec), "2026-01-01T00:00:00Z");
  const json::value team = made(subtree("t", "team", spec), "2026-01-02T00:00:00Z");
  const QuotaForest forest = read_quota_forest({team, zone});
  EXPECT_EQ(forest.trees, (std::vector<std::string>{"zone", "team"}));
  EXPECT_EQ(forest.queues[0].name, "zone.all");
  EXPECT_EQ(forest.queues[0].tree, "");
  EXPECT_EQ(forest.queues[1].tree, "team");
}

TEST(QuotaForest, WhatDoesNotFitTogetherIsLeftOutAndTold) {
  const json::value lost = subtree("lost", "team", R"({"parent": "nobody", "children": [
    {"name": "a", "quotas": {"requests": {"cpu": "much"}}}, {"quotas": {}}]})");
  const QuotaForest forest = read_quota_forest({top, lost});
  EXPECT_EQ(forest.queues.size(), 1u);
  ASSERT_EQ(forest.problems.size(), 3u);
  EXPECT_NE(forest.problems[0].find("spec.children[0].quotas.requests.cpu"), std::string::npos)
      << forest.problems[0];
  EXPECT_EQ(forest.problems[1], "QuotaSubtree lost: spec.children[1].name: is missing");
  EXPECT_EQ(forest.problems[2],
            "tree team: node a is left out: its parent nobody is not in the tree");
}

TEST(QuotaForest, ATreeInACircleEnds) {
  const json::value one = subtree("one", "t", R"({"parent": "b", "children": [{"name": "a"}]})");
  const json::value two = subtree("two", "t", R"({"parent": "a", "children": [{"name": "b"}]})");
  EXPECT_TRUE(read_quota_forest({one, two}).queues.empty());
}

TEST(QuotaForest, AnAppWrapperNamesItsNodeInEachTree) {
  const Designation made = designation_of({{"team", "soft"}, {"x", "y"}}, {"team", "zone"});
  EXPECT_EQ(made.queue, "team.soft");
  EXPECT_EQ(made.extra_queues, std::vector<std::string>{"zone.default"});
  EXPECT_EQ(made.missing, (model::Labels{{"zone", "default"}}));
}

TEST(QuotaForest, WhichQueuesLabelsMayHaveNamedIsKnownWithoutTheTree) {
  const model::Labels labels = {{"team", "soft"}, {"muster.dev/queue", "research"}};
  EXPECT_TRUE(may_have_named(labels, "team.soft"));
  EXPECT_TRUE(may_have_named(labels, "zone.default")) << "it has no label zone";
  EXPECT_FALSE(may_have_named(labels, "team.default")) << "it names another node";
  EXPECT_FALSE(may_have_named(labels, "research"));
  EXPECT_FALSE(may_have_named(labels, "team.hard")) << "somebody moved it there";
}

}  // namespace
}  // namespace muster::work
