#include "net/websocket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "net/http_client.h"
#include "net/testing/listener.h"
#include "net/testing/mailbox.h"
#include "net/websocket_frames.h"

namespace muster::net {
namespace {

using ::testing::HasSubstr;
using testing::Listener;
using testing::Mailbox;
using testing::RawClient;

/// A frame of a server: no mask.
std::string server_frame(int first_byte, std::string_view payload) {
  std::string frame(1, static_cast<char>(first_byte));
  if (payload.size() < 126) {
    frame += static_cast<char>(payload.size());
  } else {
    frame += static_cast<char>(126);
    frame += static_cast<char>(payload.size() >> 8 & 0xff);
    frame += static_cast<char>(payload.size() & 0xff);
  }
  return frame + std::string(payload);
}

TEST(WebSocketFrames, AFrameOfAClientIsMasked) {
  std::string out;
  append_frame(out, Opcode::Text, "Hello", {0x37, 0xfa, 0x21, 0x3d});
  // The example of RFC 6455, 5.7.
  EXPECT_EQ(out, std::string("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", 11));
}

TEST(WebSocketFrames, LengthsOfAllThreeFormsAreWritten) {
  for (const std::size_t size : {125U, 126U, 65535U, 65536U}) {
    std::string out;
    append_frame(out, Opcode::Binary, std::string(size, 'x'), {0, 0, 0, 0});
    const std::size_t head = size < 126 ? 6 : size < 65536 ? 8 : 14;
    EXPECT_EQ(out.size(), head + size);
  }
}

TEST(WebSocketFrames, TheAnswerToAKeyIsThatOfTheStandard) {
  EXPECT_EQ(websocket_accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WebSocketFrames, MessagesInPartsArePutTogetherWithControlFramesBetween) {
  FrameReader reader(1000);
  const std::string bytes =
      server_frame(0x01, "Hel") + server_frame(0x89, "ping") + server_frame(0x80, "lo");
  FrameReader::Message message;
  std::vector<std::pair<Opcode, std::string>> found;
  for (const char c : bytes) {  // byte by byte, as a slow network
    reader.feed(std::string_view(&c, 1));
    while (true) {
      const auto more = reader.next(message);
      ASSERT_TRUE(more.ok());
      if (!*more) break;
      found.emplace_back(message.opcode, message.payload);
    }
  }
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0], std::pair(Opcode::Ping, std::string("ping")));
  EXPECT_EQ(found[1], std::pair(Opcode::Text, std::string("Hello")));
}

TEST(WebSocketFrames, BrokenRulesAreErrors) {
  const auto refusal = [](const std::string& bytes) -> std::string {
    FrameReader reader(1000);
    reader.feed(bytes);
    FrameReader::Message message;
    const auto more = reader.next(message);
    return more ? "fine" : more.error().message;
  };
  EXPECT_THAT(refusal("\xc2\x01x"), HasSubstr("extension"));
  EXPECT_THAT(refusal("\x83\x01x"), HasSubstr("unknown opcode 3"));
  EXPECT_THAT(refusal("\x82\x81xxxxx"), HasSubstr("masked"));
  EXPECT_THAT(refusal(server_frame(0x80, "x")), HasSubstr("out of order"));
  EXPECT_THAT(refusal(server_frame(0x09, "x")), HasSubstr("control frame"));
  EXPECT_THAT(refusal(std::string("\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff", 10)),
              HasSubstr("exceeds 1000 bytes"));
}

/// A server played by hand, and what the client's callbacks said.
struct Played {
  Listener listener;
  std::unique_ptr<HttpClient> client = std::move(*HttpClient::make());
  Mailbox<std::string> opened;
  Mailbox<std::string> messages;
  Mailbox<std::string> closed;

  HttpClient::OpenSocket open(WebSocketOptions options = {}) {
    WebSocketCallbacks callbacks;
    callbacks.on_open = [this](const std::string& protocol) { opened.put(protocol); };
    callbacks.on_message = [this](std::string_view message, bool) {
      messages.put(std::string(message));
    };
    callbacks.on_close = [this](const Result<WebSocketClose>& how, const Response& refusal) {
      closed.put(fmt::format(
          "{} {}", how ? fmt::format("{} {}", how->code, how->reason) : how.error().message,
          refusal.status));
    };
    return client->open_websocket(
        {.url = fmt::format("http://127.0.0.1:{}/exec?a=1", listener.port())}, std::move(options),
        std::move(callbacks));
  }

  /// Accepts and agrees; returns the connection.
  RawClient agree(std::string_view more = "") {
    RawClient peer = listener.accept();
    const std::string head = peer.read_until("\r\n\r\n");
    EXPECT_THAT(head, HasSubstr("GET /exec?a=1 HTTP/1.1\r\n"));
    EXPECT_THAT(head, HasSubstr("Connection: Upgrade\r\n"));
    const std::size_t at = head.find("Sec-WebSocket-Key: ") + 19;
    const std::string key = head.substr(at, head.find("\r\n", at) - at);
    peer.send(
        fmt::format("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                    "Connection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n{}\r\n",
                    websocket_accept(key), more));
    return peer;
  }
};

TEST(WebSocket, MessagesGoBothWaysAndTheCloseIsAnswered) {
  Played played;
  const auto open = played.open({.protocols = {"b", "a"}});
  open.socket.send("early");
  RawClient peer = played.agree("Sec-WebSocket-Protocol: a\r\n");
  EXPECT_EQ(played.opened.take(), "a");
  const std::string frame = peer.read_bytes(6 + 5);
  EXPECT_EQ(frame.substr(0, 2), "\x82\x85");
  peer.send(server_frame(0x82, "from the server") + server_frame(0x82, std::string(300, 'y')));
  EXPECT_EQ(played.messages.take(), "from the server");
  EXPECT_EQ(played.messages.take(), std::string(300, 'y'));
  peer.send(server_frame(0x88,
                         "\x03\xe8"
                         "bye"));
  EXPECT_EQ(peer.read_bytes(2).substr(0, 1), "\x88");
  EXPECT_EQ(played.closed.take(), "1000 bye 0");
  EXPECT_FALSE(open.socket.send("late"));
}

TEST(WebSocket, ARefusalCarriesTheAnswer) {
  Played played;
  const auto open = played.open();
  RawClient peer = played.listener.accept();
  peer.read_until("\r\n\r\n");
  peer.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
  EXPECT_EQ(played.closed.take(), "no WebSocket: 403 Forbidden 403");
}

TEST(WebSocket, AnAnswerToAnotherKeyIsNotTaken) {
  Played played;
  const auto open = played.open();
  RawClient peer = played.listener.accept();
  peer.read_until("\r\n\r\n");
  peer.send(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Accept: AAAA\r\n\r\n");
  EXPECT_THAT(played.closed.take(), HasSubstr("does not fit"));
}

TEST(WebSocket, ABrokenConnectionIsToldAsCode1006) {
  Played played;
  const auto open = played.open();
  RawClient peer = played.agree();
  played.opened.take();
  peer.close();
  EXPECT_EQ(played.closed.take(), "1006  0");
}

TEST(WebSocket, PingsAreAnswered) {
  Played played;
  const auto open = played.open();
  RawClient peer = played.agree();
  peer.send(server_frame(0x89, "hi"));
  EXPECT_EQ(peer.read_bytes(8).substr(0, 2), "\x8a\x82");
  open.call.cancel();
  EXPECT_EQ(played.closed.take(), "cancelled 0");
}

TEST(WebSocket, AnOpenOneOutlivesTheTimeoutOfAnswers) {
  Played played;
  played.client = std::move(*HttpClient::make({.total_timeout = milliseconds(300)}));
  const auto open = played.open();
  RawClient peer = played.agree();
  Mailbox<bool> later;
  played.client->run_after(milliseconds(500), [&](bool) { later.put(true); });
  later.take();
  peer.send(server_frame(0x82, "still here"));
  EXPECT_EQ(played.messages.take(), "still here");
  open.call.cancel();
  EXPECT_EQ(played.closed.take(), "cancelled 0");
}

TEST(WebSocket, TheAnswerMayTakeLongerThanConnecting) {
  Played played;
  played.client = std::move(*HttpClient::make({.connect_timeout = milliseconds(300)}));
  const auto open = played.open();
  Mailbox<bool> later;
  played.client->run_after(milliseconds(500), [&](bool) { later.put(true); });
  later.take();
  RawClient peer = played.agree();
  EXPECT_EQ(played.opened.take(), "");
  open.call.cancel();
  EXPECT_EQ(played.closed.take(), "cancelled 0");
}

TEST(WebSocket, TheEndOfTheClientEndsIt) {
  Played played;
  const auto open = played.open();
  RawClient peer = played.agree();
  played.opened.take();
  played.client.reset();
  EXPECT_EQ(played.closed.take(), "cancelled 0");
  EXPECT_FALSE(open.socket.send("late"));
}

TEST(HttpClientTimer, RunsLaterAndIsToldWhenTheClientGoesAway) {
  auto client = std::move(*HttpClient::make());
  Mailbox<bool> ran;
  client->run_after(milliseconds(1), [&](bool is_stopping) { ran.put(is_stopping); });
  EXPECT_FALSE(ran.take());
  client->run_after(hours(1), [&](bool is_stopping) { ran.put(is_stopping); });
  client.reset();
  EXPECT_TRUE(ran.take());
}

}  // namespace
}  // namespace muster::net
