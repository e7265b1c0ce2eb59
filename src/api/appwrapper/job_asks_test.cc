#include "api/appwrapper/job_asks.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sched/world.h"

namespace muster::api {
namespace {

/// The main tree has area.east, the tree team has team.hard, as if it had ordered jobs before.
struct JobAsksTest : testing::Test {
  sched::World world;
  control::Requests requests{100};
  JobAsks asks{requests, "muster", [](Duration, const std::function<void()>&) {}};
  bool could_not = false;

  JobAsksTest() {
    const std::vector<std::pair<std::string, std::string>> queues = {{"area.east", ""},
                                                                     {"team.hard", "team"}};
    for (const auto& [name, tree] : queues) {
      model::QueueSpec spec;
      spec.name = name;
      spec.tree = tree;
      apply(model::QueueSet{spec});
    }
  }
  void apply(model::EventBody body) {
    sched::apply(world, {Time{0}, std::move(body)}, sched::Policy{});
  }
  void submit(const std::string& id) {
    model::JobSubmitted begun;
    begun.spec.id = id;
    begun.spec.queue = "team.hard";
    begun.spec.gang.sets.emplace_back();
    apply(begun);
  }
  /// Where the job is to go; "": nowhere.
  std::string moved(const std::string& job, const std::string& queue) {
    asks.move(job, queue, "a test", [this] { could_not = true; });
    const auto asked = requests.take(1).at(0).ask(world, Time{0});
    if (!asked || asked->events.empty()) return "";
    return std::get<model::QueueChanged>(asked->events.front()).queue;
  }
};

TEST_F(JobAsksTest, AJobIsMovedOnceAndWhereItIsNot) {
  submit("j");
  EXPECT_EQ(moved("j", "area.east"), "area.east");
  EXPECT_EQ(moved("j", "team.hard"), "");
  EXPECT_EQ(moved("j", "area.typo"), "") << "it would wait there for ever";
  EXPECT_EQ(moved("nobody", "area.east"), "");
  apply(model::JobCancelled{"j"});
  EXPECT_EQ(moved("j", "area.east"), "");
  EXPECT_FALSE(could_not);
}

TEST_F(JobAsksTest, AJobThatChargesTheTreeAlreadyIsNotMovedThere) {
  submit("j");
  // When it was submitted area was the further tree, and team the one that orders jobs.
  world.job(world.find_job("j")).extra_queues = {world.quota.find("area.east")};
  EXPECT_EQ(moved("j", "area.east"), "");
  EXPECT_TRUE(could_not) << "it would count twice there";
}

}  // namespace
}  // namespace muster::api
