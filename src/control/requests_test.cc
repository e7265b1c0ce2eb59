#include "control/requests.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/loop.h"
#include "ports/memory_inbox.h"
#include "ports/memory_store.h"

namespace muster::control {
namespace {

struct RequestsTest : testing::Test {
  RequestsTest() {
    model::QueueSpec queue;
    queue.name = "q";
    const std::vector<model::Event> books{{Time{0}, model::QueueSet{queue}}};
    MUSTER_CHECK(store.commit({books}).ok(), "set up");
    start();
  }
  void start() {
    auto recovered = recover(store, policy);
    MUSTER_CHECK(recovered.ok(), "recover");
    loop.emplace(Loop::Ports{inbox, store, {}, &requests}, std::move(*recovered), policy,
                 Options{});
  }
  static model::JobSpec job(const std::string& id) {
    model::JobSpec spec;
    spec.id = id;
    spec.queue = "q";
    spec.gang.sets.emplace_back();
    return spec;
  }
  /// Puts a submit; how it was answered stands in `answers`.
  Requests::Put submit(const std::string& id) {
    return requests.put({[id](const sched::World& world, Time) -> Result<Asked> {
                           if (!world.find_job(id).is_none())
                             return Error{Fault::Conflict, id + " is there"};
                           Asked asked;
                           asked.events.emplace_back(model::JobSubmitted{job(id), 0});
                           asked.audit.push_back({0, {}, "ada", "r", "submit", id, ""});
                           asked.keys.push_back({"ada", "key-" + id, "h", {id}, Time{1'000'000}});
                           asked.answer = "welcome " + id;
                           return asked;
                         },
                         [this](const Result<Answer>& answer) {
                           answers.push_back(answer ? answer->text : answer.error().message);
                         }});
  }
  bool has(const std::string& id) const { return !loop->world().find_job(id).is_none(); }

  sched::Policy policy;
  ports::MemoryInbox inbox{100};
  ports::MemoryStore store;
  Requests requests{4};
  std::optional<Loop> loop;
  std::vector<std::string> answers;
};

TEST_F(RequestsTest, AnAnswerComesWhenItIsInTheJournalAndTheTables) {
  EXPECT_EQ(submit("a"), Requests::Put::Taken);
  EXPECT_TRUE(answers.empty());
  loop->step(Time{10});
  EXPECT_EQ(answers, std::vector<std::string>{"welcome a"});
  EXPECT_TRUE(has("a"));
  EXPECT_EQ(store.job("a")->submitted, Time{10});
  EXPECT_EQ(store.audit({}, 0, 9)->rows.at(0).at, Time{10});
  EXPECT_TRUE(*store.submit_key("ada", "key-a", Time{10}));
}

TEST_F(RequestsTest, WhatTheWorldRefusesWritesNothing) {
  submit("a");
  loop->step(Time{10});
  const std::uint64_t last = store.last();
  submit("a");
  loop->step(Time{20});
  EXPECT_EQ(answers.back(), "a is there");
  EXPECT_EQ(store.last(), last);
}

TEST_F(RequestsTest, AFullQueueRefusesAndKeepsNothing) {
  for (const char* id : {"a", "b", "c", "d"}) EXPECT_EQ(submit(id), Requests::Put::Taken);
  EXPECT_EQ(submit("e"), Requests::Put::Full);
  loop->step(Time{10});
  EXPECT_EQ(answers.size(), 4u);
  EXPECT_FALSE(has("e"));
  EXPECT_EQ(submit("e"), Requests::Put::Taken) << "there is room again";
}

TEST_F(RequestsTest, ARequestLargerThanTheQueueIsTakenAlone) {
  EXPECT_EQ(requests.put({}, 1000), Requests::Put::Taken);
  EXPECT_EQ(requests.put({}, 1), Requests::Put::Full);
  EXPECT_EQ(requests.take(1).size(), 1u);
}

TEST_F(RequestsTest, ARefusedCommitIsTriedAgainAsItWas) {
  submit("a");
  store.be_busy(1);
  EXPECT_TRUE(loop->step(Time{10}).refused);
  EXPECT_TRUE(answers.empty());
  EXPECT_TRUE(loop->has_refused_requests());
  EXPECT_FALSE(has("a")) << "nothing is applied before it is durable";
  loop->step(Time{70});
  EXPECT_EQ(answers, std::vector<std::string>{"welcome a"});
  EXPECT_EQ(store.job("a")->submitted, Time{10}) << "the bytes of the first try";
}

TEST_F(RequestsTest, WhoIsGivenUpIsToldAndWhatClustersSaidStays) {
  ASSERT_TRUE(inbox.put({Time{0}, model::QueueRemoved{"q"}}));
  submit("a");
  store.be_busy(1);
  loop->step(Time{10});
  loop->give_up_requests({Fault::Unavailable, "no disk"});
  EXPECT_EQ(answers, std::vector<std::string>{"no disk"});
  loop->step(Time{70});
  EXPECT_FALSE(has("a"));
  EXPECT_EQ(answers.size(), 1u);
  EXPECT_EQ(store.last(), 2u) << "the event of the inbox is in the journal";
}

TEST_F(RequestsTest, WhileTheStoreRefusesNothingIsTaken) {
  requests.set_store_refusal(Error{Fault::Unavailable, "no disk"});
  EXPECT_EQ(submit("a"), Requests::Put::StoreRefuses);
  requests.set_store_refusal(std::nullopt);
  EXPECT_EQ(submit("a"), Requests::Put::Taken);
  requests.close();
  EXPECT_EQ(submit("b"), Requests::Put::Closed);
}

TEST_F(RequestsTest, JobsAreNumberedOnAfterARestart) {
  submit("a");
  submit("b");
  loop->step(Time{10});
  const auto seq = [this](const std::string& id) {
    return loop->world().job(loop->world().find_job(id)).seq;
  };
  EXPECT_LT(seq("a"), seq("b"));
  start();
  submit("c");
  loop->step(Time{20});
  EXPECT_LT(seq("b"), seq("c"));
}

}  // namespace
}  // namespace muster::control
