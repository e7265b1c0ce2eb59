#include "clusters/kubernetes/shared_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <future>
#include <vector>

#include "clusters/kubernetes/names.h"
#include "kube/testing/scripted_server.h"

namespace muster::clusters {
namespace {

using kube::testing::make_client;
using kube::testing::ScriptedServer;
using ::testing::ElementsAre;

constexpr const char* forbidden =
    R"({"kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":"no"})";

/// Asks for the same class as often as wanted, then waits for all the answers.
std::vector<bool> need(SharedObjects& shared, int times) {
  const auto object = boost::json::parse(R"({"metadata":{"name":"muster"}})");
  std::vector<std::promise<bool>> answers(static_cast<std::size_t>(times));
  for (std::promise<bool>& answer : answers) {
    shared.need(kube::resources::priority_classes(), object,
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

TEST(SharedObjects, WhatMayNotBeMadeButReadIsThere) {
  ScriptedServer server;
  server.then(403, forbidden).then(200, "{}");
  const auto client = make_client(server.access());
  SharedObjects shared(*client);
  EXPECT_THAT(need(shared, 1), ElementsAre(true));
}

TEST(SharedObjects, AFailureIsEverybodysAndIsTriedAgainByTheNext) {
  ScriptedServer server;
  server.then(403, forbidden).then(403, forbidden).then(201, "{}");
  const auto client = make_client(server.access());
  SharedObjects shared(*client);
  EXPECT_THAT(need(shared, 2), ElementsAre(false, false));
  EXPECT_THAT(need(shared, 1), ElementsAre(true));
}

TEST(RemovePeers, AllServicesOfTheServerGoUnlessPodsAreLeft) {
  ScriptedServer server;
  server.then(200, R"({"items":[{}]})")
      .then(200, R"({"items":[]})")
      .then(404, "{}")
      .then(200, "{}");
  const auto client = make_client(server.access());
  remove_peers(*client, "n", "me");
  EXPECT_EQ(server.asked().size(), 1U) << "they need them";
  remove_peers(*client, "n", "me");
  const std::vector<std::string> names = peers_names("me");
  EXPECT_EQ(server.asked().at(2), "DELETE /api/v1/namespaces/n/services/" + names.at(0));
  EXPECT_EQ(server.asked().at(3), "DELETE /api/v1/namespaces/n/services/" + names.at(1));
  EXPECT_EQ(server.asked().size(), 5U) << "it goes on until it may not";
}

}  // namespace
}  // namespace muster::clusters
