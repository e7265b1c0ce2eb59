// `muster exec` against a server that plays the command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>

#include "cli/testing/scripted.h"
#include "net/channels.h"
#include "net/testing/mailbox.h"

namespace muster::cli::testing {
namespace {

using net::Channel;
using net::testing::Mailbox;
using ::testing::HasSubstr;

constexpr std::string_view job = "01j9zp11aa";

/// A server with one job; the test does what the command would do.
struct Played {
  Mailbox<net::Request> asked;
  Mailbox<net::WebSocket> opened;
  Mailbox<std::string> messages;
  Mailbox<std::string> closed;
  std::function<void(const net::WebSocket&, std::string_view)> on_message = {};
  std::function<std::optional<net::Response>()> refusal = {};
  net::Router router;
  std::unique_ptr<net::HttpServer> server;

  Played() {
    const std::string path = fmt::format("/api/muster/v1/jobs/{}", job);
    router.add("GET", path, net::AnswerNow([](const net::Request&) {
                 return net::json_response(200, fmt::format(R"({{"id":"{}"}})", job));
               }));
    router.add("GET", path + "/exec",
               net::Handler([this](const net::Request& request, const net::Responder& responder) {
                 asked.put(request);
                 if (refusal) {
                   responder.send(*refusal());
                   return;
                 }
                 net::WebSocketCallbacks on;
                 on.on_message = [this](std::string_view message, bool) {
                   messages.put(std::string(message));
                   if (on_message) on_message(*socket, message);
                 };
                 on.on_close = [this](const Result<net::WebSocketClose>&, const net::Response&) {
                   closed.put("closed");
                 };
                 socket = responder.websocket(request, {.protocols = {"v1.exec.muster.dev"}},
                                              std::move(on));
                 if (begin) begin(*socket);
               }));
    server = std::move(*net::HttpServer::start({}, [this](net::Request r, net::Responder a) {
      router.dispatch(std::move(r), std::move(a));
    }));
  }
  ~Played() { server->stop(); }

  std::function<void(const net::WebSocket&)> begin = {};
  std::optional<net::WebSocket> socket;
};

void end_with(const net::WebSocket& socket, std::string_view end) {
  socket.send(net::channel_message(Channel::Error, end));
  socket.close();
}

TEST(Exec, WritesBothStreamsAndEndsWithTheCodeOfTheCommand) {
  Played server;
  server.begin = [](const net::WebSocket& socket) {
    socket.send(net::channel_message(Channel::Stdout, "out\n"));
    socket.send(net::channel_message(Channel::Stderr, "err\n"));
    end_with(socket, R"({"exit_code":42})");
  };
  const Outcome outcome = run_command(
      server.server->url(), {"exec", std::string(job), "--pod", "2", "--", "ls", "-l", "[a]", ""});
  EXPECT_EQ(outcome.code, 42);
  EXPECT_EQ(outcome.out, "out\n");
  EXPECT_EQ(outcome.err, "err\n");
  EXPECT_EQ(server.asked.take().target,
            fmt::format("/api/muster/v1/jobs/{}/exec?pod=2&command=ls&command=-l&command=%5Ba%5D&"
                        "command=",
                        job));
}

TEST(Exec, PassesTheInputOnAndItsEnd) {
  Played server;
  server.on_message = [](const net::WebSocket& socket, std::string_view message) {
    if (message == net::close_message(Channel::Stdin)) end_with(socket, R"({"exit_code":0})");
  };
  Outcome outcome;
  Host host = quiet_host(outcome, server.server->url());
  host.read_input = [pieces =
                         std::make_shared<std::atomic<int>>(0)](Duration) -> Result<std::string> {
    const int piece = (*pieces)++;
    if (piece == 2) return Error{Fault::NotFound, "end"};
    return piece == 0 ? std::string("hello ") : std::string("world");
  };
  run_command(host, outcome, {"exec", "-i", std::string(job), "--", "cat"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(server.messages.take().substr(1) + server.messages.take().substr(1), "hello world");
  EXPECT_THAT(server.asked.take().target, HasSubstr("input=true"));
}

TEST(Exec, ATerminalIsRawMeanwhileAndItsSizeIsTold) {
  Played server;
  server.on_message = [](const net::WebSocket& socket, std::string_view) {
    end_with(socket, R"({"exit_code":0})");
  };
  Outcome outcome;
  Host host = quiet_host(outcome, server.server->url());
  host.in_is_terminal = true;
  host.read_input = [](Duration) -> Result<std::string> { return std::string(); };
  int raw = 0;
  host.raw_terminal = [&raw]() -> std::shared_ptr<void> {
    raw = 1;
    return {&raw, [](void* of) { *static_cast<int*>(of) = 2; }};
  };
  run_command(host, outcome, {"exec", "-it", std::string(job), "--", "bash"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(server.messages.take(), net::resize_message(100, 30));
  EXPECT_THAT(server.asked.take().target, HasSubstr("terminal=true"));
  EXPECT_EQ(raw, 2);
}

TEST(Exec, ARefusalIsSaidInOneLine) {
  Played server;
  server.refusal = [] {
    return net::json_response(
        409, R"({"error":{"code":"conflict","message":"job x is waiting","request_id":"r"}})");
  };
  const Outcome outcome = run_command(server.server->url(), {"exec", std::string(job), "--", "ls"});
  EXPECT_EQ(outcome.code, exit_refused);
  EXPECT_EQ(outcome.err, "muster: job x is waiting\n");
}

TEST(Exec, ACommandThatCouldNotRunIsSaidInOneLine) {
  Played server;
  server.begin = [](const net::WebSocket& socket) {
    end_with(socket, R"({"error":"pods \"a\" is forbidden"})");
  };
  const Outcome outcome = run_command(server.server->url(), {"exec", std::string(job), "--", "ls"});
  EXPECT_EQ(outcome.code, exit_refused);
  EXPECT_EQ(outcome.err, "muster: pods \"a\" is forbidden\n");
}

TEST(Exec, AServerThatStopsIsNoEndOfTheCommand) {
  Played server;
  server.begin = [](const net::WebSocket& socket) { socket.close(1001, "stopping"); };
  const Outcome outcome = run_command(server.server->url(), {"exec", std::string(job), "--", "ls"});
  EXPECT_EQ(outcome.code, exit_unavailable);
  EXPECT_THAT(outcome.err, HasSubstr("before the command ended"));
}

TEST(Exec, AnInterruptEndsItAndCutsTheConnection) {
  Played server;
  Outcome outcome;
  Host host = quiet_host(outcome, server.server->url());
  host.interrupts = [count = 0]() mutable { return count++ > 0 ? 1 : 0; };
  run_command(host, outcome, {"exec", std::string(job), "--", "sleep", "100"});
  EXPECT_EQ(outcome.code, exit_interrupted);
  EXPECT_EQ(server.closed.take(), "closed");
}

TEST(Exec, NeedsACommand) {
  Played server;
  const Outcome outcome = run_command(server.server->url(), {"exec", std::string(job)});
  EXPECT_EQ(outcome.code, exit_wrong);
  EXPECT_THAT(outcome.err, HasSubstr("CMD"));
}

}  // namespace
}  // namespace muster::cli::testing
