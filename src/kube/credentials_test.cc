#include "kube/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "kube/testing/folder.h"
#include "kube/timestamp.h"
#include "net/testing/mailbox.h"

namespace muster::kube {
namespace {

using net::testing::Mailbox;
using testing::Folder;
using ::testing::HasSubstr;

/// Credentials with a clock that the test turns.
struct Fixture {
  explicit Fixture(Access a, CredentialOptions options = {}) : access(std::move(a)) {
    options.now = [this] { return Time{clock_ms.load()}; };
    credentials.emplace(access, options);
  }
  Result<Credential> get() {
    Mailbox<Result<Credential>> box;
    credentials->get([&](Result<Credential> credential) { box.put(std::move(credential)); });
    return box.take();
  }
  /// The Authorization header, or the error.
  std::string said() {
    const auto credential = get();
    return credential ? std::string(credential->headers.get("Authorization"))
                      : credential.error().message;
  }

  Access access;
  std::atomic<std::int64_t> clock_ms = 1'000'000'000'000;
  std::optional<Credentials> credentials;
};

/// Prints token-1, token-2 and so on.
std::string counting_plugin(const Folder& folder, const std::string& more_status = "") {
  const std::string file = folder.path("count");
  return folder.script("plugin", "n=$(( $(cat " + file + " 2>/dev/null || echo 0) + 1 ))\n" +
                                     "echo $n > " + file + "\n" +
                                     R"(echo '{"apiVersion":"client.authentication.k8s.io/v1",)"
                                     R"("kind":"ExecCredential","status":{"token":"token-'$n'")" +
                                     more_status + "}}'\n");
}

Access with_plugin(const std::string& command) {
  Access access;
  access.user.exec =
      ExecPlugin{.api_version = "client.authentication.k8s.io/v1", .command = command};
  return access;
}

TEST(Credentials, TokensAndPasswordsBecomeHeaders) {
  Access token;
  token.user.token = "abc";
  EXPECT_EQ(Fixture(token).said(), "Bearer abc");
  Access basic;
  basic.user.username = "u";
  basic.user.password = "p";
  EXPECT_EQ(Fixture(basic).said(), "Basic dTpw");
  EXPECT_EQ(Fixture(Access{}).said(), "") << "nobody is allowed";
}

TEST(Credentials, ImpersonationIsSentWithEveryRequest) {
  Access access;
  access.user.impersonate = {.user = "jane",
                             .uid = "7",
                             .groups = {"dev", "ops"},
                             .extra = {{"scopes", {"view"}}, {"example.com/100% sure", {"yes"}}}};
  const auto credential = Fixture(access).get();
  EXPECT_EQ(credential->headers.get("Impersonate-User"), "jane");
  EXPECT_EQ(credential->headers.get("Impersonate-Extra-scopes"), "view");
  EXPECT_EQ(credential->headers.get("Impersonate-Extra-example.com%2F100%25%20sure"), "yes");
  EXPECT_EQ(credential->headers.size(), 6U);
}

TEST(Credentials, ATokenFileIsReadAgainAfterAWhileAndAtOnceAfterA401) {
  Folder folder;
  Access access;
  access.user.token_file = folder.write("token", "one\n");
  Fixture fixture(access);
  EXPECT_EQ(fixture.said(), "Bearer one");
  folder.write("token", "two\n");
  EXPECT_EQ(fixture.said(), "Bearer one");
  fixture.clock_ms += 11'000;
  EXPECT_EQ(fixture.said(), "Bearer two");
  folder.write("token", "three");
  EXPECT_TRUE(fixture.credentials->reject(fixture.get()->generation));
  EXPECT_EQ(fixture.said(), "Bearer three");
}

TEST(Credentials, AnotherAccessAnswersFromThenOn) {
  Access old;
  old.user.token = "old";
  old.cluster.ca.data = "CA";
  Fixture fixture(old);
  const auto first = fixture.get();
  Access other = old;
  other.user.token = "new";
  fixture.credentials->renew(other);
  EXPECT_TRUE(fixture.credentials->reject(first->generation)) << "asking again gives another";
  const auto second = fixture.get();
  EXPECT_EQ(second->headers.get("Authorization"), "Bearer new");
  EXPECT_EQ(second->tls, first->tls) << "connections are kept";
  EXPECT_NE(second->generation, first->generation);
  other.cluster.verify = false;
  fixture.credentials->renew(other);
  EXPECT_FALSE(fixture.get()->tls->verify);
}

TEST(Credentials, WhoWaitsForThePluginOfAnAccessIsAnsweredByTheNextOne) {
  const Folder folder;
  // It begins, and ends when it is told to.
  Fixture fixture(with_plugin(folder.script("old", "touch " + folder.path("begun") +
                                                       "\nwhile [ ! -e " + folder.path("end") +
                                                       " ]; do sleep 0.01; done\nexit 1\n")));
  Mailbox<Result<Credential>> box;
  fixture.credentials->get([&](Result<Credential> credential) { box.put(std::move(credential)); });
  while (!std::filesystem::exists(folder.path("begun"))) std::this_thread::yield();
  fixture.credentials->renew(with_plugin(counting_plugin(folder)));
  folder.write("end", "");
  const auto credential = box.take();
  ASSERT_TRUE(credential.ok()) << credential.error().message;
  EXPECT_EQ(credential->headers.get("Authorization"), "Bearer token-1");
  Access written;
  written.user.token = "written";
  fixture.credentials->renew(written);
  EXPECT_EQ(fixture.said(), "Bearer written");
}

TEST(Credentials, ACertificateFileIsReadAgainAtOnceAfterA401) {
  Folder folder;
  Access access;
  access.user.cert.file = folder.write("crt", "old");
  access.user.key.file = folder.write("key", "old");
  Fixture fixture(access);
  const std::uint64_t first = fixture.get()->generation;
  folder.write("crt", "new");
  folder.write("key", "new");
  EXPECT_EQ(fixture.get()->tls->cert_pem, "old");
  EXPECT_TRUE(fixture.credentials->reject(first));
  EXPECT_EQ(fixture.get()->tls->cert_pem, "new");
  EXPECT_NE(fixture.get()->generation, first);
}

TEST(Credentials, ATokenFileThatVanishesLeavesTheLastToken) {
  Folder folder;
  Access access;
  access.user.token_file = folder.write("token", "one");
  Fixture fixture(access);
  EXPECT_EQ(fixture.said(), "Bearer one");
  std::filesystem::remove(folder.path("token"));
  fixture.clock_ms += 11'000;
  EXPECT_EQ(fixture.said(), "Bearer one");
}

TEST(Credentials, AMissingFileIsAnErrorThatNamesTheField) {
  Access access;
  access.cluster.name = "east";
  access.cluster.origin = "f";
  access.cluster.ca.file = "/no/ca.crt";
  EXPECT_EQ(Fixture(access).said(),
            "f: clusters[east].certificate-authority: /no/ca.crt: No such file or directory");
}

TEST(Credentials, ANewAuthorityIsSeenAndEqualOnesStayTheSame) {
  Folder folder;
  Access access;
  access.cluster.ca.file = folder.write("ca", "old");
  Fixture fixture(access);
  const auto first = fixture.get()->tls;
  fixture.clock_ms += 11'000;
  EXPECT_EQ(fixture.get()->tls, first);
  folder.write("ca", "new");
  fixture.clock_ms += 11'000;
  EXPECT_EQ(fixture.get()->tls->ca_pem, "new");
}

TEST(Credentials, AStaticTokenThatIsRefusedIsNotAskedForAgain) {
  Access access;
  access.user.token = "abc";
  Fixture fixture(access);
  EXPECT_FALSE(fixture.credentials->reject(fixture.get()->generation));
}

TEST(Credentials, APluginRunsOnceAndAgainAfterA401) {
  Folder folder;
  Fixture fixture(with_plugin(counting_plugin(folder)));
  EXPECT_EQ(fixture.said(), "Bearer token-1");
  EXPECT_EQ(fixture.said(), "Bearer token-1");
  const auto generation = fixture.get()->generation;
  EXPECT_TRUE(fixture.credentials->reject(generation));
  EXPECT_EQ(fixture.said(), "Bearer token-2");
  EXPECT_TRUE(fixture.credentials->reject(generation)) << "it was renewed already";
  EXPECT_EQ(fixture.said(), "Bearer token-2");
}

TEST(Credentials, APluginRunsAgainShortlyBeforeItsTokenExpires) {
  Folder folder;
  const std::int64_t start = 1'000'000'000'000;
  Fixture fixture(with_plugin(counting_plugin(
      folder, R"(,"expirationTimestamp":")" + to_timestamp(Time{start + 60'000}) + "\"")));
  EXPECT_EQ(fixture.said(), "Bearer token-1");
  fixture.clock_ms = start + 39'000;
  EXPECT_EQ(fixture.said(), "Bearer token-1");
  fixture.clock_ms = start + 41'000;
  EXPECT_EQ(fixture.said(), "Bearer token-2");
}

TEST(Credentials, ManyWhoAskAtOnceShareOneRun) {
  Folder folder;
  Fixture fixture(with_plugin(counting_plugin(folder)));
  Mailbox<std::string> box;
  for (int i = 0; i < 20; ++i) {
    fixture.credentials->get([&](const Result<Credential>& credential) {
      box.put(std::string(credential->headers.get("Authorization")));
    });
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(box.take(), "Bearer token-1");
}

TEST(Credentials, APluginThatFailsIsNotRunForEveryRequest) {
  Folder folder;
  Fixture fixture(with_plugin(
      folder.script("fails", "echo x >> " + folder.path("runs") + "; echo broken >&2; exit 1")));
  EXPECT_THAT(fixture.said(), HasSubstr("broken"));
  EXPECT_THAT(fixture.said(), HasSubstr("broken"));
  EXPECT_EQ(folder.read("runs"), "x\n");
  fixture.clock_ms += 2'000;
  EXPECT_THAT(fixture.said(), HasSubstr("broken"));
  EXPECT_EQ(folder.read("runs"), "x\nx\n");
}

TEST(Credentials, AWrittenTokenIsPreferredToAPlugin) {
  Access access = with_plugin("/no/such/plugin");
  access.user.token = "abc";
  EXPECT_EQ(Fixture(access).said(), "Bearer abc");
}

TEST(Credentials, AHangingPluginDoesNotHoldUpTheEnd) {
  Folder folder;
  Fixture fixture(with_plugin(folder.script("hangs", "sleep 600")));
  Mailbox<std::string> box;
  fixture.credentials->get(
      [&](const Result<Credential>& credential) { box.put(credential.error().message); });
  fixture.credentials->stop();
  EXPECT_THAT(box.take(), ::testing::AnyOf(HasSubstr("stopped"), HasSubstr("cancelled")));
}

}  // namespace
}  // namespace muster::kube
