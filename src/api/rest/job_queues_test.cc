#include "api/rest/job_queues.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "sched/world.h"

namespace muster::api {
namespace {

/// The main tree has team, the tree projects apollo and gemini, the tree sites north.
struct JobQueues : testing::Test {
  sched::World world;

  JobQueues() {
    const std::vector<std::pair<std::string, std::string>> queues = {
        {"team", ""}, {"apollo", "projects"}, {"gemini", "projects"}, {"north", "sites"}};
    for (const auto& [name, tree] : queues) {
      model::QueueSpec spec;
      spec.name = name;
      spec.tree = tree;
      sched::apply(world, {Time{0}, model::QueueSet{spec}}, sched::Policy{});
    }
  }
  std::string wrong_with(const std::string& queue, std::vector<std::string> extra_queues = {}) {
    model::JobSpec spec;
    spec.queue = queue;
    spec.extra_queues = std::move(extra_queues);
    const Status status = check_queues(world, spec);
    return status ? "" : status.error().message;
  }
};

TEST_F(JobQueues, AJobMayChargeOneQueueOfEachTree) {
  EXPECT_EQ(wrong_with("team"), "");
  EXPECT_EQ(wrong_with("team", {"gemini", "north"}), "");
}

TEST_F(JobQueues, AJobIsNotOfAFurtherTree) {
  const std::string wrong =
      "queue: apollo is of the tree 'projects', which jobs name in extra_queues";
  EXPECT_EQ(wrong_with("apollo"), wrong);
  EXPECT_EQ(check_queue(world, "apollo").error().message, wrong);
  EXPECT_TRUE(check_queue(world, "team"));
}

TEST_F(JobQueues, TheSameTreeIsNotChargedTwice) {
  EXPECT_EQ(wrong_with("team", {"north", "apollo", "gemini"}),
            "extra_queues[2]: gemini is of the tree 'projects' as apollo is: a job charges one "
            "queue of each");
  EXPECT_EQ(wrong_with("team", {"team"}),
            "extra_queues[0]: team is of the main tree, where a job charges its own queue only");
}

TEST_F(JobQueues, AnUnknownQueueIsToldWithTheFieldAndTheNearest) {
  EXPECT_EQ(wrong_with("tea"), "queue: there is no queue \"tea\"; did you mean team?");
  EXPECT_EQ(wrong_with("team", {"north", "apolo"}),
            "extra_queues[1]: there is no queue \"apolo\"; did you mean apollo?");
}

}  // namespace
}  // namespace muster::api
