#include "kube/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <future>

#include "kube/testing/scripted_server.h"

namespace muster::kube {
namespace {

using ::testing::ElementsAre;
using testing::make_client;
using testing::ScriptedServer;

constexpr const char* aggregated_core = R"({"kind":"APIGroupDiscoveryList","items":[
  {"metadata":{},"versions":[{"version":"v1","resources":[
    {"resource":"pods","singularResource":"pod","scope":"Namespaced","shortNames":["po"],
     "verbs":["create","list"],"responseKind":{"kind":"Pod"},
     "subresources":[{"subresource":"log"}]},
    {"resource":"nodes","scope":"Cluster","responseKind":{"kind":"Node"}}]}]}]})";
constexpr const char* aggregated_groups = R"({"kind":"APIGroupDiscoveryList","items":[
  {"metadata":{"name":"batch"},"versions":[
    {"version":"v1","resources":[{"resource":"jobs","scope":"Namespaced",
      "responseKind":{"kind":"Job"}}]},
    {"version":"v1beta1","resources":[{"resource":"jobs","scope":"Namespaced",
      "responseKind":{"kind":"Job"}}]}]}]})";

constexpr const char* no_groups = R"({"kind":"APIGroupDiscoveryList","items":[]})";

Reply<std::shared_ptr<const ApiResources>> discover(Client& client) {
  std::promise<Reply<std::shared_ptr<const ApiResources>>> promise;
  discover_later(client, [&](auto found) { promise.set_value(std::move(found)); });
  return promise.get_future().get();
}

TEST(Discovery, TheAggregatedFormNeedsTwoRequests) {
  ScriptedServer server;
  server.then(200, aggregated_core).then(200, aggregated_groups);
  const auto client = make_client(server.access());
  const auto found = discover(*client);
  ASSERT_TRUE(found.ok()) << found.error().message;
  const ApiResources& all = **found;
  EXPECT_EQ(all.of_kind("v1", "Pod")->plural, "pods");
  EXPECT_TRUE(all.of_kind("v1", "Pod")->has_subresource("log"));
  EXPECT_FALSE(all.of_kind("v1", "Node")->is_namespaced);
  EXPECT_EQ(all.of_kind("batch/v1beta1", "Job")->version, "v1beta1");
  EXPECT_EQ(all.of_group_kind("batch", "Job")->version, "v1") << "the preferred one";
  EXPECT_EQ(all.of_name("po")->kind, "Pod");
  EXPECT_EQ(all.of_name("jobs.v1beta1.batch")->version, "v1beta1");
  EXPECT_EQ(all.of_name("nothing"), nullptr);
  EXPECT_THAT(server.asked(), ElementsAre("GET /api", "GET /apis"));
}

TEST(Discovery, TheOldFormIsReadVersionByVersionAndADeadGroupIsLeftOut) {
  ScriptedServer server;
  server.then(200, R"({"kind":"APIVersions","versions":["v1"]})")
      .then(200, R"({"kind":"APIGroupList","groups":[
          {"name":"metrics.k8s.io","versions":[{"groupVersion":"metrics.k8s.io/v1"}],
           "preferredVersion":{"groupVersion":"metrics.k8s.io/v1"}},
          {"name":"apps","versions":[{"groupVersion":"apps/v1beta1"},{"groupVersion":"apps/v1"}],
           "preferredVersion":{"groupVersion":"apps/v1"}}]})")
      .then(200, R"({"groupVersion":"v1","resources":[
          {"name":"pods","kind":"Pod","namespaced":true,"verbs":["get"]},
          {"name":"pods/log","kind":"Pod","namespaced":true}]})")
      .then(404, "")
      .then(200, R"({"groupVersion":"apps/v1","resources":[
          {"name":"deployments","singularName":"deployment","kind":"Deployment","namespaced":true,
           "shortNames":["deploy"]}]})")
      .then(200, R"({"groupVersion":"apps/v1beta1","resources":[]})");
  const auto client = make_client(server.access());
  const auto found = discover(*client);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_TRUE((*found)->of_kind("v1", "Pod")->has_subresource("log"));
  EXPECT_EQ((*found)->of_name("deploy")->api_version(), "apps/v1");
  EXPECT_THAT(server.asked(),
              ElementsAre("GET /api", "GET /apis", "GET /api/v1", "GET /apis/metrics.k8s.io/v1",
                          "GET /apis/apps/v1", "GET /apis/apps/v1beta1"));
}

TEST(RestMapper, WhatIsNotKnownIsLookedForOnceMore) {
  ScriptedServer server;
  server.then(200, aggregated_core)
      .then(200, no_groups)
      .then(200, aggregated_core)
      .then(200, aggregated_groups);
  const auto client = make_client(server.access());
  RestMapper mapper(*client, milliseconds(1));
  EXPECT_TRUE(mapper.find("v1", "Pod").ok());
  EXPECT_TRUE(mapper.find("v1", "Node").ok());
  EXPECT_EQ(server.asked().size(), 2U) << "known: not asked again";
  const auto job = mapper.find("batch/v1", "Job");
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(server.asked().size(), 4U);
}

TEST(RestMapper, WhatASilentServerServedIsNotForgotten) {
  constexpr const char* batch_is_down = R"({"kind":"APIGroupDiscoveryList","items":[
    {"metadata":{"name":"batch"},"versions":[{"version":"v1","freshness":"Stale"}]}]})";
  ScriptedServer server;
  server.then(200, aggregated_core).then(200, aggregated_groups);
  server.then(200, aggregated_core).then(200, batch_is_down);
  server.then(200, aggregated_core).then(200, no_groups);
  const auto client = make_client(server.access());
  RestMapper mapper(*client, milliseconds(1));
  EXPECT_TRUE(mapper.find("batch/v1", "Job").ok());
  const auto other = mapper.find("batch/v1", "CronJob");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, 503) << "it may be there: nobody could say";
  EXPECT_TRUE(mapper.find("batch/v1", "Job").ok()) << "as before";
  EXPECT_EQ(mapper.find("batch/v1beta1", "Job").error().code, 404) << "that one is gone";
}

TEST(RestMapper, NorIsItOfTheOldForm) {
  const auto answer_all = [](ScriptedServer& server, int status, const char* body) {
    server.then(200, R"({"kind":"APIVersions","versions":[]})")
        .then(200, R"({"kind":"APIGroupList","groups":[{"name":"apps",
          "versions":[{"groupVersion":"apps/v1"}],
          "preferredVersion":{"groupVersion":"apps/v1"}}]})")
        .then(status, body);
  };
  ScriptedServer server;
  answer_all(server, 200, R"({"groupVersion":"apps/v1","resources":[
      {"name":"deployments","kind":"Deployment","namespaced":true}]})");
  answer_all(server, 503, "");
  const auto client = make_client(server.access(), {.read_attempts_max = 1});
  RestMapper mapper(*client, milliseconds(1));
  EXPECT_TRUE(mapper.find("apps/v1", "Deployment").ok());
  EXPECT_EQ(mapper.find("apps/v1", "DaemonSet").error().code, 503);
  EXPECT_TRUE(mapper.find("apps/v1", "Deployment").ok());
}

}  // namespace
}  // namespace muster::kube
