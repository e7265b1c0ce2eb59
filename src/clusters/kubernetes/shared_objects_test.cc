#include "clusters/kubernetes/shared_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <future>
#include <vector>

#include "kube/testing/scripted_server.h"

namespace muster::clusters {
namespace {

using kube::testing::make_client;
using kube::testing::ScriptedServer;
using ::testing::ElementsAre;
using ::testing::StartsWith;

constexpr const char* forbidden =
    R"({"kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":"no"})";

using Need = void (SharedObjects::*)(const kube::Resource&, const boost::json::value&,
                                     const SharedObjects::Then&);

/// Asks for the same class as often as wanted, then waits for all the answers.
std::vector<bool> need(SharedObjects& shared, int times, Need how = &SharedObjects::need) {
  const auto object = boost::json::parse(R"({"metadata":{"name":"muster"}})");
  std::vector<std::promise<bool>> answers(static_cast<std::size_t>(times));
  for (std::promise<bool>& answer : answers) {
    (shared.*how)(kube::resources::priority_classes(), object,
                  [&answer](const kube::Reply<Ok>& there) { answer.set_value(there.ok()); });
  }
  std::vector<bool> are_there;
  for (std::promise<bool>& answer : answers) are_there.push_back(answer.get_future().get());
  return are_there;
}

TEST(SharedObjects, ThoseWhoNeedTheSameMakeItOnce) {
  ScriptedServer server;
  server.then(201, "{}");
  const auto client = make_client(server.access());
  SharedObjects shared(*client);
  EXPECT_THAT(need(shared, 3), ElementsAre(true, true, true));
  EXPECT_THAT(need(shared, 1), ElementsAre(true));
  EXPECT_EQ(server.asked().size(), 1U);
}

TEST(SharedObjects, WhoReliesOnWhatWasThereOnceDoesNotWaitAndItIsLookedAfter) {
  ScriptedServer server;
  std::promise<net::Responder> second;
  server.then(201, "{}").then(
      [&](const net::Request&, const net::Responder& answer) { second.set_value(answer); });
  const auto client = make_client(server.access());
  SharedObjects shared(*client, Duration{0});
  EXPECT_THAT(need(shared, 1, &SharedObjects::rely_on), ElementsAre(true));
  EXPECT_THAT(need(shared, 2, &SharedObjects::rely_on), ElementsAre(true, true));
  second.get_future().get().send({201, {}, "{}"});
  EXPECT_EQ(server.asked().size(), 2U) << "one asks for all";
}

TEST(SharedObjects, WhoReliesOnWhatWasNeverThereWaitsForIt) {
  ScriptedServer server;
  server.then(403, forbidden).then(403, forbidden).then(201, "{}");
  const auto client = make_client(server.access());
  SharedObjects shared(*client);
  EXPECT_THAT(need(shared, 1, &SharedObjects::rely_on), ElementsAre(false));
  EXPECT_THAT(need(shared, 1, &SharedObjects::rely_on), ElementsAre(true));
}

TEST(SharedObjects, WhatMayNotBeMadeButReadIsThere) {
  ScriptedServer server;
  server.then(403, forbidden).then(200, "{}");
  const auto client = make_client(server.access());
  SharedObjects shared(*client);
  EXPECT_THAT(need(shared, 1), ElementsAre(true));
}

TEST(SharedObjects, AClassThatPushesPodsAwayIsNotUsedWhoeverMadeIt) {
  constexpr const char* taken =
      R"({"kind":"Status","reason":"AlreadyExists","code":409,"message":"there is one"})";
  const auto answer_of = [&](const char* there) {
    ScriptedServer server;
    server.then(409, taken).then(200, there);
    const auto client = make_client(server.access());
    SharedObjects shared(*client);
    std::promise<std::string> answer;
    shared.need(
        kube::resources::priority_classes(),
        boost::json::parse(R"({"metadata":{"name":"muster"},"preemptionPolicy":"Never"})"),
        [&](const kube::Reply<Ok>& is) { answer.set_value(is ? "fine" : is.error().message); });
    return answer.get_future().get();
  };
  EXPECT_EQ(answer_of(R"({"preemptionPolicy":"Never"})"), "fine");
  EXPECT_EQ(answer_of(R"({"value":5})"),
            "the priority class muster of this cluster has the preemptionPolicy "
            "PreemptLowerPriority: pods with it would push others away; delete it, and it is made "
            "again with Never");
}

TEST(SharedObjects, AFailureIsEverybodysAndIsTriedAgainByTheNext) {
  ScriptedServer server;
  server.then(403, forbidden).then(403, forbidden).then(201, "{}");
  const auto client = make_client(server.access());
  SharedObjects shared(*client);
  EXPECT_THAT(need(shared, 2), ElementsAre(false, false));
  EXPECT_THAT(need(shared, 1), ElementsAre(true));
}

constexpr const char* services =
    R"({"items":[{"metadata":{"namespace":"b","name":"p1"}},
                 {"metadata":{"namespace":"a","name":"p0"}},
                 {"metadata":{"namespace":"b","name":"p2"}}]})";
constexpr const char* nothing = R"({"items":[]})";

TEST(RemovePeers, AllServicesOfTheServerGoWhereNoPodsAreLeft) {
  ScriptedServer server;
  server.then(200, services)
      .then(200, R"({"items":[{}]})")
      .then(200, nothing)
      .then(404, "{}")
      .then(200, "{}");
  const auto client = make_client(server.access());
  remove_peers(*client, "", "me");
  const auto asked = server.asked();
  ASSERT_EQ(asked.size(), 5U);
  EXPECT_EQ(asked[0],
            "GET /api/v1/services?labelSelector=muster.dev%2Fpeers%2Cmuster.dev%2Fserver%3Dme");
  EXPECT_THAT(asked[1], StartsWith("GET /api/v1/namespaces/a/pods?")) << "they need them";
  EXPECT_THAT(asked[2], StartsWith("GET /api/v1/namespaces/b/pods?"));
  EXPECT_EQ(asked[3], "DELETE /api/v1/namespaces/b/services/p1") << "which somebody else deleted";
  EXPECT_EQ(asked[4], "DELETE /api/v1/namespaces/b/services/p2");
}

TEST(RemovePeers, WhoeverMayNotDeleteThemStops) {
  ScriptedServer server;
  server.then(200, services).then(200, nothing).then(403, forbidden);
  const auto client = make_client(server.access());
  remove_peers(*client, "", "me");
  EXPECT_EQ(server.asked().size(), 3U);
}

}  // namespace
}  // namespace muster::clusters
