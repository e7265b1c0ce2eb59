#include "api/appwrapper/quota_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

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

/// "set team.a remove team.b"
std::string words(const std::vector<model::EventBody>& events) {
  std::string text;
  for (const model::EventBody& event : events) {
    if (!text.empty()) text += ' ';
    if (const auto* set = std::get_if<model::QueueSet>(&event)) text += "set " + set->spec.name;
    if (const auto* gone = std::get_if<model::QueueRemoved>(&event))
      text += "remove " + gone->queue;
  }
  return text;
}

TEST(QuotaDesk, OnlyQueuesThatAreOthersThanBeforeAreAskedFor) {
  work::QuotaForest before;
  before.queues = {queue("team.all"), queue("team.a", "team.all"), queue("team.b", "team.a")};
  EXPECT_EQ(words(queue_changes({}, before)), "set team.all set team.a set team.b");
  EXPECT_EQ(words(queue_changes(before, before)), "") << "a label of a QuotaSubtree changed";
  work::QuotaForest after = before;
  after.queues[1].limits["cpu"].guaranteed = 2000;
  EXPECT_EQ(words(queue_changes(before, after)), "set team.a");
  after.queues.pop_back();
  EXPECT_EQ(words(queue_changes(before, after)), "set team.a remove team.b");
  EXPECT_EQ(words(queue_changes(before, {})), "remove team.b remove team.a remove team.all");
}

}  // namespace
}  // namespace muster::api
