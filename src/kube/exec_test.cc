#include "kube/exec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/testing/scripted_server.h"
#include "net/testing/listener.h"
#include "net/testing/mailbox.h"
#include "net/websocket_frames.h"

namespace muster::kube {
namespace {

using net::testing::Listener;
using net::testing::Mailbox;
using net::testing::RawClient;
using ::testing::HasSubstr;
using testing::make_client;

constexpr const char* exit_three = R"({"kind":"Status","status":"Failure",
  "reason":"NonZeroExitCode","message":"command terminated with non-zero exit code",
  "details":{"causes":[{"reason":"ExitCode","message":"3"}]}})";

TEST(Channels, ExitCodesComeFromTheStatus) {
  EXPECT_EQ(*exit_code_of(R"({"kind":"Status","status":"Success"})"), 0);
  EXPECT_EQ(*exit_code_of(exit_three), 3);
  const auto broken = exit_code_of(
      R"({"kind":"Status","status":"Failure","reason":"InternalError","message":"no such file"})");
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().message, "no such file");
  EXPECT_EQ(*exit_code_of(R"({"metadata":{},"status":"Success"})"), 0);  // as a kubelet says it
  EXPECT_EQ(*exit_code_of(R"({"metadata":{},"status":"Failure","reason":"NonZeroExitCode",
    "details":{"causes":[{"reason":"ExitCode","message":"7"}]}})"),
            7);
  EXPECT_EQ(exit_code_of("container not found\n").error().message, "container not found");
}

TEST(Channels, TheRequestNamesCommandAndStreams) {
  EXPECT_EQ(target_of(exec_request({.ns = "n",
                                    .pod = "p",
                                    .container = "c",
                                    .command = {"sh", "-c", "a b"},
                                    .has_stdin = true})),
            "/api/v1/namespaces/n/pods/p/exec?command=sh&command=-c&command=a%20b&container=c"
            "&stdout=true&stdin=true&stderr=true");
  EXPECT_THAT(target_of(exec_request({.ns = "n", .pod = "p", .has_tty = true})),
              ::testing::Not(HasSubstr("stderr")));
}

/// The API server's side, by hand.
struct Peer {
  Listener listener;
  Access access() const {
    Access made;
    made.cluster.server = fmt::format("http://127.0.0.1:{}", listener.port());
    return made;
  }
  RawClient accept(std::string_view protocol) {
    RawClient peer = listener.accept();
    const std::string head = peer.read_until("\r\n\r\n");
    const std::size_t at = head.find("Sec-WebSocket-Key: ") + 19;
    const std::string key = head.substr(at, head.find("\r\n", at) - at);
    peer.send(
        fmt::format("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
                    "Upgrade\r\nSec-WebSocket-Accept: {}\r\nSec-WebSocket-Protocol: {}\r\n\r\n",
                    net::websocket_accept(key), protocol));
    return peer;
  }
  static std::string frame(int channel, std::string_view bytes) {
    const std::size_t size = bytes.size() + 1;
    std::string made = "\x82";
    if (size < 126) {
      made += static_cast<char>(size);
    } else {
      made += '\x7e';
      made += static_cast<char>(size >> 8);
      made += static_cast<char>(size & 0xff);
    }
    made += static_cast<char>(channel);
    return made + std::string(bytes);
  }
  /// One short frame of the client, unmasked.
  static std::string read(RawClient& peer) {
    const std::string head = peer.read_bytes(6);
    std::string payload = peer.read_bytes(static_cast<unsigned char>(head[1]) & 0x7f);
    for (std::size_t i = 0; i < payload.size(); ++i) {
      payload[i] = static_cast<char>(payload[i] ^ head[2 + i % 4]);
    }
    return payload;
  }
};

const std::string normal_close = std::string("\x88\x02\x03\xe8", 4);

TEST(Exec, OutputGoesToItsChannelAndTheExitCodeIsTheVerdict) {
  Peer peer;
  const auto client = make_client(peer.access());
  Mailbox<std::string> out;
  Mailbox<Reply<int>> exit;
  const ExecSession session =
      exec_later(*client, {.ns = "n", .pod = "p", .command = {"x"}, .has_stdin = true},
                 {.on_stdout = [&](std::string_view b) { out.put("1:" + std::string(b)); },
                  .on_stderr = [&](std::string_view b) { out.put("2:" + std::string(b)); },
                  .on_exit = [&](Reply<int> code) { exit.put(std::move(code)); }});
  session.write("early");
  EXPECT_TRUE(session.close_stdin());
  RawClient raw = peer.accept("v5.channel.k8s.io");
  EXPECT_EQ(Peer::read(raw), std::string("\0early", 6));
  EXPECT_EQ(Peer::read(raw), std::string("\xff\0", 2));
  raw.send(Peer::frame(1, "") + Peer::frame(1, "hello") + Peer::frame(2, "oops") +
           Peer::frame(3, exit_three) + normal_close);
  EXPECT_EQ(out.take(), "1:hello");
  EXPECT_EQ(out.take(), "2:oops");
  EXPECT_EQ(*exit.take(), 3);
  EXPECT_FALSE(session.write("late"));
}

TEST(Exec, AnOlderServerCannotBeToldTheEndOfInput) {
  Peer peer;
  const auto client = make_client(peer.access());
  Mailbox<Reply<int>> exit;
  Mailbox<int> out;
  const ExecSession session =
      exec_later(*client, {.ns = "n", .pod = "p", .command = {"x"}, .has_stdin = true},
                 {.on_stdout = [&](std::string_view) { out.put(1); },
                  .on_exit = [&](Reply<int> code) { exit.put(std::move(code)); }});
  RawClient raw = peer.accept("v4.channel.k8s.io");
  raw.send(Peer::frame(1, "ready"));
  out.take();
  EXPECT_FALSE(session.close_stdin());
  raw.close();
  EXPECT_THAT(exit.take().error().message, HasSubstr("ended before the command"));
}

TEST(Exec, AnInputThatEndedBeforeTheOlderServerWasKnownEndsTheCommand) {
  Peer peer;
  const auto client = make_client(peer.access());
  Mailbox<Reply<int>> exit;
  const ExecSession session =
      exec_later(*client, {.ns = "n", .pod = "p", .command = {"cat"}, .has_stdin = true},
                 {.on_exit = [&](Reply<int> code) { exit.put(std::move(code)); }});
  EXPECT_TRUE(session.close_stdin()) << "nobody knows yet";
  const RawClient raw = peer.accept("v4.channel.k8s.io");
  EXPECT_THAT(exit.take().error().message, HasSubstr("cannot be told the end of the input"));
}

TEST(Exec, ACommandOfAServerThatHangsEndsWithTheReason) {
  Peer peer;
  const auto client = make_client(peer.access(), {.pulse = {.quiet = milliseconds(20),
                                                            .timeout = milliseconds(50),
                                                            .lost = milliseconds(60),
                                                            .lost_socket = milliseconds(200)}});
  Mailbox<Reply<int>> exit;
  exec_later(*client, {.ns = "n", .pod = "p", .command = {"x"}},
             {.on_exit = [&](Reply<int> code) { exit.put(std::move(code)); }});
  const RawClient raw = peer.accept("v5.channel.k8s.io");
  EXPECT_THAT(exit.take().error().message, HasSubstr("nothing was heard for"));
  EXPECT_GE(client->unheard_for(), milliseconds(200));
}

TEST(Exec, ARefusalIsTheServersWord) {
  Peer peer;
  const auto client = make_client(peer.access());
  Mailbox<Reply<int>> exit;
  exec_later(*client, {.ns = "n", .pod = "p", .command = {"x"}},
             {.on_exit = [&](Reply<int> code) { exit.put(std::move(code)); }});
  RawClient raw = peer.listener.accept();
  raw.read_until("\r\n\r\n");
  const std::string body = R"({"kind":"Status","reason":"NotFound","message":"no pod p"})";
  raw.send(
      fmt::format("HTTP/1.1 404 Not Found\r\nContent-Length: {}\r\n\r\n{}", body.size(), body));
  const auto code = exit.take();
  ASSERT_FALSE(code.ok());
  EXPECT_TRUE(code.error().is_not_found());
  EXPECT_EQ(code.error().message, "no pod p");
}

TEST(Ports, BytesPassAndTheNumbersInFrontAreDropped) {
  Peer peer;
  const auto client = make_client(peer.access());
  Mailbox<std::string> bytes;
  Mailbox<Reply<Ok>> closed;
  const PortConnection connection =
      connect_port_later(*client, "n", "p", 8080,
                         {.on_bytes = [&](std::string_view b) { bytes.put(std::string(b)); },
                          .on_close = [&](Reply<Ok> how) { closed.put(std::move(how)); }});
  RawClient raw = peer.accept("v4.channel.k8s.io");
  raw.send(Peer::frame(0, "\x90\x1f") + Peer::frame(1, "\x90\x1f") + Peer::frame(0, "answer"));
  EXPECT_EQ(bytes.take(), "answer");
  connection.write("ask");
  EXPECT_EQ(Peer::read(raw), std::string("\0ask", 4));
  raw.send(Peer::frame(1, "connection refused\n") + normal_close);
  EXPECT_EQ(closed.take().error().message, "connection refused");
}

}  // namespace
}  // namespace muster::kube
