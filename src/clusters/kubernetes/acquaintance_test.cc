#include "clusters/kubernetes/acquaintance.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "kube/testing/scripted_server.h"

namespace muster::clusters {
namespace {

using kube::testing::make_client;
using kube::testing::ScriptedServer;
using ports::ClusterAbout;

constexpr const char* kube_system = R"({"kind":"Namespace","metadata":{"uid":"u-1"}})";
constexpr const char* jane = R"({"status":{"userInfo":{"username":"jane"}}})";
constexpr const char* forbidden = R"({"kind":"Status","reason":"Forbidden","code":403})";

std::string version(const std::string& text) { return R"({"gitVersion":")" + text + R"("})"; }

/// A cluster that is asked one thing at a time.
struct Cluster {
  ScriptedServer server;
  Acquaintance known;
  std::unique_ptr<kube::Client> client = make_client(server.access(), {.requests_max = 1});

  /// Says this when it is asked who it is and who we are.
  void say(const std::string& its_version, int status, const char* user) {
    server.then(200, version(its_version)).then(200, "{}").then(status, user).then(200, "{}");
  }
  /// Until it has said all of it: the questions of this function stand in line behind the others.
  void pass(bool is_reached, Time now) {
    known.pass(*client, is_reached, now);
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(client->send({.path = "/healthz"}).ok());
  }
  void skip(bool is_reached, Time now) {
    const std::size_t before = server.asked().size();
    known.pass(*client, is_reached, now);
    server.then(200, "{}");
    EXPECT_TRUE(client->send({.path = "/healthz"}).ok());
    EXPECT_EQ(server.asked().size(), before + 1) << "nothing was to be asked";
  }
};

TEST(Acquaintance, AClusterIsAskedWhenItIsReached) {
  Cluster cluster;
  cluster.skip(false, Time{0});
  EXPECT_EQ(cluster.known.about(), ClusterAbout{});
  cluster.server.then(200, kube_system);
  cluster.say("v1.34.4", 201, jane);
  cluster.pass(true, Time{1000});
  EXPECT_EQ(cluster.known.identity(), "u-1");
  EXPECT_EQ(cluster.known.about(), (ClusterAbout{"v1.34.4", "jane"}));
  cluster.skip(true, Time{2000});
}

TEST(Acquaintance, AnUpgradeIsSeenWithinMinutesAndAtOnceWhenTheClusterWasAway) {
  Cluster cluster;
  cluster.server.then(200, kube_system);
  cluster.say("v1.33.0", 201, jane);
  cluster.pass(true, Time{0});
  cluster.say("v1.34.0", 201, jane);
  cluster.pass(true, Time{0} + minutes(5));
  EXPECT_EQ(cluster.known.about().version, "v1.34.0");
  cluster.skip(false, Time{0} + minutes(6));
  cluster.say("v1.35.0", 201, jane);
  cluster.pass(true, Time{1} + minutes(6));
  EXPECT_EQ(cluster.known.about().version, "v1.35.0");
}

TEST(Acquaintance, WhatIsNotSaidAgainStaysAsItWas) {
  Cluster cluster;
  cluster.server.then(403, forbidden);
  cluster.say("v1.34.4", 201, jane);
  cluster.pass(true, Time{0});
  EXPECT_EQ(cluster.known.identity(), "");
  cluster.server.then(200, kube_system);
  cluster.say("", 403, forbidden);
  cluster.pass(true, Time{0} + minutes(5));
  EXPECT_EQ(cluster.known.identity(), "u-1") << "it may be read now";
  EXPECT_EQ(cluster.known.about(), (ClusterAbout{"v1.34.4", "jane"}));
}

}  // namespace
}  // namespace muster::clusters
