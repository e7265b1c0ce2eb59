// What only a real kubelet does: commands in containers, connections to their ports, their output.
#include <gmock/gmock.h>

#include <chrono>
#include <future>
#include <mutex>
#include <thread>

#include "kube/exec.h"
#include "net/testing/mailbox.h"
#include "tests/e2e/kube_cluster.h"

namespace muster::e2e {
namespace {

using net::testing::Mailbox;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Bytes that come in pieces.
class Heard {
 public:
  void add(std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    text_ += bytes;
    more_.notify_all();
  }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  bool wait_for(std::string_view part) {
    std::unique_lock lock(mutex_);
    return more_.wait_for(lock, std::chrono::seconds(30),
                          [&] { return text_.find(part) != std::string::npos; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable more_;
  std::string text_;
};

class Node : public Cluster {
 protected:
  /// A pod that runs a command, once it is running.
  std::string start_pod(const std::string& script) {
    json::value pod = json::parse(R"({"apiVersion":"v1","kind":"Pod",
      "metadata":{"generateName":"p-"},"spec":{"restartPolicy":"Never","containers":[
        {"name":"main","imagePullPolicy":"Never"}],"terminationGracePeriodSeconds":0}})");
    json::object& container = pod.at_pointer("/spec/containers/0").as_object();
    container["image"] = variable("MUSTER_E2E_IMAGE");
    container["command"] = {"sh", "-c", script};
    const std::string name(kube::name_of(create_pod(pod)));
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < end) {
      const auto now = client->send(kube::get_request(kube::resources::pods(), ns, name));
      if (now && kube::text_at(*now, {"status", "phase"}) != "Pending") return name;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    ADD_FAILURE() << "the pod did not start";
    return name;
  }
  kube::Reply<kube::ExecResult> run(const std::string& pod, std::vector<std::string> words) const {
    return kube::exec(*client, {.ns = ns, .pod = pod, .command = std::move(words)});
  }
  kube::ExecSession begin(const kube::ExecOptions& options) {
    return kube::exec_later(
        *client, options,
        {.on_stdout = [this](std::string_view bytes) { out.add(bytes); },
         .on_stderr = [this](std::string_view bytes) { errors.add(bytes); },
         .on_exit = [this](kube::Reply<int> code) { exit.put(std::move(code)); }});
  }

  Heard out;
  Heard errors;
  Mailbox<kube::Reply<int>> exit;
};

TEST_F(Node, ACommandsOutputErrorsAndExitCodeComeBack) {
  const std::string pod = start_pod("sleep 1000");
  const auto done = run(pod, {"sh", "-c", "echo out; echo errors >&2; exit 7"});
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(done->out, "out\n");
  EXPECT_EQ(done->errors, "errors\n");
  EXPECT_EQ(done->exit_code, 7);
  const auto fine = run(pod, {"true"});
  ASSERT_TRUE(fine.ok()) << fine.error().message;
  EXPECT_EQ(fine->exit_code, 0);
}

TEST_F(Node, WordsReachTheCommandAsTheyAre) {
  const std::string pod = start_pod("sleep 1000");
  const auto done = run(pod, {"printf", "%s|", "a b", "", "ä&?=+%20", "$HOME\n"});
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(done->out, "a b||ä&?=+%20|$HOME\n|");
}

TEST_F(Node, MuchOutputArrivesWhole) {
  const std::string pod = start_pod("sleep 1000");
  const auto done = run(pod, {"sh", "-c", "yes 0123456789abcde | head -c 20000000"});
  ASSERT_TRUE(done.ok()) << done.error().message;
  ASSERT_EQ(done->out.size(), 20'000'000u);
  for (std::size_t i = 0; i < done->out.size(); i += 16) {
    ASSERT_EQ(done->out.substr(i, 16), "0123456789abcde\n") << i;
  }
}

TEST_F(Node, InputReachesTheCommandAndSoDoesItsEnd) {
  const std::string pod = start_pod("sleep 1000");
  const kube::ExecSession session =
      begin({.ns = ns, .pod = pod, .command = {"sh", "-c", "wc -c; exit 4"}, .has_stdin = true});
  const std::string block(100'000, 'x');
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(session.write(block));
  EXPECT_TRUE(session.close_stdin());
  const auto code = exit.take();
  ASSERT_TRUE(code.ok()) << code.error().message;
  EXPECT_EQ(*code, 4);
  EXPECT_EQ(out.text(), "3000000\n");
}

TEST_F(Node, ATerminalHasASizeThatChanges) {
  const std::string pod = start_pod("sleep 1000");
  const kube::ExecSession session =
      begin({.ns = ns, .pod = pod, .command = {"sh", "-i"}, .has_stdin = true, .has_tty = true});
  // What a terminal echoes must not look like the answer. A size that comes before the process may
  // be lost, as with every client: the prompt is waited for.
  const auto reports = [&](const std::string& size) {
    session.write("until [ \"$(stty size)\" = '" + size + "' ]; do :; done; echo it' 'is " + size +
                  "\n");
    return out.wait_for("it is " + size + "\r\n");
  };
  EXPECT_TRUE(out.wait_for("# ")) << out.text();
  session.resize(91, 33);
  EXPECT_TRUE(reports("33 91")) << out.text();
  session.resize(120, 50);
  EXPECT_TRUE(reports("50 120")) << out.text();
  session.write("echo mixed >&2; exit 9\n");
  const auto code = exit.take();
  ASSERT_TRUE(code.ok()) << code.error().message;
  EXPECT_EQ(*code, 9);
  EXPECT_THAT(out.text(), HasSubstr("mixed\r\n"));
  EXPECT_EQ(errors.text(), "");
}

TEST_F(Node, WhatCannotRunSaysWhy) {
  const std::string pod = start_pod("sleep 1000");
  const auto missing = run(pod, {"no-such-program"});
  EXPECT_TRUE(!missing.ok() || missing->exit_code != 0);
  if (!missing.ok()) EXPECT_THAT(missing.error().message, HasSubstr("no-such-program"));
  const auto nobody = run("nobody", {"true"});
  ASSERT_FALSE(nobody.ok());
  EXPECT_TRUE(nobody.error().is_not_found()) << nobody.error().message;
  const std::string ended = start_pod("true");
  for (int i = 0; i < 100; ++i) {
    const auto now = client->send(kube::get_request(kube::resources::pods(), ns, ended));
    if (now && kube::text_at(*now, {"status", "phase"}) == "Succeeded") break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  const auto late = run(ended, {"true"});
  ASSERT_FALSE(late.ok());
  EXPECT_THAT(late.error().message, HasSubstr("container not found"));
}

TEST_F(Node, ACommandThatIsCutOffSaysSo) {
  const std::string pod = start_pod("sleep 1000");
  const kube::ExecSession session =
      begin({.ns = ns, .pod = pod, .command = {"sh", "-c", "echo up; sleep 1000"}});
  EXPECT_TRUE(out.wait_for("up\n"));
  session.cancel();
  const auto code = exit.take();
  ASSERT_FALSE(code.ok());
  EXPECT_TRUE(code.error().is_cancelled);
}

TEST_F(Node, BytesGoBothWaysThroughAPort) {
  const std::string pod = start_pod("nc -ll -p 7000 -e cat");
  Mailbox<kube::Reply<Ok>> closed;
  const auto listening = run(pod, {"sh", "-c", "until netstat -ltn | grep -q :7000; do :; done"});
  ASSERT_TRUE(listening.ok()) << listening.error().message;
  const kube::PortConnection connection = kube::connect_port_later(
      *client, ns, pod, 7000,
      {.on_bytes = [&](std::string_view bytes) { out.add(bytes); },
       .on_close = [&](kube::Reply<Ok> how) { closed.put(std::move(how)); }});
  connection.write("ping\n");
  EXPECT_TRUE(out.wait_for("ping\n")) << out.text();
  std::string much;
  for (int i = 0; i < 100'000; ++i) much += std::to_string(i) + ",";
  connection.write(much + "end");
  EXPECT_TRUE(out.wait_for("end"));
  EXPECT_EQ(out.text(), "ping\n" + much + "end");
  connection.close();
  const auto how = closed.take();
  EXPECT_TRUE(how.ok()) << how.error().message;
}

TEST_F(Node, APortWhereNobodyListensIsAnError) {
  const std::string pod = start_pod("sleep 1000");
  Mailbox<kube::Reply<Ok>> closed;
  const kube::PortConnection connection = kube::connect_port_later(
      *client, ns, pod, 7001, {.on_close = [&](kube::Reply<Ok> how) { closed.put(how); }});
  connection.write("ping\n");
  const auto how = closed.take();
  ASSERT_FALSE(how.ok());
  EXPECT_THAT(how.error().message, HasSubstr("refused"));
}

TEST_F(Node, ALogIsFollowedUntilTheContainerEnds) {
  const std::string pod =
      start_pod("for i in 1 2 3; do echo line $i; sleep 0.3; done; echo last >&2; exit 3");
  const auto done = client->stream(kube::log_request(ns, pod, {.follow = true, .timestamps = true}),
                                   [&](std::string_view b) {
                                     out.add(b);
                                     return true;
                                   });
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_THAT(out.text(), StartsWith("20"));
  EXPECT_THAT(out.text(), HasSubstr("Z line 1\n"));
  EXPECT_THAT(out.text(), HasSubstr("Z last\n"));
}

}  // namespace
}  // namespace muster::e2e
