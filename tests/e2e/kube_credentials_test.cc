// Who we are to a real API server: certificates, tokens, plugins, and what is renewed on the way.
#include <gmock/gmock.h>

#include <boost/json/serialize.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "kube/testing/folder.h"
#include "net/testing/listener.h"
#include "net/url.h"
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

TEST(KubeCredentials, TheServerIsReachedThroughASocksProxy) {
  kube::Access access = admin();
  const auto server = net::parse_url(access.cluster.server);
  net::testing::Listener proxy;
  std::thread serves([&] {
    net::testing::RawClient client = proxy.accept();
    client.read_bytes(3);
    client.send(std::string("\x05\x00", 2));
    client.read_bytes(10);  // to connect to an address and a port
    client.send(std::string("\x05\x00\x00\x01", 4) + std::string(6, '\0'));
    net::testing::RawClient to(server->port);
    net::testing::splice(client, to);
  });
  access.cluster.proxy_url = fmt::format("socks5://127.0.0.1:{}", proxy.port());
  auto client = connect(access);
  EXPECT_EQ(who(*client), "admin");
  client.reset();
  serves.join();
}

TEST(KubeCredentials, InAPodTheServiceAccountIsUsed) {
  const kube::Access from = admin();
  const auto client = connect(from);
  const auto token =
      client->send({.method = "POST",
                    .path = "/api/v1/namespaces/default/serviceaccounts/default/token",
                    .content_type = "application/json",
                    .body = R"({"apiVersion":"authentication.k8s.io/v1",)"
                            R"("kind":"TokenRequest","spec":{}})"});
  ASSERT_TRUE(token.ok()) << token.error().message;
  Folder folder;
  folder.write("token", std::string(kube::text_at(*token, {"status", "token"})));
  folder.write("ca.crt", from.cluster.ca.data);
  folder.write("namespace", "default");
  const auto server = net::parse_url(from.cluster.server);
  const std::string port = std::to_string(server->port);
  const auto access = kube::in_cluster_access(
      [&](const char* name) {
        return std::string_view(name).ends_with("PORT") ? port.c_str() : server->host.c_str();
      },
      folder.path(""));
  ASSERT_TRUE(access.ok()) << access.error().message;
  EXPECT_EQ(who(*connect(*access)), "system:serviceaccount:default:default");
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
