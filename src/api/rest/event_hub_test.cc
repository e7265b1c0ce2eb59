#include "api/rest/event_hub.h"

#include <gtest/gtest.h>

#include <chrono>
#include <list>
#include <thread>

#include "net/exchange.h"
#include "net/sse.h"
#include "ports/memory_store.h"

namespace muster::api {
namespace {

/// A client without a socket: it takes what was sent when the test says so.
class Client {
 public:
  net::Stream begin() { return net::Responder(exchange_).event_stream(); }
  /// Bytes taken; what they hold is added to the ids.
  std::size_t take() {
    if (!state_) {
      auto answer = exchange_->take();
      if (!answer) return 0;
      state_ = answer->stream;
    }
    const net::StreamState::Batch batch = state_->take();
    for (const net::SharedBytes& piece : batch.pieces) EXPECT_TRUE(parser_.feed(*piece).ok());
    state_->wrote(batch.bytes);
    is_over_ = is_over_ || batch.is_over;
    is_last_ = is_last_ || batch.is_last;
    return batch.bytes;
  }
  /// Until it has so many events at least, or half a minute is over.
  bool take_until(std::size_t events) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (ids.size() < events && !is_over_) {
      if (take() == 0) std::this_thread::yield();
      if (std::chrono::steady_clock::now() > end) return false;
    }
    return ids.size() >= events;
  }
  /// The connection is closed.
  void leave() {
    take();
    state_->end(net::StreamEnd::ClientGone);
  }
  bool is_over() const { return is_over_; }
  bool is_last() const { return is_last_; }

  std::vector<std::uint64_t> ids;

 private:
  const std::shared_ptr<net::Exchange> exchange_ =
      std::make_shared<net::Exchange>(std::weak_ptr<net::Waker>(), "req-1");
  std::shared_ptr<net::StreamState> state_;
  net::SseParser parser_{
      [this](const net::SseEvent& event) { ids.push_back(std::stoull(event.id)); }};
  bool is_over_ = false;
  bool is_last_ = false;
};

struct EventHubTest : ::testing::Test {
  ports::MemoryStore store;
  sched::World world;
  EventHub hub{store, {.kept = 65'536, .look_pause = std::chrono::milliseconds(20)}};
  std::uint64_t sequence = 0;

  void publish(std::size_t events) {
    control::StepReport report;
    for (std::size_t i = 0; i < events; ++i)
      report.events.push_back({Time{1}, model::JobHeld{"job-" + std::to_string(++sequence % 7)}});
    report.events_sequence = sequence;
    hub.publish(report, world);
  }
  void listen(Client& client, Listen what) {
    hub.listen(
        std::move(what), [&client] { return client.begin(); },
        [](const Error& error) { ADD_FAILURE() << error.message; });
  }
};

std::vector<std::uint64_t> numbers(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t n = first; n <= last; ++n) all.push_back(n);
  return all;
}

TEST_F(EventHubTest, WhoListensGetsWhatComesInOrder) {
  Client client;
  listen(client, {});
  publish(10);
  publish(5);
  ASSERT_TRUE(client.take_until(15));
  EXPECT_EQ(client.ids, numbers(1, 15));
}

TEST_F(EventHubTest, WhoMissedMoreThanAStreamHoldsGetsAllOfItAndThenWhatComes) {
  Client before;
  listen(before, {});
  constexpr std::size_t missed = 20'000;  // some megabytes
  for (std::size_t i = 0; i < missed / 100; ++i) {
    publish(100);
    ASSERT_TRUE(before.take_until((i + 1) * 100));
  }
  Client client;
  listen(client, {.filter = {}, .from = 3});
  ASSERT_TRUE(client.take_until(1000));
  publish(10);  // while it is behind
  ASSERT_TRUE(client.take_until(missed + 10 - 2)) << client.is_over();
  publish(1);
  ASSERT_TRUE(client.take_until(missed + 11 - 2));
  EXPECT_EQ(client.ids, numbers(3, missed + 11));
}

TEST_F(EventHubTest, NotesGoToThoseWhoListenWithTheNewestNumberBefore) {
  Client everything;
  Client of_job;
  Client of_another;
  listen(everything, {});
  listen(of_job, {.filter = {.job = "a", .kinds = {"note"}}});
  listen(of_another, {.filter = {.job = "b"}});
  publish(3);
  ASSERT_TRUE(everything.take_until(3));
  hub.tell({.job = "a", .attempt = 1, .key = "k", .reason = "BackOff"});
  ASSERT_TRUE(everything.take_until(4));
  ASSERT_TRUE(of_job.take_until(1));
  publish(1);
  ASSERT_TRUE(everything.take_until(5));
  EXPECT_EQ(everything.ids, (std::vector<std::uint64_t>{1, 2, 3, 3, 4}));
  EXPECT_EQ(of_job.ids, (std::vector<std::uint64_t>{3}));
  of_another.take();
  EXPECT_TRUE(of_another.ids.empty());
}

TEST_F(EventHubTest, WhoLeftIsForgottenThoughNothingHappensToTheJob) {
  Client stays;
  listen(stays, {.filter = {.job = "quiet"}});
  std::list<Client> leaving(50);
  for (Client& client : leaving) listen(client, {.filter = {.job = "quiet"}});
  listen(leaving.emplace_back(), {});
  EXPECT_EQ(hub.listeners(), 52u);
  for (Client& client : leaving) client.leave();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (hub.listeners() > 1 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_EQ(hub.listeners(), 1u);
  hub.tell({.job = "quiet", .attempt = 1, .key = "k", .reason = "BackOff"});
  EXPECT_TRUE(stays.take_until(1));
}

TEST_F(EventHubTest, WhoWantsThePastOnlyIsSentItAndTheStreamEnds) {
  Client before;
  listen(before, {});
  publish(14);
  ASSERT_TRUE(before.take_until(14));
  Client client;
  listen(client, {.filter = {.job = "job-3"}, .from = 1, .follow = false});
  ASSERT_TRUE(client.take_until(2));
  EXPECT_EQ(client.ids, (std::vector<std::uint64_t>{3, 10}));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!client.is_last() && std::chrono::steady_clock::now() < end) client.take();
  EXPECT_TRUE(client.is_last());
}

}  // namespace
}  // namespace muster::api
