#include "auth/identity.h"

#include <gtest/gtest.h>

#include "base/testing/scratch.h"

namespace muster::auth {
namespace {

struct IdentityTest : ::testing::Test {
  Scratch scratch;
  std::unique_ptr<Tokens> tokens = *Tokens::open(scratch.file("tokens"));
  std::string bearer = "Bearer " + tokens->create("bob", "ci", Time{1})->secret;
  Claim here{.authorization = "", .host = "localhost:8080", .is_loopback = true};

  Identity ask(const Claim& claim, std::string_view local_user = "ann") {
    return identify(claim, *tokens, local_user, Time{2});
  }
};

TEST_F(IdentityTest, ATokenGivesItsUserFromAnywhere) {
  EXPECT_EQ(ask({.authorization = bearer}).user, "bob");
  here.authorization = bearer;
  EXPECT_EQ(ask(here).user, "bob");
  std::string shout = bearer;
  shout.replace(0, 6, "BEARER");
  EXPECT_EQ(ask({.authorization = shout}).user, "bob");
}

TEST_F(IdentityTest, WithoutATokenOnlyThisMachineIsKnown) {
  EXPECT_EQ(ask(here).user, "ann");
  const Identity stranger = ask({.host = "localhost"});
  EXPECT_FALSE(stranger.ok());
  EXPECT_EQ(stranger.refusal, Refusal::Unauthenticated);
  EXPECT_NE(stranger.message.find("MUSTER_TOKEN"), std::string::npos);
}

TEST_F(IdentityTest, AWrongTokenIsNotMendedByComingFromHere) {
  for (const std::string_view wrong : {"Bearer mst_x", "Bearer", "Bearer ", "Basic YTpi", "x"}) {
    here.authorization = wrong;
    EXPECT_FALSE(ask(here).ok()) << wrong;
    EXPECT_EQ(ask(here).refusal, Refusal::Unauthenticated) << wrong;
  }
}

TEST_F(IdentityTest, ARevokedTokenIsNobodysAtTheNextRequest) {
  ASSERT_TRUE(ask({.authorization = bearer}).ok());
  ASSERT_TRUE(tokens->revoke("ci"));
  EXPECT_FALSE(ask({.authorization = bearer}).ok());
}

TEST_F(IdentityTest, WithoutALocalUserEverybodyNeedsAToken) {
  EXPECT_FALSE(ask(here, "").ok());
  here.authorization = bearer;
  EXPECT_TRUE(ask(here, "").ok());
}

TEST_F(IdentityTest, AProxyOnThisMachineDoesNotMakeStrangersLocal) {
  here.is_forwarded = true;
  EXPECT_EQ(ask(here).refusal, Refusal::Unauthenticated);
  EXPECT_FALSE(ask(here).ok());
}

TEST_F(IdentityTest, APageOfAnotherSiteIsNotTheLocalUser) {
  here.origin = "https://evil.example";
  EXPECT_EQ(ask(here).refusal, Refusal::Forbidden);
  here.origin = "null";
  EXPECT_FALSE(ask(here).ok());
  here.origin = "http://localhost.evil.example";
  EXPECT_FALSE(ask(here).ok());
  here.origin = "http://localhost:8080";
  EXPECT_EQ(ask(here).user, "ann");
}

TEST_F(IdentityTest, ANameThatOnlyResolvesToThisMachineIsNotTheLocalUser) {
  here.host = "rebound.example:8080";
  EXPECT_EQ(ask(here).refusal, Refusal::Forbidden);
  here.authorization = bearer;
  EXPECT_EQ(ask(here).user, "bob");
}

TEST(Identity, LoopbackHosts) {
  for (const std::string_view yes :
       {"localhost", "LocalHost:80", "127.0.0.1", "127.1.2.3:8080", "[::1]", "[::1]:80", "::1"})
    EXPECT_TRUE(is_loopback_host(yes)) << yes;
  for (const std::string_view no :
       {"", ":8080", "0.0.0.0", "10.0.0.1", "127.evil.example", "127.0.0.1.example", "127.0.0",
        "127.0.0.256", "[::]:80", "[::1", "::", "localhost.example", "1270.0.0.1"})
    EXPECT_FALSE(is_loopback_host(no)) << no;
}

TEST(Identity, LocalNamesAreMadeFit) {
  EXPECT_EQ(local_user_name("ann"), "ann");
  EXPECT_EQ(local_user_name("-ann b"), "annb");
  EXPECT_EQ(local_user_name(""), "local");
  EXPECT_EQ(local_user_name("!!"), "local");
  EXPECT_EQ(local_user_name(std::string(100, 'x')).size(), 64u);
}

TEST(MayListen, OnLoopbackAlways) {
  for (const std::string address : {"127.0.0.1:8080", "localhost:0", "[::1]:80", "unix:/tmp/m"}) {
    EXPECT_TRUE(may_listen({.address = address, .runs_processes_here = true})) << address;
    EXPECT_EQ(listen_warning({.address = address}), "") << address;
  }
}

TEST(MayListen, BeyondLoopbackOnlyWithTokens) {
  for (const std::string address : {"0.0.0.0:8080", ":8080", "[::]:80", "10.0.0.1:80", "host:1"}) {
    const Status none = may_listen({.address = address, .tls = true});
    ASSERT_FALSE(none) << address;
    EXPECT_NE(none.error().message.find("token create"), std::string::npos);
    EXPECT_TRUE(may_listen({.address = address, .tokens = 1})) << address;
    EXPECT_NE(listen_warning({.address = address, .tokens = 1}), "") << address;
    EXPECT_EQ(listen_warning({.address = address, .tls = true, .tokens = 1}), "") << address;
  }
}

TEST(MayListen, NotBeyondLoopbackWhereProcessesRunHere) {
  const Status no =
      may_listen({.address = "0.0.0.0:80", .tls = true, .tokens = 3, .runs_processes_here = true});
  ASSERT_FALSE(no);
  EXPECT_NE(no.error().message.find("type local"), std::string::npos);
}

}  // namespace
}  // namespace muster::auth
