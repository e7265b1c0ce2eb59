#include "api/appwrapper/quota_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::api {
namespace {

using ::testing::ElementsAre;

model::QueueSpec queue(const std::string& name, const std::string& parent = "") {
  model::QueueSpec spec;
  spec.name = name;
  spec.parent = parent;
  return spec;
}

TEST(QuotaDesk, NodesThatWentWhileNobodyWatchedAreLeftChildrenFirst) {
  sched::World world;
  for (const model::QueueSpec& spec :
       {queue("research"), queue("team.all"), queue("team.a", "team.all"),
        queue("team.b", "team.a"), queue("team.stays", "team.all"), queue("teams.x")})
    world.quota.set(spec);
  world.quota.find_or_make("team.named");  // by a job alone
  work::QuotaForest forest;
  forest.trees = {"team"};
  forest.queues = {queue("team.all"), queue("team.stays", "team.all")};
  EXPECT_THAT(queues_left(world, forest), ElementsAre("team.b", "team.a"));
  EXPECT_TRUE(queues_left(world, {}).empty());
}

}  // namespace
}  // namespace muster::api
