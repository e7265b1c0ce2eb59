#include "kube/informer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <chrono>

#include "kube/testing/scripted_server.h"
#include "kube/watch.h"
#include "net/testing/mailbox.h"

namespace muster::kube {
namespace {

using net::testing::Mailbox;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::make_client;
using testing::ScriptedServer;

std::string pod(std::string_view name, int version, std::string_view uid = "") {
  return fmt::format(
      R"({{"metadata":{{"name":"{}","namespace":"n","uid":"{}","resourceVersion":"{}"}}}})", name,
      uid.empty() ? name : uid, version);
}

std::string event(std::string_view type, const std::string& object) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
}

std::string list(int version, const std::vector<std::string>& pods, std::string_view token = "") {
  std::string items;
  for (const std::string& one : pods) items += (items.empty() ? "" : ",") + one;
  return fmt::format(R"({{"metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[{}]}})",
                     version, token, items);
}

const std::string gone_event =
    event("ERROR", R"({"kind":"Status","reason":"Expired","code":410,"message":"too old"})");

/// An informer of pods that keeps their versions and writes down what it is told.
struct Watched {
  explicit Watched(ScriptedServer& server, Duration backoff = milliseconds(10))
      : client(make_client(server.access(), {.read_attempts_max = 1})),
        informer(*client,
                 {.resource = resources::pods(),
                  .page = 2,
                  .backoff_min = backoff,
                  .backoff_max = {backoff.ms * 2},
                  .retry_after_max = {backoff.ms * 2}},
                 [](const boost::json::value& object) { return std::string(version_of(object)); },
                 handlers(), {{"version", [](const std::string& version) {
                                 return std::vector<std::string>{version};
                               }}}) {}

  InformerHandlers<std::string> handlers() {
    using Value = std::shared_ptr<const std::string>;
    InformerHandlers<std::string> on;
    on.on_add = [this](const std::string& key, const Value& value) {
      told.put(fmt::format("+{} {}", key, *value));
    };
    on.on_update = [this](const std::string& key, const Value& before, const Value& after) {
      told.put(fmt::format("{} {}>{}", key, *before, *after));
    };
    on.on_delete = [this](const std::string& key, const Value& last) {
      told.put(fmt::format("-{} {}", key, *last));
    };
    on.on_synced = [this] { told.put("synced"); };
    on.on_failure = [this](const ApiError& error, int failures) {
      told.put(fmt::format("failed {}: {}", failures, error.code));
    };
    on.on_recovery = [this] { told.put("recovered"); };
    return on;
  }
  std::vector<std::string> hear(int count) {
    std::vector<std::string> heard;
    for (int i = 0; i < count; ++i) heard.push_back(told.take());
    return heard;
  }

  Mailbox<std::string> told;
  std::unique_ptr<Client> client;
  Informer<std::string> informer;
};

/// A watch that stays open, so that the script does not go on.
ScriptedServer::Step hold(Mailbox<net::Stream>& open) {
  return
      [&open](const net::Request&, const net::Responder& answer) { open.put(answer.stream({})); };
}

TEST(Informer, ListsInPagesThenWatchesFromThere) {
  ScriptedServer server;
  Mailbox<net::Stream> open;
  server.then(200, list(5, {pod("a", 1), pod("b", 2)}, "c"))
      .then(200, list(5, {pod("c", 3)}))
      .then(hold(open));
  Watched watched(server);
  EXPECT_THAT(watched.hear(4), ElementsAre("+n/a 1", "+n/b 2", "+n/c 3", "synced"));
  EXPECT_TRUE(watched.informer.wait_for_sync(seconds(10)));
  const net::Stream stream = open.take();
  stream.send(event("MODIFIED", pod("a", 6)) + event("DELETED", pod("b", 7)) +
              event("BOOKMARK", pod("", 9)) + event("ADDED", pod("d", 10)));
  EXPECT_THAT(watched.hear(3), ElementsAre("n/a 1>6", "-n/b 2", "+n/d 10"));
  EXPECT_EQ(watched.informer.store().size(), 3U);
  EXPECT_EQ(*watched.informer.store().get("n/a"), "6");
  EXPECT_EQ(watched.informer.store().by_index("version", "6").size(), 1U);
  EXPECT_TRUE(watched.informer.store().by_index("version", "1").empty());
  EXPECT_THAT(server.asked()[2], HasSubstr("resourceVersion=5"));
}

TEST(Informer, AWatchThatEndsOrBreaksGoesOnWhereItWas) {
  ScriptedServer server;
  Mailbox<net::Stream> open;
  server.then(200, list(5, {pod("a", 1)}))
      .then_stream(event("MODIFIED", pod("a", 6)) + event("BOOKMARK", pod("", 8)))
      .then_stream(event("MODIFIED", pod("a", 9)) + R"({"type":"MODIFIED","object":{"metad)")
      .then(hold(open));
  Watched watched(server);
  EXPECT_THAT(watched.hear(4), ElementsAre("+n/a 1", "synced", "n/a 1>6", "n/a 6>9"));
  const net::Stream held = open.take();
  const auto asked = server.asked();
  ASSERT_EQ(asked.size(), 4U);
  EXPECT_THAT(asked[2], HasSubstr("resourceVersion=8"));
  EXPECT_THAT(asked[3], HasSubstr("resourceVersion=9")) << "half an event is none";
}

TEST(Informer, A410ListsAgainAndTellsOnlyTheDifferences) {
  ScriptedServer server;
  Mailbox<net::Stream> open;
  server.then(200, list(5, {pod("a", 1), pod("b", 2), pod("c", 3)}))
      .then_stream(gone_event)
      .then(200, list(50, {pod("a", 1), pod("c", 44, "made-anew"), pod("d", 45)}))
      .then(hold(open));
  Watched watched(server);
  EXPECT_THAT(watched.hear(4), ElementsAre("+n/a 1", "+n/b 2", "+n/c 3", "synced"));
  EXPECT_THAT(watched.hear(5), ElementsAre("-n/c 3", "+n/c 44", "+n/d 45", "-n/b 2", "synced"));
  const net::Stream held = open.take();
  EXPECT_THAT(server.asked().back(), HasSubstr("resourceVersion=50"));
}

TEST(Informer, A410AsAnAnswerListsAgainToo) {
  ScriptedServer server;
  Mailbox<net::Stream> open;
  server.then(200, list(5, {pod("a", 1)}))
      .then(410, R"({"kind":"Status","reason":"Expired","code":410})")
      .then(200, list(6, {pod("a", 2)}))
      .then(hold(open));
  Watched watched(server);
  EXPECT_THAT(watched.hear(4), ElementsAre("+n/a 1", "synced", "n/a 1>2", "synced"));
  const net::Stream held = open.take();
}

TEST(Informer, AServerThatForgetsAgainAndAgainIsGivenTime) {
  ScriptedServer server;
  Mailbox<net::Stream> open;
  for (int i = 0; i < 3; ++i) server.then(200, list(5, {})).then_stream(gone_event);
  server.then(200, list(5, {})).then(hold(open));
  const auto began = std::chrono::steady_clock::now();
  Watched watched(server, milliseconds(100));
  EXPECT_THAT(watched.hear(4), ElementsAre("synced", "synced", "synced", "synced"));
  const net::Stream held = open.take();
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(75 + 150))
      << "at once, after 100 ms, after 200 ms; each up to a quarter less";
}

TEST(Informer, AServerThatWantsToBeLeftAloneForAnHourIsAskedBeforeThat) {
  ScriptedServer server;
  Mailbox<net::Stream> open;
  server.then(429, "", {{"Retry-After", "3600"}}).then(200, list(5, {})).then(hold(open));
  Watched watched(server);
  EXPECT_THAT(watched.hear(3), ElementsAre("failed 1: 429", "recovered", "synced"));
  const net::Stream held = open.take();
}

TEST(Informer, FailuresAreToldAndTriedAgain) {
  ScriptedServer server;
  Mailbox<net::Stream> open;
  server.then(403, "").then(500, "").then(200, list(5, {})).then(503, "").then(hold(open));
  Watched watched(server);
  EXPECT_THAT(watched.hear(5), ElementsAre("failed 1: 403", "failed 2: 500", "recovered", "synced",
                                           "failed 1: 503"));
  const net::Stream stream = open.take();
  stream.send(event("ADDED", pod("a", 6)));
  EXPECT_THAT(watched.hear(2), ElementsAre("recovered", "+n/a 6"));
}

TEST(Informer, AContinueTokenThatExpiredMeansOneWholeList) {
  ScriptedServer server;
  Mailbox<net::Stream> open;
  server.then(200, list(5, {pod("a", 1), pod("b", 2)}, "c"))
      .then(410, R"({"kind":"Status","reason":"Expired","code":410})")
      .then(200, list(9, {pod("a", 1), pod("x", 8)}))
      .then(hold(open));
  Watched watched(server);
  EXPECT_THAT(watched.hear(5), ElementsAre("+n/a 1", "+n/b 2", "+n/x 8", "-n/b 2", "synced"));
  const net::Stream held = open.take();
  EXPECT_EQ(server.asked()[2], "GET /api/v1/pods");
}

TEST(Informer, NothingIsToldAfterItWasStopped) {
  ScriptedServer server;
  Mailbox<net::Stream> open;
  server.then(200, list(5, {})).then(hold(open));
  Watched watched(server);
  watched.hear(1);
  const net::Stream stream = open.take();
  watched.informer.stop();
  stream.send(event("ADDED", pod("a", 6)));
  watched.client.reset();
  watched.told.put("end");
  EXPECT_EQ(watched.told.take(), "end");
}

TEST(WatchDecoder, LinesThatAreNoEventsEndTheWatchWithAnError) {
  int events = 0;
  const auto decode = [&](std::string_view bytes) -> std::string {
    WatchDecoder decoder([&](const WatchEvent&) {
      ++events;
      return true;
    });
    decoder.feed(bytes);
    return decoder.error() ? decoder.error()->message : "fine";
  };
  EXPECT_EQ(decode(event("ADDED", pod("a", 1))), "fine");
  EXPECT_EQ(decode(event("SOMETHING_NEW", pod("a", 1))), "fine");
  EXPECT_EQ(decode("{}\n"), "a line of the watch is no event");
  EXPECT_EQ(decode("no json\n"), "a line of the watch is no event");
  EXPECT_EQ(decode(gone_event), "too old");
  EXPECT_EQ(decode("{\"type\":\"ADDED\""), "fine") << "not a whole line yet";
  EXPECT_EQ(events, 1);
}

}  // namespace
}  // namespace muster::kube
