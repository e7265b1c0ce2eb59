// TLS between the real server and the real client, with certificates made here by openssl.
#include "net/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "net/http_client.h"
#include "net/testing/listener.h"
#include "net/testing/server.h"
#include "net/testing/tls_end.h"

namespace muster::net {
namespace {

using ::testing::HasSubstr;
using testing::Listener;
using testing::RawClient;
using testing::Server;
using ::testing::StartsWith;
using testing::TlsEnd;

/// A folder with an authority, a server's certificate for localhost and 127.0.0.1, and a client's.
class Certificates {
 public:
  Certificates() : folder_(::testing::TempDir() + fmt::format("muster-tls-{}", ::getpid())) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/names") << "subjectAltName=DNS:localhost,IP:127.0.0.1\n";
    make_authority("ca");
    make_authority("other-ca");
    make("server", "ca", "-extfile " + folder_ + "/names");
    make("client", "ca", "");
  }
  ~Certificates() { std::filesystem::remove_all(folder_); }

  std::string file(std::string_view name) const { return fmt::format("{}/{}", folder_, name); }
  TlsServerOptions server() const {
    return {.cert_file = file("server.pem"), .key_file = file("server.key")};
  }
  void make(const std::string& name, const std::string& authority, const std::string& more) const {
    run(
        fmt::format("openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN={0} "
                    "-keyout {1}/{0}.key -out {1}/{0}.csr",
                    name, folder_));
    run(
        fmt::format("openssl x509 -req -in {1}/{0}.csr -CA {1}/{2}.pem -CAkey {1}/{2}.key "
                    "-CAcreateserial -days 2 -out {1}/{0}.pem {3}",
                    name, folder_, authority, more));
  }

 private:
  static void run(const std::string& command) {
    const int code = std::system((command + " >/dev/null 2>&1").c_str());
    MUSTER_CHECK(code == 0, "{} ended with {}", command, code);
  }
  void make_authority(const std::string& name) const {
    run(
        fmt::format("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
                    "-subj /CN={0} -keyout {1}/{0}.key -out {1}/{0}.pem",
                    name, folder_));
  }

  std::string folder_;
};

class Tls : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { certificates_ = new Certificates(); }
  static void TearDownTestSuite() {
    delete certificates_;
    certificates_ = nullptr;
  }
  static const Certificates& certificates() { return *certificates_; }

  static Server serve(TlsServerOptions tls) {
    ServerOptions options;
    options.tls = std::move(tls);
    return Server(
        [](Router& router) {
          router.add("GET", "/who", [](const Request& request) {
            return Response{200, {}, fmt::format("{} '{}'", request.is_tls, request.peer_name)};
          });
          router.add("GET", "/stream", [](const Request&, const Responder& answer) {
            const Stream stream = answer.stream({});
            for (int i = 0; i < 100; ++i) stream.send(std::string(10'000, 's'));
          });
        },
        options);
  }
  static Result<ClientResponse> ask(const std::string& url, TlsClientOptions tls) {
    auto client = HttpClient::make({.tls = std::move(tls)});
    if (!client) return client.error();
    return (*client)->send({.url = url});
  }
  static TlsClientOptions trusting() { return {.ca_file = certificates().file("ca.pem")}; }

 private:
  static Certificates* certificates_;
};

Certificates* Tls::certificates_ = nullptr;

TEST_F(Tls, AnswersAClientThatTrustsItsAuthority) {
  Server server = serve(certificates().server());
  EXPECT_THAT(server.url(), StartsWith("https://127.0.0.1:"));
  const auto answer = ask(server.url("/who"), trusting());
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->body, "true ''");
}

TEST_F(Tls, KeepsTheConnectionAndStreams) {
  Server server = serve(certificates().server());
  auto client = HttpClient::make({.tls = trusting()});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE((*client)->send({.url = server.url("/who")}).ok());
  EXPECT_EQ(server->stats().connections, 1);
  std::size_t bytes = 0;
  const auto result = (*client)->stream({.url = server.url("/stream")},
                                        {.on_head = {}, .on_bytes = [&](auto piece) {
                                           bytes += piece.size();
                                           return true;
                                         }});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(bytes, 1'000'000U);
}

TEST_F(Tls, AStrangerIsNotTrustedUnlessAskedFor) {
  Server server = serve(certificates().server());
  const auto refused = ask(server.url("/who"), {.ca_file = certificates().file("other-ca.pem")});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, StartsWith("cannot trust " + server.url() + ": "));
  EXPECT_TRUE(ask(server.url("/who"), {.verify = false}).ok());
}

TEST_F(Tls, TheNameOfTheServerIsChecked) {
  Server server = serve(certificates().server());
  auto tls = trusting();
  tls.server_name = "elsewhere.example";
  const auto refused = ask(server.url("/who"), tls);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("hostname mismatch"));
  tls.server_name = "localhost";
  EXPECT_TRUE(ask(server.url("/who"), tls).ok());
}

TEST_F(Tls, AClientIsKnownByItsCertificate) {
  auto options = certificates().server();
  options.client_ca_file = certificates().file("ca.pem");
  Server server = serve(options);
  auto tls = trusting();
  EXPECT_EQ(ask(server.url("/who"), tls)->body, "true ''");
  tls.cert_file = certificates().file("client.pem");
  tls.key_file = certificates().file("client.key");
  EXPECT_EQ(ask(server.url("/who"), tls)->body, "true 'client'");
  certificates().make("intruder", "other-ca", "");
  tls.cert_file = certificates().file("intruder.pem");
  tls.key_file = certificates().file("intruder.key");
  EXPECT_FALSE(ask(server.url("/who"), tls).ok());
}

TEST_F(Tls, ReloadTakesNewFilesAndKeepsTheOldOnAnError) {
  namespace fs = std::filesystem;
  const std::string cert = certificates().file("live.pem");
  const std::string key = certificates().file("live.key");
  fs::copy_file(certificates().file("server.pem"), cert);
  fs::copy_file(certificates().file("server.key"), key);
  Server server = serve({.cert_file = cert, .key_file = key});
  std::ofstream(cert) << "not a certificate";
  const Status broken = server->reload_tls();
  ASSERT_FALSE(broken.ok());
  EXPECT_THAT(broken.error().message, StartsWith("certificate: " + cert));
  EXPECT_TRUE(ask(server.url("/who"), trusting()).ok());
  certificates().make("live", "other-ca", "-extfile " + certificates().file("names"));
  ASSERT_TRUE(server->reload_tls().ok());
  EXPECT_FALSE(ask(server.url("/who"), trusting()).ok());
  EXPECT_TRUE(ask(server.url("/who"), {.ca_file = certificates().file("other-ca.pem")}).ok());
}

TEST_F(Tls, FilesThatAreMissingOrDoNotMatchAreNamed) {
  ServerOptions options;
  options.tls = {.cert_file = "/nowhere.pem", .key_file = "/nowhere.key"};
  auto server = HttpServer::start(options, [](const Request&, const Responder&) {});
  ASSERT_FALSE(server.ok());
  EXPECT_THAT(server.error().message, StartsWith("certificate: /nowhere.pem: "));
  options.tls = {.cert_file = certificates().file("server.pem"),
                 .key_file = certificates().file("client.key")};
  server = HttpServer::start(options, [](const Request&, const Responder&) {});
  ASSERT_FALSE(server.ok());
  EXPECT_THAT(server.error().message, HasSubstr("key values mismatch"));
}

TEST_F(Tls, APlainClientAtATlsPortIsClosedAndAGarbledHandshakeHarmsNobody) {
  Server server = serve(certificates().server());
  RawClient plain = server.connect();
  plain.send("GET /who HTTP/1.1\r\nHost: x\r\n\r\n");
  plain.read_all();
  const auto wrong = ask("http" + server.url("/who").substr(5), {});
  EXPECT_FALSE(wrong.ok());
  EXPECT_TRUE(ask(server.url("/who"), trusting()).ok());
}

TEST_F(Tls, TunnelsThroughAProxy) {
  Server server = serve(certificates().server());
  Listener proxy;
  std::thread serves([&] {
    RawClient client = proxy.accept();
    EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("CONNECT muster.example:443 HTTP/1.1"));
    client.send("HTTP/1.1 200 Connection established\r\n\r\n");
    RawClient to = server.connect();
    testing::splice(client, to);
  });
  auto tls = trusting();
  tls.server_name = "localhost";
  auto client = HttpClient::make(
      {.tls = tls,
       .proxy = {.http = "", .https = fmt::format("127.0.0.1:{}", proxy.port()), .no_proxy = ""}});
  const auto answer = (*client)->send({.url = "https://muster.example/who"});
  client->reset();
  serves.join();
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->body, "true ''");
}

TEST_F(Tls, TunnelsThroughAProxyThatSpeaksTlsItself) {
  Server server = serve(certificates().server());
  Listener proxy;
  std::thread serves([&] {
    RawClient client = proxy.accept();
    TlsEnd end(client, certificates().server());
    EXPECT_THAT(end.read_until("\r\n\r\n"), StartsWith("CONNECT muster.example:443 HTTP/1.1"));
    end.send("HTTP/1.1 200 Connection established\r\n\r\n");
    RawClient to = server.connect();
    end.splice(to);
  });
  auto tls = trusting();
  tls.server_name = "localhost";  // of the server; the proxy is asked for its own name
  auto client = HttpClient::make(
      {.tls = tls, .proxy = {.https = fmt::format("https://127.0.0.1:{}", proxy.port())}});
  const auto answer = (*client)->send({.url = "https://muster.example/who"});
  client->reset();
  serves.join();
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->body, "true ''");
}

TEST_F(Tls, SendsPlainRequestsThroughAProxyThatSpeaksTls) {
  Listener proxy;
  std::thread serves([&] {
    RawClient client = proxy.accept();
    TlsEnd end(client, certificates().server());
    EXPECT_THAT(end.read_until("\r\n\r\n"), StartsWith("GET http://muster.example/who HTTP/1.1"));
    end.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
  });
  auto client = HttpClient::make(
      {.tls = trusting(), .proxy = {.http = fmt::format("https://127.0.0.1:{}", proxy.port())}});
  const auto answer = (*client)->send({.url = "http://muster.example/who"});
  client->reset();
  serves.join();
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->body, "hi");
}

TEST_F(Tls, AProxyWhoseCertificateNobodyVouchesForIsNotSpokenTo) {
  Listener proxy;
  std::thread serves([&] {
    RawClient client = proxy.accept();
    TlsEnd end(client, certificates().server());
    EXPECT_EQ(end.read_until("\r\n\r\n"), "");
  });
  auto client =
      HttpClient::make({.tls = {.ca_file = certificates().file("other-ca.pem")},
                        .proxy = {.https = fmt::format("https://127.0.0.1:{}", proxy.port())}});
  const auto answer = (*client)->send({.url = "https://muster.example/who"});
  client->reset();
  serves.join();
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().message,
              StartsWith(fmt::format("cannot trust https://127.0.0.1:{}", proxy.port())));
}

TEST_F(Tls, TunnelsThroughASocksProxy) {
  Server server = serve(certificates().server());
  Listener proxy;
  std::thread serves([&] {
    RawClient client = proxy.accept();
    EXPECT_EQ(client.read_bytes(3), std::string("\x05\x01\x00", 3));
    client.send(std::string("\x05\x00", 2));
    EXPECT_THAT(client.read_bytes(21), HasSubstr("muster.example\x01\xbb"));
    client.send(std::string("\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00", 10));
    RawClient to = server.connect();
    testing::splice(client, to);
  });
  auto tls = trusting();
  tls.server_name = "localhost";
  auto client = HttpClient::make(
      {.tls = tls, .proxy = {.https = fmt::format("socks5://127.0.0.1:{}", proxy.port())}});
  const auto answer = (*client)->send({.url = "https://muster.example/who"});
  client->reset();
  serves.join();
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->body, "true ''");
}

}  // namespace
}  // namespace muster::net
