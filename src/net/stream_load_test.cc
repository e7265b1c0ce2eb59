#include "net/stream_load.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "net/sse.h"
#include "net/testing/server.h"

namespace muster::net {
namespace {

using testing::Mailbox;
using testing::Server;

constexpr Duration patience = seconds(30);

std::string event(int id) {
  return to_text(SseEvent{std::to_string(id), "tick", std::string(1000, 'x')});
}

TEST(StreamCounter, CountsEventsAndSeesWhatIsMissingHoweverTheBytesAreCut) {
  const std::string bytes =
      "HTTP/1.1 200 OK\r\nX: y\r\n\r\n5\r\n" + event(7) + event(7) + event(8) + event(10);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, bytes.size()}) {
    StreamCounter counter;
    for (std::size_t at = 0; at < bytes.size(); at += piece)
      counter.feed(std::string_view(bytes).substr(at, piece));
    EXPECT_EQ(counter.seen().status, 200);
    EXPECT_EQ(counter.seen().events, 4U);
    EXPECT_EQ(counter.seen().first_id, 7U);
    EXPECT_EQ(counter.seen().last_id, 10U);
    EXPECT_EQ(counter.seen().gaps, 1U);
  }
}

/// A server whose /events hands each stream to the test, with the id it resumes after.
struct StreamLoading : ::testing::Test {
  Mailbox<std::pair<Stream, std::string>> opened;
  Server server{[this](Router& router) {
    router.add("GET", "/events", [this](const Request& request, const Responder& answer) {
      opened.put({answer.event_stream(), std::string(request.headers.get("Last-Event-ID"))});
    });
  }};
};

TEST_F(StreamLoading, EveryClientThatReadsGetsWhatIsSent) {
  const auto load =
      StreamLoad::open("127.0.0.1", server->port(), {{.target = "/events"}, {"/events", "41"}});
  ASSERT_TRUE(load.ok()) << load.error().message;
  std::vector<std::string> resumed;
  for (int i = 0; i < 2; ++i) {
    const auto [stream, after] = opened.take();
    resumed.push_back(after);
    stream.send(event(42) + event(43));
    stream.finish();
  }
  std::sort(resumed.begin(), resumed.end());
  EXPECT_EQ(resumed, (std::vector<std::string>{"", "41"}));
  EXPECT_TRUE((*load)->wait(
      [](const std::vector<StreamSeen>& seen) {
        return std::all_of(seen.begin(), seen.end(),
                           [](const auto& one) { return one.ended && one.last_id == 43; });
      },
      patience));
}

TEST_F(StreamLoading, AClientThatDoesNotReadIsDroppedAndReadsTheRestLater) {
  const auto load =
      StreamLoad::open("127.0.0.1", server->port(), {{.target = "/events", .reads = false}});
  ASSERT_TRUE(load.ok()) << load.error().message;
  const auto [stream, after] = opened.take();
  int id = 0;
  while (stream.send(event(++id))) {
    ASSERT_LT(id, 3'000) << "a stream that nobody reads holds more than it may";
  }
  EXPECT_EQ((*load)->seen()[0].events, 0U);
  (*load)->read_all();
  EXPECT_TRUE((*load)->wait([](const auto& seen) { return seen[0].ended; }, patience));
  EXPECT_GT((*load)->seen()[0].events, 0U);
  EXPECT_LT((*load)->seen()[0].last_id, static_cast<std::uint64_t>(id));
  EXPECT_EQ((*load)->seen()[0].gaps, 0U);
}

TEST(StreamLoad, AServerThatIsNotThereIsAnError) {
  EXPECT_FALSE(StreamLoad::open("127.0.0.1", 1, {{.target = "/events"}}).ok());
  EXPECT_FALSE(StreamLoad::open("nowhere", 1, {{.target = "/events"}}).ok());
}

}  // namespace
}  // namespace muster::net
