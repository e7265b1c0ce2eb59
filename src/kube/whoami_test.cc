#include "kube/whoami.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/testing/scripted_server.h"

namespace muster::kube {
namespace {

using ::testing::ElementsAre;
using testing::make_client;
using testing::ScriptedServer;

TEST(Whoami, TheServerSaysItsVersionAndWhoWeAre) {
  ScriptedServer server;
  server.then(200, R"({"major":"1","minor":"34","gitVersion":"v1.34.4"})");
  server.then(201, R"({"kind":"SelfSubjectReview","status":{"userInfo":{"username":"jane"}}})");
  const auto client = make_client(server.access());
  EXPECT_EQ(whoami(*client), (Whoami{"v1.34.4", "jane"}));
  EXPECT_THAT(
      server.asked(),
      ElementsAre("GET /version", "POST /apis/authentication.k8s.io/v1/selfsubjectreviews"));
}

TEST(Whoami, WhatItDoesNotSayIsEmpty) {
  ScriptedServer server;
  server.then(403, R"({"kind":"Status","status":"Failure","reason":"Forbidden","code":403})");
  server.then(404, R"({"kind":"Status","status":"Failure","reason":"NotFound","code":404})");
  const auto client = make_client(server.access());
  EXPECT_EQ(whoami(*client), Whoami{});
}

}  // namespace
}  // namespace muster::kube
