#include "sched/route.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "sched/testing/site.h"

namespace muster::sched {
namespace {

using testing::job_spec;
using testing::node_spec;
using testing::Site;

/// Two clusters, each with GPUs of a type that the other does not have.
struct Crossing : Site {
  Crossing() {
    for (const auto& [name, type] : {std::pair{"a", "A100"}, std::pair{"b", "T4"}}) {
      cluster(name);
      model::NodeSpec spec = node_spec(std::string("n") + name, 8);
      spec.gpu_type = type;
      node(name, spec);
    }
    queue("q");
  }
  /// "cluster/type" of each venue.
  std::string venues(const std::string& id, const std::vector<std::string>& types) {
    model::JobSpec spec = job_spec(id, "q", 1, 1);
    spec.gang.sets[0].pod.gpu_types = types;
    const JobSlot slot = submit(spec);
    world.fleet.settle(world.shapes);
    std::string text;
    for (const Venue& venue : venues_of(world, policy, world.shapes[world.job(slot).shape]).all) {
      text += world.fleet.cluster(venue.cluster).spec.name + "/" +
              world.fleet.type_name(venue.types[0]) + " ";
    }
    return text;
  }
};

TEST(Route, OnlyGpusThatAClusterHasAreLookedFor) {
  Crossing site;
  EXPECT_EQ(site.venues("any", {}), "a/A100 b/T4 ");
  EXPECT_EQ(site.venues("t4", {"T4"}), "b/T4 ");
}

TEST(Route, CordonedNodesCountBecauseTheyMayComeBack) {
  Crossing site;
  model::NodeSpec spec = node_spec("nb", 8);
  spec.gpu_type = "T4";
  spec.cordoned = true;
  site.node("b", spec);
  EXPECT_EQ(site.venues("any", {}), "a/A100 b/T4 ");
}

TEST(Route, WhatNoNodeHasAnyMoreIsLookedForInVainRatherThanNowhere) {
  Crossing site;
  site.apply(model::NodeGone{"b", "nb"});
  EXPECT_EQ(site.venues("any", {}), "a/A100 ");
  EXPECT_EQ(site.venues("t4", {"T4"}), "b/T4 ") << "so that the verdict speaks of nodes";
}

/// Three equal clusters without GPUs, of 32 nodes with 64 cores.
TEST(Route, ThousandsOfGangsWithoutGpusComeOutEvenlyInOnePlan) {
  Site site;
  for (const std::string cluster : {"a", "b", "c"}) {
    site.cluster(cluster);
    for (int i = 0; i < 32; ++i) site.node(cluster, node_spec("n" + std::to_string(i), 0));
  }
  site.queue("q");
  for (int i = 0; i < 5000; ++i) site.submit(job_spec("j" + std::to_string(i), "q", 1, 0));
  std::map<std::string, int> placed;
  for (const model::Decision& decision : site.plan().decisions) {
    if (const auto* place = std::get_if<model::Placed>(&decision)) ++placed[place->cluster];
  }
  EXPECT_EQ(placed, (std::map<std::string, int>{{"a", 1667}, {"b", 1667}, {"c", 1666}}));
  EXPECT_EQ(check(site.world), "");
}

TEST(Route, PricesAreComparedHoweverLargeTheyAre) {
  struct Row {
    std::int64_t a, b;  // thousandths a GPU
    int pods;
    std::int64_t points_a, points_b;
  };
  const Row rows[] = {{1000, 2000, 1, 1000, 500},
                      {0, 2000, 4, 1000, 0},
                      {1'000'000'000, 4'000'000'000, 1000, 1000, 250},
                      {model::amount_max, 1, 100'000, 0, 1000},
                      {model::amount_max, model::amount_max, 100'000, 1000, 1000}};
  for (const Row& row : rows) {
    Crossing site;
    for (const auto& [name, price] : {std::pair{"a", row.a}, std::pair{"b", row.b}}) {
      model::ClusterSpec spec;
      spec.name = name;
      spec.gpu_price_milli = {{"A100", price}, {"T4", price}};
      ASSERT_TRUE(site.apply(model::ClusterSet{spec}));
    }
    const JobSlot slot = site.submit(job_spec("j", "q", row.pods, 8));
    ASSERT_FALSE(slot.is_none());
    site.world.fleet.settle(site.world.shapes);
    const Shape& shape = site.world.shapes[site.world.job(slot).shape];
    const auto scores =
        score_venues(site.world, site.policy, shape, venues_of(site.world, site.policy, shape));
    ASSERT_EQ(scores.size(), 2u);
    const auto points = [&](std::size_t i) {
      return scores[i].points[static_cast<std::size_t>(Part::Price)];
    };
    EXPECT_EQ(points(0), row.points_a) << row.a << " and " << row.b;
    EXPECT_EQ(points(1), row.points_b) << row.a << " and " << row.b;
  }
}

TEST(Route, LongestWaitIsTheInverseOfItsPoints) {
  for (const Duration least : {seconds(1), hours(2), hours(100)}) {
    for (const Duration wait : {least, least + hours(1), least + hours(30)}) {
      const std::int64_t points = wait_points(wait, least);
      EXPECT_GE(longest_wait(points, least), wait) << "an upper bound";
      EXPECT_LT(wait_points(longest_wait(points, least) + minutes(1), least), points + 1);
    }
    EXPECT_EQ(wait_points(least, least), 1000);
  }
}

}  // namespace
}  // namespace muster::sched
