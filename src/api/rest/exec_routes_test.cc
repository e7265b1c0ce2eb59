#include "api/rest/exec_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "api/rest/exec_bridge.h"
#include "api/testing/desk.h"
#include "net/channels.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/testing/mailbox.h"

namespace muster::api {
namespace {

using net::Channel;
using net::testing::Mailbox;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// A command that does what the test does.
struct PlayedCommand : ports::PodCommandSession {
  ports::PodCommand command;
  ports::PodCommandCallbacks on;
  Mailbox<std::string> asked;  // "write hello", "end_input", ...
  std::atomic<std::size_t> pending = 0;
  std::atomic<bool> is_held = false;

  void write(std::string_view bytes) override { asked.put(fmt::format("write {}", bytes)); }
  void end_input() override { asked.put("end_input"); }
  void resize(int columns, int rows) override {
    asked.put(fmt::format("resize {} {}", columns, rows));
  }
  void cancel() override { asked.put("cancel"); }
  std::size_t pending_bytes() const override { return pending; }
  void hold_output(bool now_held) override {
    is_held = now_held;
    asked.put(now_held ? "hold" : "release");
  }
};

struct ExecRoutes : ::testing::Test, testing::Desk {
  Mailbox<std::shared_ptr<PlayedCommand>> begun;
  std::vector<std::shared_ptr<PlayedCommand>> all;  // guarded by the next
  std::mutex all_mutex;
  std::optional<Error> refusal;
  bool ends_at_once = false;
  ExecParts parts{.requests = requests,
                  .work =
                      [](const std::function<void()>& task) {
                        task();
                        return true;
                      },
                  .run = [this](const std::string& cluster, const ports::PodCommand& command,
                                ports::PodCommandCallbacks callbacks)
                      -> Result<std::shared_ptr<ports::PodCommandSession>> {
                    EXPECT_EQ(cluster, "a");
                    if (refusal) return *refusal;
                    const auto played = std::make_shared<PlayedCommand>();
                    played->command = command;
                    played->on = std::move(callbacks);
                    {
                      const std::lock_guard lock(all_mutex);
                      all.push_back(played);
                    }
                    if (ends_at_once) {
                      played->on.on_output("quick");
                      played->on.on_exit(0);
                    } else {
                      begun.put(played);
                    }
                    return std::shared_ptr<ports::PodCommandSession>(played);
                  },
                  .sessions_most = 2};
  std::mutex turns;
  std::unique_ptr<net::HttpServer> server;
  std::unique_ptr<net::HttpClient> client = std::move(*net::HttpClient::make());

  ExecRoutes() {
    tell(model::ClusterSet{{"a", {}, {}, minutes(5)}});
    for (const char* name : {"n1", "n2"}) {
      model::NodeSpec node;
      node.name = name;
      node.allocatable.cpu = {64'000};
      tell(model::NodeSeen{"a", node});
    }
    model::QueueSpec queue;
    queue.name = "q";
    tell(model::QueueSet{queue});
    submit("runs");
    tell(model::Placed{"runs", 1, "a", "", {{0, "n1", "", 0, 0}, {0, "n2", "", 0, 0}}});
    tell(model::Started{"runs", 1});
    submit("waits");
    add_exec_routes(router, parts);
    requests.on_put([this] {
      const std::lock_guard lock(turns);
      turn();
    });
    auto started = net::HttpServer::start({}, [this](net::Request request, net::Responder answer) {
      request.headers.set("X-Muster-User", "ann");
      router.dispatch(std::move(request), std::move(answer));
    });
    server = std::move(*started);
  }
  ~ExecRoutes() override {
    client.reset();
    server->stop();
    // A session and its callbacks hold each other until the command ends, which not all tests play.
    for (const auto& played : all) played->on = {};
  }
  void submit(const std::string& id) {
    model::JobSpec job;
    job.id = id;
    job.user = "ann";
    job.queue = "q";
    model::PodSet set;
    set.count = 2;
    set.pod.requests.cpu = {1000};
    job.gang.sets.push_back(set);
    tell(model::JobSubmitted{job, world.job_count() + 1});
  }

  /// What a client of the route hears; the connection may outlive the test's handle.
  struct Heard {
    Mailbox<std::string> messages;
    Mailbox<std::string> closed;  // "1000", or the refusal's status and message
  };
  struct Client {
    std::shared_ptr<Heard> heard = std::make_shared<Heard>();
    net::HttpClient::OpenSocket open = {};
    std::string next() const { return heard->messages.take(); }
    std::string end() const { return heard->closed.take(); }
  };
  Client connect(const std::string& path) {
    Client made;
    net::WebSocketCallbacks on;
    on.on_message = [heard = made.heard](std::string_view message, bool) {
      heard->messages.put(std::string(message));
    };
    on.on_close = [heard = made.heard](const Result<net::WebSocketClose>& how,
                                       const net::Response& refused) {
      heard->closed.put(refused.status != 0
                            ? fmt::format("{} {}", refused.status, refused.body.view())
                            : fmt::format("{}", how ? how->code : 0));
    };
    made.open = client->open_websocket({.url = server->url() + "/api/muster/v1" + path},
                                       {.protocols = {std::string(exec_protocol)}}, std::move(on));
    return made;
  }
};

TEST_F(ExecRoutes, StreamsGoBothWaysUntilTheCommandEnds) {
  const auto shell = connect("/jobs/runs/exec?pod=1&command=sh&command=-c&command=a+b&input=true");
  const auto command = begun.take();
  EXPECT_EQ(command->command.attempt, (ports::Attempt{"runs", 1}));
  EXPECT_EQ(command->command.pod, 1U);
  EXPECT_EQ(command->command.words, (std::vector<std::string>{"sh", "-c", "a b"}));
  EXPECT_TRUE(command->command.has_input);
  EXPECT_FALSE(command->command.has_terminal);
  command->on.on_output("out");
  command->on.on_errors("err");
  EXPECT_EQ(shell.next(), "\x01out");
  EXPECT_EQ(shell.next(),
            "\x02"
            "err");
  shell.open.socket.send(net::channel_message(Channel::Stdin, "hello"));
  shell.open.socket.send(net::resize_message(80, 24));
  shell.open.socket.send(net::close_message(Channel::Stdin));
  EXPECT_EQ(command->asked.take(), "write hello");
  EXPECT_EQ(command->asked.take(), "resize 80 24");
  EXPECT_EQ(command->asked.take(), "end_input");
  command->on.on_exit(3);
  EXPECT_EQ(shell.next(), "\x03{\"exit_code\":3}");
  EXPECT_EQ(shell.end(), "1000");
  ASSERT_EQ(audit.size(), 1U);
  EXPECT_EQ(audit[0].verb, "exec");
  EXPECT_EQ(audit[0].object, "runs");
  EXPECT_EQ(audit[0].user, "ann");
  EXPECT_EQ(audit[0].detail, "pod 1: sh -c a b");
}

TEST_F(ExecRoutes, AnErrorOfTheCommandReachesTheClient) {
  const auto shell = connect("/jobs/runs/exec?command=ls");
  begun.take()->on.on_exit(Error{Fault::Unavailable, "no permission"});
  EXPECT_EQ(shell.next(), "\x03{\"error\":\"no permission\"}");
  EXPECT_EQ(shell.end(), "1000");
}

TEST_F(ExecRoutes, AClientThatGoesAwayEndsTheCommand) {
  const auto shell = connect("/jobs/runs/exec?command=ls");
  const auto command = begun.take();
  command->on.on_output("up");
  shell.next();
  shell.open.call.cancel();
  EXPECT_EQ(command->asked.take(), "cancel");
}

TEST_F(ExecRoutes, ASlowCommandSlowsItsClientAndASlowClientTheCommand) {
  const auto shell = connect("/jobs/runs/exec?command=cat&input=true");
  const auto command = begun.take();
  command->pending = 2U << 20;
  shell.open.socket.send(net::channel_message(Channel::Stdin, "1"));
  EXPECT_EQ(command->asked.take(), "write 1");
  shell.open.socket.send(net::channel_message(Channel::Stdin, "2"));
  command->on.on_output("not held");
  EXPECT_EQ(shell.next(), "\x01not held");
  command->pending = 0;
  command->on.on_drained();
  EXPECT_EQ(command->asked.take(), "write 2");
  shell.open.socket.hold();
  const std::string piece(256U << 10, 'x');
  for (int i = 0; i < 1000 && !command->is_held; ++i) command->on.on_output(piece);
  EXPECT_EQ(command->asked.take(), "hold");
  shell.open.socket.release();
  EXPECT_EQ(command->asked.take(), "release");
}

TEST_F(ExecRoutes, WhatCannotRunIsAnOrdinaryError) {
  const auto refused = [&](const std::string& path) { return connect(path).end(); };
  EXPECT_THAT(refused("/jobs/runs/exec"), HasSubstr("400"));
  EXPECT_THAT(refused("/jobs/runs/exec?comand=ls"), HasSubstr("comand"));
  EXPECT_THAT(refused("/jobs/nobody/exec?command=ls"),
              AllOf(HasSubstr("404"), HasSubstr("job nobody does not run")));
  EXPECT_THAT(refused("/jobs/waits/exec?command=ls"),
              AllOf(HasSubstr("409"), HasSubstr("job waits is waiting")));
  refusal = Error{Fault::NotFound, "it has no pod 2; there are 0 (p-0), 1 (p-1)"};
  EXPECT_THAT(refused("/jobs/runs/exec?command=ls&pod=2"),
              AllOf(HasSubstr("404"), HasSubstr("job runs: it has no pod 2; there are 0 (p-0)")))
      << "which pods there are only its cluster knows";
  refusal = Error{Fault::Conflict, "cluster a is simulated"};
  EXPECT_THAT(refused("/jobs/runs/exec?command=ls"),
              AllOf(HasSubstr("409"), HasSubstr("job runs: cluster a is simulated")));
  const auto plain = get("/jobs/runs/exec?command=ls");
  EXPECT_EQ(plain.status, 400);
  EXPECT_THAT(plain.message(), HasSubstr("WebSocket"));
}

TEST_F(ExecRoutes, OnlySoManyRunAtOnce) {
  const auto first = connect("/jobs/runs/exec?command=ls");
  const auto one = begun.take();
  const auto second = connect("/jobs/runs/exec?command=ls");
  const auto two = begun.take();
  EXPECT_THAT(connect("/jobs/runs/exec?command=ls").end(), HasSubstr("429"));
  two->on.on_exit(0);
  EXPECT_EQ(second.end(), "1000");
  ends_at_once = true;
  std::string again = "429";  // until the server has heard that the second closed
  for (int i = 0; i < 1000 && again.starts_with("429"); ++i)
    again = connect("/jobs/runs/exec?command=ls").end();
  EXPECT_EQ(again, "1000");
}

TEST_F(ExecRoutes, ACommandThatEndsAtOnceIsHeardWhole) {
  ends_at_once = true;
  const auto shell = connect("/jobs/runs/exec?command=ls");
  EXPECT_EQ(shell.next(), "\x01quick");
  EXPECT_EQ(shell.next(), "\x03{\"exit_code\":0}");
  EXPECT_EQ(shell.end(), "1000");
}

}  // namespace
}  // namespace muster::api
