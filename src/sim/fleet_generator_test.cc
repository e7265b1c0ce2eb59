#include "sim/fleet_generator.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <variant>

#include "sched/shapes.h"
#include "sched/world.h"

namespace muster::sim {
namespace {

FleetSize small() {
  FleetSize size;
  size.clusters = 3;
  size.nodes = 1'000;
  size.queues = 64;
  size.jobs = 20'000;
  return size;
}

const model::JobSpec& spec_of(const model::Event& event) {
  return std::get<model::JobSubmitted>(event.body).spec;
}

bool is_constrained(const model::Gang& gang) {
  const model::PodShape& pod = gang.sets.front().pod;
  return gang.topology || !pod.gpu_types.empty() || !pod.required_affinity.empty();
}

TEST(FleetGenerator, SizesFollowTheMix) {
  const FleetGenerator generator(small(), Time{0});
  std::map<int, int> of_size;  // by bucket
  int constrained = 0;
  std::set<std::uint64_t> shapes;
  generator.jobs(0, 20'000, [&](const model::Event& event) {
    const model::Gang& gang = spec_of(event).gang;
    const int pods = gang.pod_count();
    ++of_size[pods == 1 ? 0 : pods <= 8 ? 1 : pods <= 64 ? 2 : 3];
    EXPECT_TRUE(pods <= 8 || (pods >= 16 && pods <= 64) || (pods >= 128 && pods <= 512)) << pods;
    EXPECT_EQ(gang.sets.front().pod.gpu.count, pods < 8 ? 1 : 8);
    if (is_constrained(gang)) ++constrained;
    shapes.insert(sched::hash_of(gang));
    EXPECT_TRUE(model::validate(spec_of(event)).ok());
  });
  EXPECT_NEAR(of_size[0], 14'000, 300);
  EXPECT_NEAR(of_size[1], 4'000, 300);
  EXPECT_NEAR(of_size[2], 1'800, 200);
  EXPECT_NEAR(of_size[3], 200, 60);
  EXPECT_NEAR(constrained, 4'000, 200);
  EXPECT_GT(shapes.size(), 1'000u);
}

TEST(FleetGenerator, AJobIsTheSameWheneverItIsMade) {
  const FleetGenerator one(small(), Time{0});
  const FleetGenerator two(small(), Time{0});
  two.job(7);
  EXPECT_EQ(spec_of(one.job(4'711)).gang, spec_of(two.job(4'711)).gang);
  EXPECT_EQ(spec_of(one.job(4'711)).queue, spec_of(two.job(4'711)).queue);
  EXPECT_EQ(std::get<model::JobSubmitted>(one.job(4'711).body).seq, 4'712u);
}

TEST(FleetGenerator, ATeamHasAFewDozenShapesAndLimits) {
  const FleetGenerator generator(small(), Time{0});
  std::map<std::string, std::set<std::uint64_t>> shapes;
  generator.jobs(0, 20'000, [&](const model::Event& event) {
    shapes[spec_of(event).queue].insert(sched::hash_of(spec_of(event).gang));
  });
  EXPECT_EQ(shapes.size(), 64u);
  for (const auto& [team, of_team] : shapes) EXPECT_LE(of_team.size(), 28u) << team;
}

TEST(FleetGenerator, TheFleetHasAllNodesAndAllQueuesAndTheOccupationIsOnThem) {
  const FleetGenerator generator(small(), Time{0});
  sched::World world;
  const sched::Policy policy;
  for (const model::Event& event : generator.fleet())
    EXPECT_TRUE(sched::apply(world, event, policy));
  EXPECT_EQ(world.fleet.node_count(), 1'000u);
  EXPECT_EQ(world.fleet.totals().idle_gpu_milli, 8'000'000);
  for (const model::Event& event : generator.occupation(60))
    EXPECT_TRUE(sched::apply(world, event, policy));
  EXPECT_EQ(world.fleet.node_count(), 1'000u);
  EXPECT_EQ(world.fleet.totals().idle_gpu_milli, 3'200'000);
  generator.jobs(0, 100, [&](const model::Event& event) {
    EXPECT_TRUE(world.quota[world.quota.find(spec_of(event).queue)].alive);
  });
}

TEST(FleetGenerator, WhatIsPromisedIsHandedOnToTheTeamsIfThatIsAskedFor) {
  for (const bool nested : {false, true}) {
    FleetSize size = small();
    size.guaranteed_percent = 60;
    size.nested_guarantees = nested;
    std::map<int, std::int64_t> promised;  // by level
    sched::World world;
    for (const model::Event& event : FleetGenerator(size, Time{0}).fleet())
      sched::apply(world, event, sched::Policy{});
    for (const sched::QueueId id : world.quota.by_name()) {
      int level = 0;
      for (sched::QueueId up = world.quota[id].parent; !up.is_none(); up = world.quota[up].parent)
        ++level;
      const std::vector<sched::LimitRec>& limits = world.quota[id].limits;
      const std::int64_t here = limits.at(sched::resource_gpu.index()).guaranteed;
      if (here != sched::unset) promised[level] += here;
    }
    EXPECT_EQ(promised,
              nested ? (std::map<int, std::int64_t>{{1, 4'800'000}, {2, 4'800'000}, {3, 4'800'000}})
                     : (std::map<int, std::int64_t>{{1, 4'800'000}}));
  }
}

}  // namespace
}  // namespace muster::sim
