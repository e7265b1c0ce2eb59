#include "clusters/kubernetes/acquaintance.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "kube/testing/scripted_server.h"

namespace muster::clusters {
namespace {

using kube::testing::make_client;
using kube::testing::ScriptedServer;
using ports::ClusterAbout;

constexpr const char* kube_system = R"({"kind":"Namespace","metadata":{"uid":"u-1"}})";
constexpr const char* jane = R"({"status":{"userInfo":{"username":"jane"}}})";
constexpr const char* forbidden = R"({"kind":"Status","reason":"Forbidden","code":403})";

/// A cluster that is asked one thing at a time.
class AcquaintanceTest : public ::testing::Test {
 protected:
  /// What it says from now on; "": that it must not be said.
  void say(const std::string& identity, const std::string& version, const std::string& user) {
    const std::lock_guard lock(mutex_);
    answers_["/api/v1/namespaces/kube-system"] = identity;
    answers_["/version"] = version.empty() ? "" : R"({"gitVersion":")" + version + R"("})";
    answers_["/apis/authentication.k8s.io/v1/selfsubjectreviews"] = user;
    answers_["/healthz"] = "{}";
  }
  void ask(std::string path) { EXPECT_TRUE(client_->send({.path = std::move(path)}).ok()); }
  void prepare(int questions) {
    for (int i = 0; i < questions; ++i)
      server_.then([this](const net::Request& request, const net::Responder& to) {
        const std::lock_guard lock(mutex_);
        const std::string& answer = answers_[request.target];
        to.send({answer.empty() ? 403 : 200, {}, answer.empty() ? forbidden : answer});
      });
  }
  /// Until all is said: what it asks second stands in line behind the others' last question.
  void pass(Time now) {
    prepare(5);
    known_.pass(*client_, true, now);
    ask("/healthz");
    ask("/healthz");
  }
  void expect_no_question(bool is_reached, Time now) {
    const std::size_t before = server_.asked().size();
    prepare(1);
    known_.pass(*client_, is_reached, now);
    ask("/healthz");
    EXPECT_EQ(server_.asked().size(), before + 1);
  }

  std::mutex mutex_;
  std::map<std::string, std::string> answers_;  // guarded by mutex_
  ScriptedServer server_;
  Acquaintance known_;
  std::unique_ptr<kube::Client> client_ = make_client(server_.access(), {.requests_max = 1});
};

TEST_F(AcquaintanceTest, AClusterIsAskedWhenItIsReached) {
  say(kube_system, "v1.34.4", jane);
  expect_no_question(false, Time{0});
  EXPECT_EQ(known_.about(), ClusterAbout{});
  pass(Time{1000});
  EXPECT_EQ(known_.identity(), "u-1");
  EXPECT_EQ(known_.about(), (ClusterAbout{"v1.34.4", "jane"}));
  expect_no_question(true, Time{2000});
}

TEST_F(AcquaintanceTest, AnUpgradeIsSeenWithinMinutesAndAtOnceWhenTheClusterWasAway) {
  say(kube_system, "v1.33.0", jane);
  pass(Time{0});
  say(kube_system, "v1.34.0", jane);
  pass(Time{0} + minutes(5));
  EXPECT_EQ(known_.about().version, "v1.34.0");
  say(kube_system, "v1.35.0", jane);
  expect_no_question(false, Time{0} + minutes(6));
  pass(Time{1} + minutes(6));
  EXPECT_EQ(known_.about().version, "v1.35.0");
}

TEST_F(AcquaintanceTest, WhatIsNotSaidAgainStaysAsItWas) {
  say("", "v1.34.4", jane);
  pass(Time{0});
  EXPECT_EQ(known_.identity(), "");
  say(kube_system, "", "");
  pass(Time{0} + minutes(5));
  EXPECT_EQ(known_.identity(), "u-1") << "it may be read now";
  EXPECT_EQ(known_.about(), (ClusterAbout{"v1.34.4", "jane"}));
}

}  // namespace
}  // namespace muster::clusters
