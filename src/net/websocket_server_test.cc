// WebSockets that HttpServer accepts: spoken to by HttpClient, and byte by byte where rules are
// broken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "net/http_client.h"
#include "net/testing/server.h"
#include "net/websocket.h"
#include "net/websocket_frames.h"

namespace muster::net {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Mailbox;
using testing::RawClient;
using testing::Server;

std::string words_of(const Result<WebSocketClose>& how) {
  return how ? fmt::format("{} {}", how->code, how->reason) : how.error().message;
}

/// A server with one WebSocket at /socket, and what its callbacks said.
struct Accepting {
  explicit Accepting(WebSocketOptions asked = {}) : options(std::move(asked)) {}

  WebSocketOptions options;
  Mailbox<WebSocket> opened;
  Mailbox<std::string> messages;
  Mailbox<std::string> closed;
  Mailbox<bool> drained;
  Server server{[this](Router& router) {
    router.add("GET", "/socket", Handler([this](const Request& request, const Responder& answer) {
                 if (const Status asks = check_websocket_request(request); !asks) {
                   answer.send(error_response(400, asks.error().message));
                   return;
                 }
                 WebSocketCallbacks on;
                 on.on_message = [this](std::string_view message, bool) {
                   messages.put(std::string(message));
                 };
                 on.on_close = [this](const Result<WebSocketClose>& how, const Response&) {
                   closed.put(words_of(how));
                 };
                 opened.put(answer.websocket(request, options, std::move(on)));
               }));
  }};
};

struct Connected {
  explicit Connected(Accepting& to, WebSocketOptions options = {}) {
    WebSocketCallbacks on;
    on.on_open = [this](const std::string& protocol) { opened.put(protocol); };
    on.on_message = [this](std::string_view message, bool) { messages.put(std::string(message)); };
    on.on_close = [this](const Result<WebSocketClose>& how, const Response& refusal) {
      closed.put(fmt::format("{} {}", words_of(how), refusal.status));
    };
    open = client->open_websocket({.url = to.server.url("/socket")}, std::move(options),
                                  std::move(on));
  }
  Mailbox<std::string> opened;
  Mailbox<std::string> messages;
  Mailbox<std::string> closed;
  std::unique_ptr<HttpClient> client = std::move(*HttpClient::make());
  HttpClient::OpenSocket open;
};

TEST(WebSocketServer, MessagesGoBothWaysAndTheServerMayClose) {
  Accepting server({.protocols = {"b", "a"}});
  Connected client(server, {.protocols = {"z", "a", "b"}});
  EXPECT_EQ(client.opened.take(), "a");
  const WebSocket socket = server.opened.take();
  client.open.socket.send("hello");
  EXPECT_EQ(server.messages.take(), "hello");
  const std::string large(300'000, 'x');
  client.open.socket.send(large);
  EXPECT_EQ(server.messages.take(), large);
  socket.send(large);
  socket.send("bye");
  socket.close(1000, "done");
  EXPECT_EQ(client.messages.take(), large);
  EXPECT_EQ(client.messages.take(), "bye");
  EXPECT_EQ(client.closed.take(), "1000 done 0");
  EXPECT_EQ(server.closed.take(), "1000 ");
  const Access access = server.server.accesses.take();
  EXPECT_EQ(access.status, 101);
  EXPECT_EQ(access.route, "/socket");
}

TEST(WebSocketServer, AClientThatGoesAwayIsTold) {
  Accepting server;
  Connected client(server);
  client.opened.take();
  const WebSocket socket = server.opened.take();
  client.client.reset();
  EXPECT_EQ(server.closed.take(), "1006 ");
  EXPECT_FALSE(socket.send("late"));
}

TEST(WebSocketServer, WhatIsNoWebSocketRequestIsRefused) {
  Accepting server;
  EXPECT_THAT(server.server.ask("GET /socket HTTP/1.1\r\nHost: x\r\n\r\n"),
              AllOf(HasSubstr("400"), HasSubstr("Upgrade: websocket")));
  EXPECT_THAT(server.server.ask("GET /socket HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\n"
                                "Upgrade: websocket\r\nSec-WebSocket-Version: 8\r\n\r\n"),
              AllOf(HasSubstr("400"), HasSubstr("version 13")));
}

TEST(WebSocketServer, AFrameWithoutAMaskEndsIt) {
  Accepting server;
  RawClient client = server.server.connect();
  client.send(
      "GET /socket HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\n"
      "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  EXPECT_THAT(client.read_until("\r\n\r\n"),
              AllOf(HasSubstr("101 Switching Protocols\r\n"), HasSubstr("Connection: Upgrade\r\n"),
                    HasSubstr("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n")));
  std::string fine;
  append_frame(fine, Opcode::Text, "masked", {1, 2, 3, 4});
  client.send(fine);
  EXPECT_EQ(server.messages.take(), "masked");
  std::string bare;
  append_frame(bare, Opcode::Text, "bare");
  client.send(bare);
  EXPECT_THAT(server.closed.take(), HasSubstr("without a mask"));
}

TEST(WebSocketServer, AHeldSocketGivesNothingOutUntilItIsReleased) {
  Accepting server;
  Connected client(server);
  client.opened.take();
  const WebSocket socket = server.opened.take();
  socket.hold();
  const std::string piece(64U << 10, 'x');
  // More than the system takes on the way: the sender has to wait.
  for (int i = 0; i < 400; ++i) client.open.socket.send(piece);
  client.open.socket.send("last");
  EXPECT_GT(client.open.socket.pending_bytes(), 0U);
  socket.send("not held");
  EXPECT_EQ(client.messages.take(), "not held");
  EXPECT_GT(client.open.socket.pending_bytes(), 0U);
  socket.release();
  for (int i = 0; i < 400; ++i) EXPECT_EQ(server.messages.take().size(), piece.size());
  EXPECT_EQ(server.messages.take(), "last");
}

TEST(WebSocketServer, AHeldSocketEndsWithItsClientAndWithTheServer) {
  {
    Accepting server({.ping = milliseconds(20)});
    Connected client(server);
    client.opened.take();
    server.opened.take().hold();
    client.client.reset();  // the pings find out
    server.closed.take();
  }
  Accepting server;
  Connected client(server);
  client.opened.take();
  server.opened.take().hold();
  server.server->stop(milliseconds(0));
  server.closed.take();
}

TEST(WebSocketServer, AClientWithoutASignOfLifeIsCutOff) {
  Accepting server({.ping = milliseconds(50), .silence_max = milliseconds(200)});
  RawClient client = server.server.connect();
  client.send(
      "GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  client.read_until("\r\n\r\n");
  EXPECT_THAT(server.closed.take(), HasSubstr("no sign of life"));
}

TEST(WebSocketServer, PongsAreASignOfLife) {
  Accepting server({.ping = milliseconds(20), .silence_max = milliseconds(200)});
  Connected client(server);
  client.opened.take();
  const WebSocket socket = server.opened.take();
  Mailbox<bool> later;
  client.client->run_after(milliseconds(600), [&](bool) { later.put(true); });
  later.take();
  EXPECT_TRUE(socket.send("still here"));
  EXPECT_EQ(client.messages.take(), "still here");
}

TEST(WebSocketServer, StoppingClosesItInOrder) {
  Accepting server;
  Connected client(server);
  client.opened.take();
  server.server->stop();
  EXPECT_EQ(client.closed.take(), "1001 the server is stopping 0");
  EXPECT_EQ(server.closed.take(), "1001 ");
}

}  // namespace
}  // namespace muster::net
