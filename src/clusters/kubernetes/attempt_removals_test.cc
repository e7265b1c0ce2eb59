#include "clusters/kubernetes/attempt_removals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <string>
#include <vector>

#include "kube/testing/scripted_server.h"

namespace muster::clusters {
namespace {

using kube::testing::make_client;
using kube::testing::ScriptedServer;
using ::testing::HasSubstr;

constexpr const char* nothing = R"({"items":[]})";
constexpr const char* pod_of_b =
    R"({"items":[{"metadata":{"name":"p","labels":{"muster.dev/job":"b"}}}]})";

/// Answers after `meanwhile` was done.
ScriptedServer::Step after(std::function<void()> meanwhile) {
  return [meanwhile = std::move(meanwhile)](const net::Request&, const net::Responder& answer) {
    meanwhile();
    answer.send({200, {}, nothing});
  };
}

TEST(AttemptRemovals, ThoseThatComeMeanwhileGoTogether) {
  ScriptedServer server;
  const auto client = make_client(server.access());
  AttemptRemovals removals(*client, "");
  std::vector<std::promise<bool>> done(4);
  const auto remove = [&](const ports::Attempt& attempt, std::size_t index) {
    removals.remove("ns", attempt, [&done, index](bool is) { done[index].set_value(is); });
  };
  server.then(after([&] {
    remove({"b", 1}, 1);
    remove({"c", 2}, 2);
    remove({"d", 1}, 3);
  }));
  for (int i = 1; i < 12; ++i) server.then(200, nothing);
  remove({"a", 1}, 0);
  for (std::promise<bool>& one : done) EXPECT_TRUE(one.get_future().get());
  const auto asked = server.asked();
  ASSERT_EQ(asked.size(), 12U) << "of each of the four kinds: a; b and d; c, the second attempt";
  EXPECT_THAT(asked[0], HasSubstr("in%20%28a%29"));
  EXPECT_THAT(asked[4], HasSubstr("in%20%28b%2Cd%29"));
  EXPECT_THAT(asked[8], HasSubstr("in%20%28c%29"));
}

TEST(AttemptRemovals, OfThoseAskedForTogetherEachHearsAboutItself) {
  ScriptedServer server;
  const auto client = make_client(server.access());
  AttemptRemovals removals(*client, "");
  std::vector<std::promise<bool>> gone(3);
  const auto confirm = [&](const ports::Attempt& attempt, std::size_t index) {
    removals.confirm_gone("ns", attempt, [&gone, index](bool is) { gone[index].set_value(is); });
  };
  server.then(after([&] {
    confirm({"b", 1}, 1);
    confirm({"c", 1}, 2);
  }));
  server.then(200, nothing).then(200, nothing);                      // of a
  server.then(200, nothing).then(200, nothing).then(200, pod_of_b);  // of b and c
  confirm({"a", 1}, 0);
  EXPECT_TRUE(gone[0].get_future().get());
  EXPECT_FALSE(gone[1].get_future().get()) << "a pod is left";
  EXPECT_TRUE(gone[2].get_future().get());
}

TEST(AttemptRemovals, NamespacesDoNotWaitForEachOther) {
  ScriptedServer server;
  const auto client = make_client(server.access());
  AttemptRemovals removals(*client, "");
  std::promise<bool> first;
  std::promise<bool> second;
  server.then(
      after([&] { removals.remove("two", {"b", 1}, [&](bool is) { second.set_value(is); }); }));
  for (int i = 1; i < 8; ++i) server.then(200, nothing);
  removals.remove("one", {"a", 1}, [&](bool is) { first.set_value(is); });
  EXPECT_TRUE(first.get_future().get());
  EXPECT_TRUE(second.get_future().get());
}

TEST(AttemptRemovals, WithoutAnAnswerNothingIsGone) {
  ScriptedServer server;
  server.then(200, nothing).then(409, R"({"kind":"Status","code":409,"reason":"Conflict"})");
  const auto client = make_client(server.access());
  AttemptRemovals removals(*client, "");
  std::promise<bool> gone;
  removals.confirm_gone("ns", {"a", 1}, [&](bool is) { gone.set_value(is); });
  EXPECT_FALSE(gone.get_future().get());
}

TEST(AttemptRemovals, JobsAndPodsGoAlsoWhereRootsCannot) {
  ScriptedServer server;
  server.then(409, R"({"kind":"Status","code":409,"reason":"Conflict","message":"not now"})");
  for (int i = 0; i < 7; ++i) server.then(200, nothing);
  const auto client = make_client(server.access());
  AttemptRemovals removals(*client, "");
  for (const bool is_taken_at_last : {false, true}) {
    std::promise<bool> done;
    removals.remove("ns", {"a", 1}, [&](bool is_taken) { done.set_value(is_taken); });
    EXPECT_EQ(done.get_future().get(), is_taken_at_last);
    EXPECT_EQ(removals.refusal(), is_taken_at_last ? "" : "configmaps: not now");
  }
  const auto asked = server.asked();
  ASSERT_EQ(asked.size(), 8U);
  EXPECT_THAT(asked[1], HasSubstr("/jobs?"));
  EXPECT_THAT(asked[2], HasSubstr("/pods?"));
}

TEST(AttemptRemovals, WhatOneNamespaceDidNotTakeIsSaidThoughAnotherTakesAll) {
  ScriptedServer server;
  server.then(409, R"({"kind":"Status","code":409,"reason":"Conflict","message":"not now"})");
  for (int i = 0; i < 11; ++i) server.then(200, nothing);
  const auto client = make_client(server.access());
  AttemptRemovals removals(*client, "");
  const auto is_taken = [&](const std::string& ns) {
    std::promise<bool> done;
    removals.remove(ns, {"a", 1}, [&](bool is) { done.set_value(is); });
    return done.get_future().get();
  };
  EXPECT_FALSE(is_taken("one"));
  EXPECT_TRUE(is_taken("two"));
  EXPECT_EQ(removals.refusal(), "configmaps: not now");
  EXPECT_TRUE(is_taken("one"));
  EXPECT_EQ(removals.refusal(), "");
}

TEST(AttemptRemovals, AttemptZeroIsAllThatAnyServerMadeForTheJob) {
  ScriptedServer server;
  const auto client = make_client(server.access());
  AttemptRemovals removals(*client, "s1");
  for (int i = 0; i < 4; ++i) server.then(200, nothing);
  std::promise<bool> done;
  removals.remove("ns", {"a", 0}, [&](bool is_taken) { done.set_value(is_taken); });
  EXPECT_TRUE(done.get_future().get());
  EXPECT_THAT(server.asked()[0], HasSubstr("in%20%28a%29"));
  EXPECT_THAT(server.asked()[0], ::testing::Not(HasSubstr("muster.dev%2Fattempt")));
  EXPECT_THAT(server.asked()[0], ::testing::Not(HasSubstr("muster.dev%2Fserver")));
}

}  // namespace
}  // namespace muster::clusters
