#include "api/appwrapper/luggage.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "kube/testing/scripted_server.h"

namespace muster::api {
namespace {

using kube::testing::make_client;
using kube::testing::ScriptedServer;
using model::NamedObject;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* open_space =
    R"({"metadata":{"name":"team","labels":{"muster.dev/travel-secrets":"true","own":"x",)"
    R"("pod-security.kubernetes.io/enforce":"restricted"}}})";
constexpr const char* shut_space = R"({"metadata":{"name":"team"}})";
constexpr const char* missing =
    R"({"kind":"Status","status":"Failure","reason":"NotFound","code":404,"message":"none"})";
constexpr const char* forbidden =
    R"({"kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":"no"})";

const NamedObject secret{NamedObject::Kind::Secret, "s", false};
const NamedObject config{NamedObject::Kind::ConfigMap, "m", false};

Result<ports::Luggage> packed(ScriptedServer& server, std::vector<NamedObject> named,
                              TravelOptions options = {}) {
  const auto client = make_client(server.access());
  LuggageDesk desk(*client, options);
  ports::Departure departure;
  departure.hub.ns = "team";
  departure.named = std::move(named);
  std::promise<Result<ports::Luggage>> done;
  desk.pack(departure, [&](const Result<ports::Luggage>& luggage) { done.set_value(luggage); });
  return done.get_future().get();
}

/// "Secret s: why" of what stays.
std::vector<std::string> left(const ports::Luggage& luggage) {
  std::vector<std::string> lines;
  for (const auto& [what, why] : luggage.left)
    lines.push_back(fmt::format("{}: {}", to_text(what), why));
  return lines;
}

TEST(LuggageDesk, WhatPodsNameGoesAlongAndANamespaceThatIsAsStrict) {
  ScriptedServer server;
  server.then(200, open_space).then(200, R"({"data":{"k":"dg=="}})").then(200, R"({"data":{}})");
  const auto luggage = packed(server, {secret, config});
  ASSERT_TRUE(luggage.ok());
  EXPECT_THAT(server.asked(),
              ElementsAre(HasSubstr("/namespaces/team"), HasSubstr("/namespaces/team/secrets/s"),
                          HasSubstr("/namespaces/team/configmaps/m")));
  ASSERT_EQ(luggage->pieces.size(), 2U);
  EXPECT_THAT(luggage->pieces[0].object, HasSubstr("dg=="));
  EXPECT_THAT(left(*luggage), IsEmpty());
  EXPECT_THAT(luggage->space, HasSubstr(R"("pod-security.kubernetes.io/enforce":"restricted")"));
  EXPECT_THAT(luggage->space, ::testing::Not(HasSubstr("own"))) << "labels may give rights";
}

TEST(LuggageDesk, SecretsStayUnlessTheirNamespaceLetsThemGo) {
  ScriptedServer server;
  server.then(200, shut_space).then(200, "{}");
  const auto luggage = packed(server, {secret, config});
  ASSERT_TRUE(luggage.ok());
  ASSERT_EQ(luggage->pieces.size(), 1U);
  EXPECT_EQ(luggage->pieces[0].what, config);
  EXPECT_THAT(left(*luggage), ElementsAre("Secret s: namespace team of the hub has no label "
                                          "muster.dev/travel-secrets: \"true\""));
}

TEST(LuggageDesk, TheConfigurationCanForbidIt) {
  ScriptedServer server;
  const auto luggage =
      packed(server, {secret, config},
             {.makes_namespaces = false, .takes_config_maps = false, .takes_secrets = false});
  ASSERT_TRUE(luggage.ok());
  EXPECT_THAT(server.asked(), IsEmpty());
  EXPECT_THAT(luggage->pieces, IsEmpty());
  EXPECT_EQ(luggage->space, "");
  EXPECT_THAT(left(*luggage),
              ElementsAre("Secret s: the configuration lets no Secrets travel",
                          "ConfigMap m: the configuration lets no ConfigMaps travel"));
}

TEST(LuggageDesk, WhatTheHubDoesNotHaveIsSaidAndTokensOfAccountsNeverGo) {
  ScriptedServer server;
  server.then(200, open_space)
      .then(404, missing)
      .then(200, R"({"type":"kubernetes.io/service-account-token"})")
      .then(403, forbidden);
  const NamedObject token{NamedObject::Kind::Secret, "t", false};
  const auto luggage = packed(server, {secret, token, config});
  ASSERT_TRUE(luggage.ok());
  ASSERT_EQ(luggage->pieces.size(), 1U);
  EXPECT_EQ(luggage->pieces[0].object, "") << "whoever makes it decides";
  EXPECT_THAT(left(*luggage), ElementsAre("Secret t: it is the token of a service account",
                                          HasSubstr("ConfigMap m: the hub does not let it")));
}

TEST(LuggageDesk, VolumeClaimsStayAndAccountsGoWhereTheyMay) {
  const NamedObject claim{NamedObject::Kind::VolumeClaim, "data", false};
  const NamedObject account{NamedObject::Kind::ServiceAccount, "robot", false};
  ScriptedServer server;
  server.then(200, shut_space);
  const auto strict = packed(server, {account, claim});
  ASSERT_TRUE(strict.ok());
  ASSERT_EQ(strict->pieces.size(), 2U);
  EXPECT_EQ(strict->pieces[0].stays, "the configuration lets no service accounts travel");
  EXPECT_EQ(strict->pieces[1].stays, "volume claims do not travel, as their data does not");
  ScriptedServer open;
  open.then(200, shut_space).then(200, R"({"metadata":{"name":"robot"}})");
  const auto lax = packed(open, {account, claim}, {.takes_service_accounts = true});
  ASSERT_TRUE(lax.ok());
  EXPECT_EQ(lax->pieces[0].stays, "");
  EXPECT_THAT(lax->pieces[0].object, HasSubstr("robot"));
  EXPECT_NE(lax->pieces[1].stays, "");
}

TEST(LuggageDesk, AHubThatDoesNotAnswerIsAskedAgain) {
  ScriptedServer server;
  for (int i = 0; i < 3; ++i) server.then(500, "{}");
  const auto luggage = packed(server, {secret});
  ASSERT_FALSE(luggage.ok());
  EXPECT_EQ(luggage.error().fault, Fault::Unavailable);
}

}  // namespace
}  // namespace muster::api
