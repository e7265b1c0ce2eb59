#include "clusters/kubernetes/pod_logs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "kube/testing/scripted_server.h"

namespace muster::clusters {
namespace {

using kube::testing::make_client;
using kube::testing::ScriptedServer;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Sink : public ports::LogSink {
 public:
  Result<std::uint64_t> taken(const ports::PodOutput&) override { return std::uint64_t{0}; }
  Result<ports::LastKept> last_kept(const ports::PodOutput&) override { return ports::LastKept{}; }
  Status append(const ports::PodOutput& pod, std::span<const ports::OutputChunk> chunks) override {
    if (is_full) return Error{Fault::Unavailable, "full"};
    for (const ports::OutputChunk& chunk : chunks) output[pod.pod] += chunk.bytes;
    return Ok{};
  }
  Result<bool> release(const ports::PodOutput&) override { return false; }
  Status finish(const ports::PodOutput& pod) override {
    if (is_full) return Error{Fault::Unavailable, "full"};
    finished.insert(pod.pod);
    return Ok{};
  }
  std::map<std::uint32_t, std::string> output;
  std::set<std::uint32_t> finished;
  bool is_full = false;
};

/// A gang whose pods are all on one node.
class PodLogsTest : public ::testing::Test {
 protected:
  std::vector<PodSight> pods(std::uint32_t count, bool have_ended = false) const {
    std::vector<PodSight> all;
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      PodSight& pod = all.emplace_back();
      pod.name = fmt::format("p{}", rank);
      pod.uid = pod.name;
      pod.ns = "ns";
      pod.node = "n";
      pod.output = {rank, "main", true, have_ended};
    }
    return all;
  }
  /// Passes until so much was asked, then a little longer.
  std::vector<std::string> asked(std::size_t count, Time now) {
    for (int left = 500; server.asked().size() < count && left > 0; --left) pass_once(now);
    for (int left = 20; left > 0; --left) pass_once(now);
    return server.asked();
  }
  void pass_once(Time now) {
    logs.pass(now);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  bool passes_until(const std::function<bool()>& is_so, Time now) {
    for (int left = 500; !is_so() && left > 0; --left) pass_once(now);
    return is_so();
  }
  void hang() {
    server.then([this](const net::Request&, const net::Responder& answer) {
      const std::lock_guard lock(held_mutex);
      held.push_back(answer);
    });
  }

  std::mutex held_mutex;
  std::vector<net::Responder> held;  // of requests that are not answered
  ScriptedServer server;
  std::unique_ptr<kube::Client> client = make_client(server.access(), {.requests_max = 1});
  Sink sink;
  PodLogs logs{*client, {}, sink, [] {}};
  const ports::Attempt attempt{"j", 1};
  const Time start{1'000'000};
};

TEST_F(PodLogsTest, ANodeThatNeverAnsweredIsAskedForOneLogAtATime) {
  server.then(502, "{}").then(502, "{}");
  logs.look(attempt, pods(5), start);
  EXPECT_THAT(asked(1, start), ElementsAre(AllOf(HasSubstr("/p0/log"), Not(HasSubstr("follow")))));
  EXPECT_THAT(asked(1, start + seconds(29)).size(), 1U);
  EXPECT_THAT(asked(2, start + seconds(31)), ElementsAre(HasSubstr("/p0/"), HasSubstr("/p1/")));
}

TEST_F(PodLogsTest, WhenTheNodeAnswersAllItsLogsAreFollowed) {
  server.then(200, "1970-01-01T00:10:00Z hello\n");
  for (int i = 0; i < 3; ++i) hang();
  logs.look(attempt, pods(3), start);
  const auto all = asked(4, start);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_THAT(all[0], Not(HasSubstr("follow")));
  for (std::size_t i = 1; i < 4; ++i) EXPECT_THAT(all[i], HasSubstr("follow=true"));
  EXPECT_EQ(sink.output[0], "hello\n");
}

TEST_F(PodLogsTest, TheEndOfAnEndedPodsLogIsHandedOverBeforeItIsComplete) {
  server.then(200, "1970-01-01T00:10:00Z a\n").then(200, "1970-01-01T00:10:00Z a\n");
  logs.look(attempt, pods(1, true), start);
  EXPECT_TRUE(logs.has_endings());
  EXPECT_FALSE(logs.is_complete(attempt));
  ASSERT_EQ(asked(1, start).size(), 1U);
  EXPECT_TRUE(passes_until([&] { return logs.is_complete(attempt); }, start + seconds(1)));
  EXPECT_EQ(sink.output[0], "a\n");
  EXPECT_FALSE(logs.has_endings());
}

TEST_F(PodLogsTest, ALogWithoutALineIsReadTwiceBeforeItIsComplete) {
  server.then(200, "").then(200, "1970-01-01T00:10:00Z late\n").then(200, "");
  logs.look(attempt, pods(1, true), start);
  EXPECT_EQ(asked(2, start + milliseconds(400)).size(), 1U);
  EXPECT_FALSE(logs.is_complete(attempt));
  EXPECT_TRUE(passes_until([&] { return logs.is_complete(attempt); }, start + seconds(2)) ||
              passes_until([&] { return logs.is_complete(attempt); }, start + seconds(3)));
  EXPECT_EQ(sink.output[0], "late\n");

  const ports::Attempt silent{"k", 1};
  server.then(200, "").then(200, "");
  logs.look(silent, pods(1, true), start);
  const auto is_complete = [&] { return logs.is_complete(silent); };
  EXPECT_FALSE(asked(4, start).empty());
  EXPECT_TRUE(passes_until(is_complete, start + seconds(1)));
  EXPECT_EQ(server.asked().size(), 5U);
}

TEST_F(PodLogsTest, APodOfASilentNodeThatEndedIsTriedOnceAndSaysThatItCouldNotBeRead) {
  server.then(502, "{}");
  logs.look(attempt, pods(1, true), start);
  EXPECT_TRUE(passes_until([&] { return logs.is_complete(attempt); }, start));
  EXPECT_THAT(sink.output[0], HasSubstr("the output of pod p0 could not be read"));
}

TEST_F(PodLogsTest, ASilentNodesPodsAreAskedOnWhenTheOneThatAskedIsGone) {
  server.then(502, "{}").then(502, "{}");
  logs.look(attempt, pods(2), start);
  ASSERT_EQ(asked(1, start).size(), 1U);
  std::vector<PodSight> left = pods(2);
  left.erase(left.begin());
  logs.look(attempt, left, start);
  EXPECT_THAT(asked(2, start + seconds(31)), ElementsAre(HasSubstr("/p0/"), HasSubstr("/p1/")));
}

TEST_F(PodLogsTest, WhatTheSinkRefusesIsHandedOverLater) {
  server.then(200, "1970-01-01T00:10:00Z a\n").then(200, "");
  sink.is_full = true;
  logs.look(attempt, pods(1, true), start);
  ASSERT_EQ(asked(1, start).size(), 1U);
  EXPECT_EQ(sink.output[0], "");
  sink.is_full = false;
  EXPECT_TRUE(passes_until([&] { return logs.is_complete(attempt); }, start + seconds(1)));
  EXPECT_EQ(sink.output[0], "a\n");
}

TEST_F(PodLogsTest, TheSinkIsToldTheEndAndAskedAgainUntilItTakesIt) {
  server.then(200, "1970-01-01T00:10:00Z a\n").then(200, "1970-01-01T00:10:01Z no end");
  logs.look(attempt, pods(1, true), start);
  ASSERT_TRUE(passes_until([&] { return sink.output[0] == "a\n"; }, start));
  EXPECT_TRUE(sink.finished.empty());
  sink.is_full = true;
  server.then(200, "1970-01-01T00:10:01Z no end");
  for (int i = 0; i < 50; ++i) pass_once(start + seconds(1));
  EXPECT_FALSE(logs.is_complete(attempt));
  sink.is_full = false;
  EXPECT_TRUE(passes_until([&] { return logs.is_complete(attempt); }, start + seconds(2)));
  EXPECT_EQ(sink.output[0], "a\nno end");
  EXPECT_TRUE(sink.finished.contains(0));
}

TEST_F(PodLogsTest, ANodeThatIsGoneIsForgottenWithItsLastLog) {
  server.then(200, "1970-01-01T00:10:00Z a\n").then(200, "");
  logs.look(attempt, pods(1, true), start);
  ASSERT_EQ(asked(1, start).size(), 1U);
  ASSERT_TRUE(passes_until([&] { return logs.is_complete(attempt); }, start + seconds(1)));
  const auto is_gone = [](const std::string& node) { return node == "n"; };
  logs.forget_nodes(is_gone);
  const ports::Attempt second{"k", 1};
  server.then(200, "");
  logs.look(second, pods(1), start);
  EXPECT_THAT(asked(3, start + seconds(1)).at(2), HasSubstr("follow=true"))
      << "as long as it has pods it is known to answer";

  for (const ports::Attempt& one : {attempt, second}) logs.look(one, {}, start);
  for (int i = 0; i < 20; ++i) pass_once(start + seconds(2));
  logs.forget_nodes(is_gone);
  server.then(200, "");
  logs.look({"l", 1}, pods(1), start);
  EXPECT_THAT(asked(4, start + seconds(3)).at(3), Not(HasSubstr("follow")));
}

TEST_F(PodLogsTest, FewAreBegunWhileRequestsWaitInLine) {
  server.then(200, "");
  logs.look(attempt, pods(1), start);
  hang();
  ASSERT_EQ(asked(2, start).size(), 2U);  // the node answers
  for (int i = 0; i < 20; ++i) hang();
  for (int i = 0; i < 2; ++i)
    client->send_later({.path = "/create"}, [](const kube::Reply<boost::json::value>&) {});
  ASSERT_EQ(client->waiting(), 1U);
  logs.look(attempt, pods(9), start);
  EXPECT_EQ(asked(3 + 4, start).size(), 3U + 4U);
  EXPECT_EQ(asked(3 + 8, start + milliseconds(500)).size(), 3U + 8U);
}

}  // namespace
}  // namespace muster::clusters
