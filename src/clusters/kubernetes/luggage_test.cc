#include "clusters/kubernetes/luggage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <future>

#include "kube/testing/scripted_server.h"

namespace muster::clusters {
namespace {

using boost::json::parse;
using kube::testing::make_client;
using kube::testing::ScriptedServer;
using model::NamedObject;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const boost::json::value root =
    parse(R"({"metadata":{"name":"root","namespace":"team","uid":"r1",)"
          R"("labels":{"muster.dev/server":"s1","muster.dev/job":"j"}}})");
constexpr const char* exists =
    R"({"kind":"Status","status":"Failure","reason":"AlreadyExists","code":409,"message":"x"})";
constexpr const char* conflict =
    R"({"kind":"Status","status":"Failure","reason":"Conflict","code":409,"message":"busy"})";
constexpr const char* missing =
    R"({"kind":"Status","status":"Failure","reason":"NotFound","code":404,"message":"none"})";
/// Ours, of another attempt.
constexpr const char* shared =
    R"({"metadata":{"name":"s","resourceVersion":"3","labels":{"muster.dev/travelled":"true",)"
    R"("muster.dev/server":"s1"},"ownerReferences":[{"uid":"r0"}]},"data":{"k":"old"}})";
constexpr const char* owned =
    R"({"metadata":{"name":"s","labels":{"muster.dev/travelled":"true","muster.dev/server":"s1"},)"
    R"("ownerReferences":[{"uid":"r1"}]},"data":{"k":"new"}})";
constexpr const char* of_others = R"({"metadata":{"name":"s"},"data":{"k":"theirs"}})";

const ports::Luggage::Piece secret{
    {NamedObject::Kind::Secret, "s", false},
    R"({"metadata":{"name":"s","uid":"hub","labels":{"mine":"x"},"finalizers":["f"]},)"
    R"("type":"kubernetes.io/tls","data":{"k":"new"}})",
    ""};
ports::Luggage::Piece unknown(bool is_optional) {
  return {{NamedObject::Kind::ConfigMap, "m", is_optional}, "", ""};
}

kube::Reply<std::vector<LuggageNote>> carried(ScriptedServer& server,
                                              std::vector<ports::Luggage::Piece> pieces) {
  const auto client = make_client(server.access());
  std::promise<kube::Reply<std::vector<LuggageNote>>> done;
  carry(*client, std::move(pieces), root, [&](const auto& reply) { done.set_value(reply); });
  return done.get_future().get();
}

TEST(Luggage, IsMadeOfWhatItHoldsAndOwnedByTheRoot) {
  const auto made = luggage_object(secret, root);
  EXPECT_EQ(made, parse(R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s",)"
                        R"("namespace":"team","labels":{"muster.dev/travelled":"true",)"
                        R"("muster.dev/server":"s1"},"ownerReferences":[{"apiVersion":"v1",)"
                        R"("kind":"ConfigMap","name":"root","uid":"r1",)"
                        R"("blockOwnerDeletion":true}]},"type":"kubernetes.io/tls",)"
                        R"("data":{"k":"new"}})"));
  EXPECT_THAT(serialize(made), Not(HasSubstr("muster.dev/job")))
      << "what is deleted by the labels of one attempt would be missing to another";
}

TEST(Luggage, OneThatAnotherAttemptBroughtGetsOneMoreOwnerAndWhatTheHubHasNow) {
  ScriptedServer server;
  server.then(409, exists).then(200, shared).then(409, conflict);
  server.then(409, exists).then(200, shared).then(200, owned);
  const auto notes = carried(server, {secret});
  ASSERT_TRUE(notes.ok()) << notes.error().message;
  EXPECT_TRUE(notes->empty());
  const std::string body = server.request(5).body;
  EXPECT_THAT(server.asked()[5], StartsWith("PUT "));
  EXPECT_THAT(body, HasSubstr(R"("r0")"));
  EXPECT_THAT(body, HasSubstr(R"("r1")"));
  EXPECT_THAT(body, HasSubstr(R"("k":"new")"));
  EXPECT_THAT(body, HasSubstr(R"("resourceVersion":"3")"));
}

TEST(Luggage, OneThatIsThereAsItShouldBeIsLeft) {
  ScriptedServer server;
  server.then(409, exists).then(200, owned);
  EXPECT_TRUE(carried(server, {secret}).ok());
  EXPECT_EQ(server.asked().size(), 2U);
}

TEST(Luggage, WhatIsNotOursIsUsedAsItIsAndTold) {
  ScriptedServer server;
  server.then(409, exists).then(200, of_others);
  const auto notes = carried(server, {secret});
  ASSERT_TRUE(notes.ok());
  ASSERT_EQ(notes->size(), 1U);
  EXPECT_EQ((*notes)[0].object, "Secret s");
  EXPECT_THAT((*notes)[0].message, HasSubstr("left as it is"));
}

TEST(Luggage, ARequiredOneThatIsNowhereIsNamed) {
  ScriptedServer server;
  server.then(404, missing);
  const auto notes = carried(server, {unknown(false)});
  ASSERT_FALSE(notes.ok());
  EXPECT_EQ(notes.error().message,
            "ConfigMap m, which its pods name, is neither in namespace team of the hub nor in that "
            "of this cluster");
}

TEST(Luggage, OneThatStaysInTheHubHasToBeHere) {
  const ports::Luggage::Piece claim{
      {NamedObject::Kind::VolumeClaim, "data", false}, "", "volume claims do not travel"};
  ScriptedServer server;
  server.then(404, missing);
  const auto notes = carried(server, {claim});
  ASSERT_FALSE(notes.ok());
  EXPECT_EQ(notes.error().message,
            "PersistentVolumeClaim data, which its pods name, is not in namespace team of this "
            "cluster: volume claims do not travel");
  ScriptedServer having;
  having.then(200, of_others);
  EXPECT_TRUE(carried(having, {claim}).ok());
  EXPECT_THAT(having.asked(),
              ElementsAre("GET /api/v1/namespaces/team/persistentvolumeclaims/data"));
}

TEST(Luggage, AnAccountIsMadeWithoutTokensSecretsAndRights) {
  const ports::Luggage::Piece account{
      {NamedObject::Kind::ServiceAccount, "robot", false},
      R"({"metadata":{"name":"robot","annotations":{"eks.amazonaws.com/role-arn":"r"}},)"
      R"("secrets":[{"name":"t"}],"imagePullSecrets":[{"name":"p"}],)"
      R"("automountServiceAccountToken":false})",
      ""};
  const auto made = luggage_object(account, root);
  EXPECT_EQ(made.at("kind"), "ServiceAccount");
  EXPECT_EQ(made.at("automountServiceAccountToken"), false);
  EXPECT_FALSE(made.as_object().contains("secrets"));
  EXPECT_FALSE(made.as_object().contains("imagePullSecrets"));
  EXPECT_FALSE(made.at("metadata").as_object().contains("annotations"));
}

TEST(Luggage, AnOptionalOneIsNotMissedAndOneThatIsHereIsUsed) {
  ScriptedServer server;
  server.then(200, of_others);
  EXPECT_TRUE(carried(server, {unknown(true), unknown(false)}).ok());
  EXPECT_THAT(server.asked(), ElementsAre("GET /api/v1/namespaces/team/configmaps/m"));
}

}  // namespace
}  // namespace muster::clusters
