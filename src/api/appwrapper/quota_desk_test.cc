#include "api/appwrapper/quota_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kube/testing/scripted_server.h"
#include "net/testing/mailbox.h"
#include "net/testing/server.h"

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

/// A hub with one tree of one node, which nobody changes.
net::Response answer_of(const net::Request& request) {
  if (request.path.find("quota.codeflare.dev") == std::string::npos)
    return {404, {}, R"({"kind":"Status","reason":"NotFound","code":404,"message":"no such"})"};
  return {200, {}, R"({"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"t",
    "namespace":"n","resourceVersion":"1","labels":{"tree":"team"}},
    "spec":{"children":[{"name":"all","quotas":{"requests":{"cpu":8}}}]}}]})"};
}

class Desk : public ::testing::Test {
 protected:
  /// What is due on the hub's thread, until there is a request.
  control::Request next_request() {
    while (requests.size() == 0) tasks.take()();
    return requests.take(1).at(0);
  }
  void run_until_trouble_is(const std::string& words) {
    while (desk.trouble() != words) tasks.take()();
  }

  net::testing::Mailbox<net::Stream> watches;  // stay open
  net::testing::Server server{[this](net::Router& router) {
    router.add("GET", "/{path...}", [this](const net::Request& request, const net::Responder& to) {
      if (!request.query_value("watch").empty()) return watches.put(to.stream({}));
      to.send(answer_of(request));
    });
  }};
  net::testing::Mailbox<std::function<void()>> tasks;
  control::Requests requests{10};
  std::vector<std::string> said;
  std::unique_ptr<kube::Client> client = [this] {
    kube::Access access;
    access.cluster.server = server.url();
    return kube::testing::make_client(access);
  }();
  QuotaDesk desk{
      *client,
      {.requests = requests,
       .later = [this](std::function<void()> then) { tasks.put(std::move(then)); },
       .later_after = [this](Duration, std::function<void()> then) { tasks.put(std::move(then)); },
       .say = [this](const std::string& line) { said.push_back(line); },
       .on_change = [] {}}};
};

TEST_F(Desk, WhyTheQueuesAreNotWrittenIsSaidOnceUntilTheyAre) {
  const std::string words =
      "quota: the queues cannot be written, so no AppWrapper is taken: the disk is full";
  for (int tries = 0; tries < 2; ++tries) {
    next_request().done(Error{Fault::Unavailable, "the disk is full"});
    run_until_trouble_is(words);
  }
  EXPECT_THAT(said, ElementsAre(words));
  next_request().done(control::Answer{});
  run_until_trouble_is("");
  EXPECT_THAT(said, ElementsAre(words, "quota: the queues are written again"));
}

}  // namespace
}  // namespace muster::api
