// Who we are to a real API server: certificates, tokens, plugins, and what is renewed on the way.
#include <gmock/gmock.h>

#include <boost/json/serialize.hpp>
#include <filesystem>
#include <fstream>

#include "kube/testing/folder.h"
#include "tests/e2e/kube_cluster.h"

namespace muster::e2e {
namespace {

using kube::testing::Folder;
using ::testing::HasSubstr;

/// The user name the server knows us by, or the error.
std::string who(kube::Client& client) {
  const auto review = client.send(
      {.method = "POST",
       .path = "/apis/authentication.k8s.io/v1/selfsubjectreviews",
       .content_type = "application/json",
       .body = R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})"});
  if (!review) return fmt::format("{} {}", review.error().code, review.error().message);
  return std::string(kube::text_at(*review, {"status", "userInfo", "username"}));
}

kube::Access as(kube::UserEntry user) {
  kube::Access access = admin();
  access.user = std::move(user);
  return access;
}

TEST(KubeCredentials, AClientCertificateNamesItsUser) {
  EXPECT_EQ(who(*connect(admin())), "admin");
}

TEST(KubeCredentials, ATokenNamesItsUserAndAWrongOneIsRefused) {
  EXPECT_EQ(who(*connect(as({.token = "token-of-admin"}))), "token-admin");
  EXPECT_THAT(who(*connect(as({.token = "wrong"}))), HasSubstr("401"));
}

TEST(KubeCredentials, WhoMayNotIsForbidden) {
  const auto client = connect(as({.token = "token-of-nobody"}));
  const auto pods = client->send(kube::list_request(kube::resources::pods(), "default"));
  ASSERT_FALSE(pods.ok());
  EXPECT_TRUE(pods.error().is_forbidden());
  EXPECT_EQ(pods.error().reason, "Forbidden");
  EXPECT_THAT(pods.error().message, HasSubstr("nobody"));
}

TEST(KubeCredentials, ImpersonationIsBelieved) {
  kube::Access access = admin();
  access.user.impersonate = {.user = "jane", .groups = {"system:masters"}};
  EXPECT_EQ(who(*connect(access)), "jane");
}

TEST(KubeCredentials, ATokenFileThatIsReplacedIsUsedAfterTheRefusal) {
  Folder folder;
  const auto client = connect(as({.token_file = folder.write("token", "expired")}));
  EXPECT_THAT(who(*client), HasSubstr("401"));
  folder.write("token", "token-of-admin");
  EXPECT_EQ(who(*client), "token-admin");
}

TEST(KubeCredentials, APluginsTokenIsUsedAndRenewedWhenItIsRefused) {
  Folder folder;
  // The first run gives a token that the server does not know (any more).
  const std::string plugin = folder.script(
      "plugin", "token=expired; [ -e " + folder.path("ran") + " ] && token=token-of-admin\ntouch " +
                    folder.path("ran") +
                    "\necho '{\"apiVersion\":\"client.authentication.k8s.io/v1beta1\","
                    "\"kind\":\"ExecCredential\",\"status\":{\"token\":\"'$token'\"}}'\n");
  kube::UserEntry user;
  user.exec =
      kube::ExecPlugin{.api_version = "client.authentication.k8s.io/v1beta1", .command = plugin};
  EXPECT_EQ(who(*connect(as(user))), "token-admin");
}

TEST(KubeCredentials, APluginsCertificateIsUsed) {
  Folder folder;
  const kube::Access from = admin();
  const std::string status = json::serialize(json::object(
      {{"clientCertificateData", from.user.cert.data}, {"clientKeyData", from.user.key.data}}));
  folder.write("answer", R"({"apiVersion":"client.authentication.k8s.io/v1",)"
                         R"("kind":"ExecCredential","status":)" +
                             status + "}");
  kube::UserEntry user;
  user.exec = kube::ExecPlugin{.api_version = "client.authentication.k8s.io/v1",
                               .command = "cat",
                               .args = {folder.path("answer")}};
  EXPECT_EQ(who(*connect(as(user))), "admin");
}

TEST(KubeCredentials, TheServerIsKnownByTheNameGiven) {
  kube::Access access = admin();
  access.cluster.tls_server_name = "apiserver.test";
  EXPECT_EQ(who(*connect(access)), "admin");
  access.cluster.tls_server_name = "somebody.else";
  EXPECT_THAT(who(*connect(access)), HasSubstr("cannot trust"));
}

TEST(KubeCredentials, WithoutVerificationAnybodyIsTrusted) {
  kube::Access access = admin();
  access.cluster.ca = {};
  EXPECT_THAT(who(*connect(access)), HasSubstr("cannot trust")) << "the system does not know it";
  access.cluster.verify = false;
  EXPECT_EQ(who(*connect(access)), "admin");
}

TEST(KubeCredentials, AnAuthorityThatIsReplacedIsTakenUp) {
  Folder folder;
  kube::Access access = admin();
  const std::string right = access.cluster.ca.data;
  // Another certificate, which signed nothing here.
  access.cluster.ca = {.file = folder.write("ca.crt", access.user.cert.data)};
  kube::ClientOptions options;
  options.credentials.file_age_max = milliseconds(0);
  const auto client = connect(access, options);
  EXPECT_THAT(who(*client), HasSubstr("cannot trust"));
  folder.write("ca.crt", right);
  EXPECT_EQ(who(*client), "admin");
}

}  // namespace
}  // namespace muster::e2e
