#include "net/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "net/testing/server.h"

namespace muster::net {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::Mailbox;
using ::testing::Not;
using testing::RawClient;
using testing::Server;
using ::testing::StartsWith;

void hello(Router& router) {
  router.add("GET", "/hello", [](const Request&) { return Response{200, {}, "hello\n"}; });
  router.add("POST", "/echo",
             [](const Request& request) { return Response{200, {}, request.body}; });
  router.add("GET", "/jobs/{id}", [](const Request& request) {
    return Response{200, {}, fmt::format("{}|{}", request.param("id"), request.query_value("q"))};
  });
}

constexpr std::string_view get_hello = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";

// --- requests and answers ----------------------------------------------------------------------

TEST(HttpServer, AnswersARequestAndKeepsTheConnectionForTheNext) {
  Server server(hello);
  RawClient client = server.connect();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.send(get_hello));
    const std::string answer = client.read_response();
    EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 200 OK\r\nDate: "), EndsWith("\r\n\r\nhello\n"),
                              HasSubstr("Content-Length: 6\r\n"), HasSubstr("X-Request-Id: "),
                              Not(HasSubstr("Connection:"))));
  }
  EXPECT_EQ(server->stats().requests, 3U);
  EXPECT_EQ(server->stats().connections, 1);
}

TEST(HttpServer, AnswersPipelinedRequestsInTheirOrder) {
  Server server(hello);
  RawClient client = server.connect();
  std::string bytes;
  for (int i = 0; i < 50; ++i) {
    bytes += fmt::format("GET /jobs/{}?q=a%20b HTTP/1.1\r\nHost: x\r\n\r\n", i);
  }
  client.send(bytes);
  for (int i = 0; i < 50; ++i) {
    EXPECT_THAT(client.read_response(), EndsWith(fmt::format("\r\n\r\n{}|a b", i)));
  }
}

TEST(HttpServer, HeadHasTheLengthAndNoBody) {
  Server server(hello);
  RawClient client = server.connect();
  client.send("HEAD /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.read_all(), AllOf(StartsWith("HTTP/1.1 200 OK"), EndsWith("\r\n\r\n"),
                                       HasSubstr("Content-Length: 6\r\n")));
}

TEST(HttpServer, UnknownPathsAndMethodsAreToldInJson) {
  Server server(hello);
  EXPECT_THAT(server.ask("GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr("Content-Type: application/json"),
                    EndsWith(R"({"error":{"code":"not_found","message":"nothing is at /nothing"}})"
                             "\n")));
  EXPECT_THAT(server.ask("DELETE /hello HTTP/1.1\r\nHost: x\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("Allow: GET, HEAD, OPTIONS\r\n"),
                    HasSubstr("DELETE is not for /hello")));
  EXPECT_THAT(server.ask("OPTIONS /echo HTTP/1.1\r\nHost: x\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 204 "), HasSubstr("Allow: POST, OPTIONS\r\n")));
  EXPECT_THAT(server.ask("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 204 "));
}

TEST(HttpServer, AnOldClientIsClosedUnlessItAsksToStay) {
  Server server(hello);
  RawClient client = server.connect();
  client.send("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_THAT(client.read_response(), HasSubstr("Connection: keep-alive\r\n"));
  client.send("GET /hello HTTP/1.0\r\n\r\n");
  EXPECT_THAT(client.read_response(), HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(client.is_closed_by_peer());
}

TEST(HttpServer, AHalfClosedClientStillGetsItsAnswer) {
  Server server(hello);
  RawClient client = server.connect();
  client.send(get_hello);
  client.close_writing();
  EXPECT_THAT(client.read_all(), EndsWith("hello\n"));
}

TEST(HttpServer, ReadsChunkedBodiesInSmallPieces) {
  Server server(hello);
  RawClient client = server.connect();
  const std::string_view bytes =
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5;name=value\r\nhello\r\nA\r\n, chunked!\r\n0\r\nTrailer: x\r\n\r\n";
  for (const char byte : bytes) ASSERT_TRUE(client.send({&byte, 1}));
  EXPECT_THAT(client.read_response(), EndsWith("\r\n\r\nhello, chunked!"));
  client.send(get_hello);
  EXPECT_THAT(client.read_response(), EndsWith("hello\n"));
}

TEST(HttpServer, ReadsALargeBodyWhole) {
  Server server(hello);
  std::string body(3'000'000, '?');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>('a' + i % 23);
  const std::string answer = server.ask(
      fmt::format("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.size()) +
      body);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n" + body)) << answer.size();
}

TEST(HttpServer, TellsAClientThatWaitsToGoOn) {
  Server server(hello);
  RawClient client = server.connect();
  client.send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ok");
  EXPECT_THAT(client.read_response(), EndsWith("\r\n\r\nok"));
}

TEST(HttpServer, AClientsSaneRequestIdIsKept) {
  Server server(hello);
  EXPECT_THAT(server.ask("GET /hello HTTP/1.1\r\nHost: x\r\nX-Request-Id: a-1.b\r\n\r\n"),
              HasSubstr("X-Request-Id: a-1.b\r\n"));
  EXPECT_EQ(server.accesses.take().request_id, "a-1.b");
  EXPECT_THAT(server.ask("GET /hello HTTP/1.1\r\nHost: x\r\nX-Request-Id: a b\"\r\n\r\n"),
              Not(HasSubstr("X-Request-Id: a b")));
}

TEST(HttpServer, TellsWhatWasAnswered) {
  Server server(hello);
  server.ask("GET /jobs/7?q=1 HTTP/1.1\r\nHost: x\r\nUser-Agent: t\r\n\r\n");
  const Access access = server.accesses.take();
  EXPECT_EQ(access.method, "GET");
  EXPECT_EQ(access.target, "/jobs/7?q=1");
  EXPECT_EQ(access.route, "/jobs/{id}");
  EXPECT_EQ(access.status, 200);
  EXPECT_EQ(access.remote_address, "127.0.0.1");
  EXPECT_EQ(access.user_agent, "t");
  EXPECT_EQ(access.bytes_in, 52U);
  EXPECT_GT(access.bytes_out, 60U);
  EXPECT_GE(access.seconds, 0);
}

// --- answers from elsewhere --------------------------------------------------------------------

TEST(HttpServer, AnswersComeFromAnyThreadInAnyOrder) {
  Mailbox<std::pair<std::string, Responder>> waiting;
  Server server([&](Router& router) {
    router.add("GET", "/later/{n}", [&](const Request& request, const Responder& responder) {
      waiting.put({std::string(request.param("n")), responder});
    });
  });
  std::vector<RawClient> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(server.connect());
    clients.back().send(fmt::format("GET /later/{} HTTP/1.1\r\nHost: x\r\n\r\n", i));
  }
  std::vector<std::pair<std::string, Responder>> taken;
  for (int i = 0; i < 20; ++i) taken.push_back(waiting.take());
  std::vector<std::thread> threads;
  for (const auto& entry : taken) {
    threads.emplace_back([entry] {
      EXPECT_TRUE(entry.second.send({200, {}, "answer " + entry.first}));
      EXPECT_FALSE(entry.second.send({200, {}, "again"}));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(clients[static_cast<std::size_t>(i)].read_response(),
                EndsWith(fmt::format("\r\n\r\nanswer {}", i)));
  }
}

TEST(HttpServer, AForgottenOrThrowingHandlerIsAnInternalError) {
  Server server([](Router& router) {
    router.add("GET", "/forgets", [](const Request&, const Responder&) {});
    router.add("GET", "/throws",
               [](const Request&) -> Response { throw std::runtime_error("bug"); });
  });
  EXPECT_THAT(server.ask("GET /forgets HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(server.ask("GET /throws HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 500 "));
}

TEST(HttpServer, AnAnswerThatDoesNotComeInTimeIsAServiceUnavailable) {
  ServerOptions options;
  options.answer_timeout = milliseconds(60);
  Mailbox<Responder> waiting;
  Server server(
      [&](Router& router) {
        router.add("GET", "/later",
                   [&](const Request&, const Responder& responder) { waiting.put(responder); });
      },
      options);
  RawClient client = server.connect();
  client.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.read_response(), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Retry-After")));
  const Responder late = waiting.take();
  EXPECT_FALSE(late.send({200, {}, "late"}));
}

TEST(HttpServer, RespondersAndStreamsMayOutliveTheServer) {
  Mailbox<Responder> waiting;
  Mailbox<Stream> streams;
  auto server = std::make_unique<Server>([&](Router& router) {
    router.add("GET", "/later",
               [&](const Request&, const Responder& responder) { waiting.put(responder); });
    router.add("GET", "/stream", [&](const Request&, const Responder& responder) {
      streams.put(responder.event_stream());
    });
  });
  RawClient client = server->connect();
  client.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  RawClient listener = server->connect();
  listener.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  const Responder responder = waiting.take();
  const Stream stream = streams.take();
  server.reset();
  EXPECT_FALSE(responder.send({200, {}, "too late"}));
  EXPECT_FALSE(stream.send("too late"));
}

// --- what clients do wrong ---------------------------------------------------------------------

TEST(HttpServer, MalformedRequestsAreRefusedAndClosed) {
  Server server(hello);
  const std::vector<std::pair<std::string, int>> cases = {
      {"nonsense\r\n\r\n", 400},
      {"GET\r\n\r\n", 400},
      {"GET /hello\r\n\r\n", 400},
      {"GET /hello HTTP/9.9\r\nHost: x\r\n\r\n", 505},
      {"G@T /hello HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"GET /hello HTTP/1.1\r\n\r\n", 400},
      {"GET /hello HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400},
      {"GET /hello HTTP/1.1\r\nHost x\r\n\r\n", 400},
      {"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"GET /a/../b HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"GET /a/%2e%2e/b HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"GET /a%00 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"GET hello HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
       400},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nContent-Length: 1\r\n\r\n", 400},
  };
  for (const auto& [bytes, status] : cases) {
    RawClient client = server.connect();
    client.send(bytes);
    const std::string answer = client.read_all();
    EXPECT_THAT(answer, AllOf(StartsWith(fmt::format("HTTP/1.1 {} ", status)),
                              HasSubstr("Connection: close"), HasSubstr(R"({"error":{)")))
        << bytes;
    EXPECT_EQ(server.accesses.take().status, status);
  }
}

TEST(HttpServer, HeadersAndBodiesHaveLimits) {
  ServerOptions options;
  options.header_bytes_max = 2000;
  options.body_bytes_max = 1000;
  Server server(hello, options);
  const std::string large(5000, 'a');
  EXPECT_THAT(server.ask("GET /hello HTTP/1.1\r\nHost: x\r\nX: " + large + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(server.ask("GET /" + large + " HTTP/1.1\r\nHost: x\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(server.ask("GET /" + large), StartsWith("HTTP/1.1 431 "));
  std::string many = "GET /hello HTTP/1.1\r\nHost: x\r\n";
  for (int i = 0; i < 200; ++i) many += "X: 1\r\n";
  EXPECT_THAT(server.ask(many + "\r\n"), StartsWith("HTTP/1.1 431 "));
  const std::string post = "POST /echo HTTP/1.1\r\nHost: x\r\n";
  EXPECT_THAT(server.ask(post + "Content-Length: 1001\r\n\r\n"), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(server.ask(post + "Content-Length: 1000\r\n\r\n" + std::string(1000, 'b')),
              StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(server.ask(post + "Transfer-Encoding: chunked\r\n\r\n1388\r\n" + large),
              StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(server.ask(post + "Transfer-Encoding: chunked\r\n\r\n1;" + large),
              StartsWith("HTTP/1.1 431 "));
}

TEST(HttpServer, AClientThatSendsTooMuchStillReadsTheAnswer) {
  ServerOptions options;
  options.body_bytes_max = 1000;
  Server server(hello, options);
  RawClient client = server.connect();
  client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 400000\r\n\r\n" +
              std::string(400'000, 'x'));
  EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 413 "));
}

TEST(HttpServer, SlowRequestsAreCutOff) {
  ServerOptions options;
  options.header_timeout = milliseconds(60);
  options.body_timeout = milliseconds(60);
  Server server(hello, options);
  RawClient header = server.connect();
  header.send("GET /hello HT");
  RawClient body = server.connect();
  body.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n123");
  EXPECT_THAT(header.read_response(), StartsWith("HTTP/1.1 408 "));
  EXPECT_THAT(body.read_response(), StartsWith("HTTP/1.1 408 "));
}

TEST(HttpServer, AByteNowAndThenDoesNotBuyTime) {
  ServerOptions options;
  options.header_timeout = milliseconds(100);
  options.header_bytes_max = 1U << 30;
  Server server(hello, options);
  RawClient client = server.connect();
  std::atomic<bool> done = false;
  std::thread drips([&] {
    client.send("GET /hello HTTP/1.1\r\nX: ");
    while (!done && client.send("x")) std::this_thread::yield();
  });
  EXPECT_EQ(server.accesses.take().status, 408);
  done = true;
  drips.join();
}

TEST(HttpServer, IdleConnectionsAreClosedWithoutAWord) {
  ServerOptions options;
  options.idle_timeout = milliseconds(60);
  Server server(hello, options);
  RawClient client = server.connect();
  client.send(get_hello);
  EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 200 "));
  EXPECT_TRUE(client.is_closed_by_peer());
}

TEST(HttpServer, OneConnectionTooManyIsToldToComeLater) {
  ServerOptions options;
  options.connections_max = 2;
  Server server(hello, options);
  RawClient first = server.connect();
  RawClient second = server.connect();
  for (RawClient* client : {&first, &second}) {
    client->send(get_hello);
    EXPECT_THAT(client->read_response(), StartsWith("HTTP/1.1 200 "));
  }
  EXPECT_THAT(server.ask(get_hello),
              AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Retry-After: 1\r\n")));
  EXPECT_EQ(server->stats().refused_connections, 1U);
}

// --- where it listens --------------------------------------------------------------------------

TEST(HttpServer, ListensOnAUnixSocketAndRemovesIt) {
  const std::string path = ::testing::TempDir() + fmt::format("muster-net-{}.sock", ::getpid());
  ServerOptions options;
  options.listen = {{"", 0, path}};
  {
    Server server(hello, options);
    RawClient client(path);
    client.send(get_hello);
    EXPECT_THAT(client.read_response(), EndsWith("hello\n"));
    EXPECT_EQ(server.accesses.take().remote_address, "unix");
    const auto second = HttpServer::start(options, [](const Request&, const Responder&) {});
    ASSERT_FALSE(second.ok());
    EXPECT_THAT(second.error().message, HasSubstr("already in use"));
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST(HttpServer, AnAddressInUseOrUnknownIsAnErrorThatNamesIt) {
  Server server(hello);
  ServerOptions options;
  options.listen = {{"127.0.0.1", server->port(), ""}};
  const auto second = HttpServer::start(options, [](const Request&, const Responder&) {});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().message,
            fmt::format("listen: 127.0.0.1:{}: Address already in use", server->port()));
  options.listen = {{"nowhere", 1, ""}};
  EXPECT_FALSE(HttpServer::start(options, [](const Request&, const Responder&) {}).ok());
}

TEST(HttpServer, ListensOnEveryAddressWhenTheHostIsLeftOut) {
  ServerOptions options;
  options.listen = {{"", 0, ""}};
  options.threads = 2;
  Server server(hello, options);
  EXPECT_THAT(server.ask(get_hello), EndsWith("hello\n"));
  EXPECT_EQ(server.accesses.take().remote_address, "127.0.0.1");
  EXPECT_EQ(server->url(), fmt::format("http://localhost:{}", server->port()));
}

// --- the end -----------------------------------------------------------------------------------

TEST(HttpServer, StopAnswersWhatIsUnderWay) {
  Mailbox<Responder> waiting;
  Server server([&](Router& router) {
    router.add("GET", "/later",
               [&](const Request&, const Responder& responder) { waiting.put(responder); });
  });
  RawClient busy = server.connect();
  busy.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  RawClient idle = server.connect();
  const Responder responder = waiting.take();
  std::thread stops([&] { server->stop(seconds(10)); });
  EXPECT_TRUE(idle.is_closed_by_peer());
  responder.send({200, {}, "just in time"});
  EXPECT_THAT(busy.read_all(), AllOf(HasSubstr("Connection: close"), EndsWith("just in time")));
  busy.close();
  stops.join();
  EXPECT_EQ(server->stats().connections, 0);
}

TEST(HttpServer, StopCutsWhatIsNotAnsweredWithinTheGrace) {
  Mailbox<Responder> waiting;
  Server server([&](Router& router) {
    router.add("GET", "/later",
               [&](const Request&, const Responder& responder) { waiting.put(responder); });
  });
  RawClient client = server.connect();
  client.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  const Responder responder = waiting.take();
  server->stop(milliseconds(20));
  server->stop(milliseconds(20));
  EXPECT_FALSE(responder.send({200, {}, "too late"}));
  EXPECT_TRUE(client.is_closed_by_peer());
}

}  // namespace
}  // namespace muster::net
