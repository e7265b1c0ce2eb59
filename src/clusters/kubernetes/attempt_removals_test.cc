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
  std::vector<std::promise<Taken>> done(4);
  const auto remove = [&](const ports::Attempt& attempt, std::size_t index) {
    removals.remove("ns", attempt, [&done, index](Taken taken) { done[index].set_value(taken); });
  };
  server.then(after([&] {
    remove({"b", 1}, 1);
    remove({"c", 2}, 2);
    remove({"d", 1}, 3);
  }));
  for (int i = 1; i < 12; ++i) server.then(200, nothing);
  remove({"a", 1}, 0);
  for (std::promise<Taken>& one : done) EXPECT_EQ(one.get_future().get(), Taken::All);
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
  std::promise<Taken> first;
  std::promise<Taken> second;
  server.then(
      after([&] { removals.remove("two", {"b", 1}, [&](Taken is) { second.set_value(is); }); }));
  for (int i = 1; i < 8; ++i) server.then(200, nothing);
  removals.remove("one", {"a", 1}, [&](Taken is) { first.set_value(is); });
  EXPECT_EQ(first.get_future().get(), Taken::All);
  EXPECT_EQ(second.get_future().get(), Taken::All);
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

constexpr const char* not_now =
    R"({"kind":"Status","code":409,"reason":"Conflict","message":"not now"})";

Taken taken_of(AttemptRemovals& removals, const std::string& ns = "ns") {
  std::promise<Taken> done;
  removals.remove(ns, {"a", 1}, [&](Taken taken) { done.set_value(taken); });
  return done.get_future().get();
}

TEST(AttemptRemovals, JobsAndPodsGoAlsoWhereRootsCannot) {
  ScriptedServer server;
  server.then(409, not_now);
  for (int i = 0; i < 7; ++i) server.then(200, nothing);
  const auto client = make_client(server.access());
  AttemptRemovals removals(*client, "");
  EXPECT_EQ(taken_of(removals), Taken::AllButRoots);
  EXPECT_EQ(removals.refusal(), "configmaps: not now");
  EXPECT_EQ(taken_of(removals), Taken::All);
  EXPECT_EQ(removals.refusal(), "");
  const auto asked = server.asked();
  ASSERT_EQ(asked.size(), 8U);
  EXPECT_THAT(asked[1], HasSubstr("/jobs?"));
  EXPECT_THAT(asked[2], HasSubstr("/pods?"));
  EXPECT_THAT(asked[3], HasSubstr("/secrets?"));
}

TEST(AttemptRemovals, NothingIsTakenWhereADeleteWasRefusedOfWhichNobodyAsksWhetherItIsGone) {
  constexpr std::size_t last = 3;  // Secrets
  for (std::size_t refused = 1; refused <= last; ++refused) {
    for (const bool are_roots_taken : {true, false}) {
      ScriptedServer server;
      server.then(are_roots_taken ? 200 : 409, are_roots_taken ? nothing : not_now);
      for (std::size_t i = 1; i < refused; ++i) server.then(200, nothing);
      server.then(500, R"({"kind":"Status","code":500,"reason":"InternalError","message":"no"})");
      const auto client = make_client(server.access());
      AttemptRemovals removals(*client, "");
      EXPECT_EQ(taken_of(removals), Taken::No) << refused;
      EXPECT_EQ(server.asked().size(), refused + 1) << "Secrets are deleted last";
    }
  }
}

TEST(AttemptRemovals, WhereNobodyAnswersNothingIsTaken) {
  kube::Access nowhere;
  nowhere.cluster.server = "http://127.0.0.1:1";
  const auto client = make_client(nowhere);
  AttemptRemovals removals(*client, "");
  EXPECT_EQ(taken_of(removals), Taken::No);
}

TEST(AttemptRemovals, WhatOneNamespaceDidNotTakeIsSaidThoughAnotherTakesAll) {
  ScriptedServer server;
  server.then(409, not_now);
  for (int i = 0; i < 11; ++i) server.then(200, nothing);
  const auto client = make_client(server.access());
  AttemptRemovals removals(*client, "");
  EXPECT_EQ(taken_of(removals, "one"), Taken::AllButRoots);
  EXPECT_EQ(taken_of(removals, "two"), Taken::All);
  EXPECT_EQ(removals.refusal(), "configmaps: not now");
  EXPECT_EQ(taken_of(removals, "one"), Taken::All);
  EXPECT_EQ(removals.refusal(), "");
}

TEST(AttemptRemovals, AttemptZeroIsAllThatAnyServerMadeForTheJob) {
  ScriptedServer server;
  const auto client = make_client(server.access());
  AttemptRemovals removals(*client, "s1");
  for (int i = 0; i < 4; ++i) server.then(200, nothing);
  std::promise<Taken> done;
  removals.remove("ns", {"a", 0}, [&](Taken taken) { done.set_value(taken); });
  EXPECT_EQ(done.get_future().get(), Taken::All);
  EXPECT_THAT(server.asked()[0], HasSubstr("in%20%28a%29"));
  EXPECT_THAT(server.asked()[0], ::testing::Not(HasSubstr("muster.dev%2Fattempt")));
  EXPECT_THAT(server.asked()[0], ::testing::Not(HasSubstr("muster.dev%2Fserver")));
}

}  // namespace
}  // namespace muster::clusters
