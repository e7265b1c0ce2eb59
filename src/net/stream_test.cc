// Streams between a real server and raw sockets or the real client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <thread>

#include "net/http_client.h"
#include "net/lines.h"
#include "net/sse.h"
#include "net/testing/server.h"

namespace muster::net {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Mailbox;
using testing::RawClient;
using testing::Server;
using ::testing::StartsWith;

constexpr std::string_view get_stream = "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n";

/// A server whose /stream hands each stream to the test.
class Streams {
 public:
  explicit Streams(const StreamOptions& options = {}, ServerOptions server_options = {})
      : server(
            [this, options](Router& router) {
              router.add(
                  "GET", "/stream", [this, options](const Request&, const Responder& answer) {
                    opened.put(answer.stream({200, {{"Content-Type", "text/plain"}}, {}}, options));
                  });
            },
            std::move(server_options)) {}

  Mailbox<Stream> opened;
  Server server;
};

TEST(Stream, SendsChunksAsTheyComeAndEndsWithTheLast) {
  Streams streams;
  RawClient client = streams.server.connect();
  client.send(get_stream);
  const Stream stream = streams.opened.take();
  EXPECT_THAT(client.read_until("\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("Transfer-Encoding: chunked\r\n"),
                    HasSubstr("Connection: close\r\n")));
  EXPECT_TRUE(stream.send("hello"));
  EXPECT_EQ(client.read_until("hello\r\n"), "5\r\nhello\r\n");
  EXPECT_TRUE(stream.send("more"));
  stream.finish();
  EXPECT_FALSE(stream.send("too late"));
  EXPECT_EQ(client.read_all(), "4\r\nmore\r\n0\r\n\r\n");
  client.close();
  const Access access = streams.server.accesses.take();
  EXPECT_EQ(access.stream_end, StreamEnd::Finished);
  EXPECT_EQ(access.route, "/stream");
}

TEST(Stream, ABodyOfTheHeadGoesFirst) {
  Server server([](Router& router) {
    router.add("GET", "/", [](const Request&, const Responder& answer) {
      const Stream stream = answer.stream({200, {}, "first "});
      stream.send("second");
    });
  });
  auto client = HttpClient::make();
  std::string seen;
  const auto result =
      (*client)->stream({.url = server.url("/")}, {.on_head = {}, .on_bytes = [&](auto bytes) {
                                                     seen += bytes;
                                                     return true;
                                                   }});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(seen, "first second");
}

TEST(Stream, AnOldClientReadsUntilTheEnd) {
  Streams streams;
  RawClient client = streams.server.connect();
  client.send("GET /stream HTTP/1.0\r\n\r\n");
  {
    const Stream stream = streams.opened.take();
    stream.send("plain ");
    stream.send("bytes");
  }  // the last handle finishes it
  EXPECT_TRUE(client.read_all().ends_with("\r\n\r\nplain bytes"));
}

TEST(Stream, HeadOfAStreamIsItsHeadersAlone) {
  Streams streams;
  RawClient client = streams.server.connect();
  client.send("HEAD /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  const Stream stream = streams.opened.take();
  Mailbox<StreamEnd> ended;
  stream.on_end([&](StreamEnd end) { ended.put(end); });
  EXPECT_TRUE(client.read_all().ends_with("\r\n\r\n"));
  EXPECT_EQ(ended.take(), StreamEnd::Finished);
}

TEST(Stream, KnowsWhenTheClientWentAway) {
  Streams streams;
  auto client = std::make_unique<RawClient>(streams.server.connect());
  client->send(get_stream);
  const Stream stream = streams.opened.take();
  Mailbox<StreamEnd> ended;
  stream.on_end([&](StreamEnd end) { ended.put(end); });
  EXPECT_TRUE(stream.is_open());
  client.reset();
  EXPECT_EQ(ended.take(), StreamEnd::ClientGone);
  EXPECT_FALSE(stream.send("hello?"));
  EXPECT_FALSE(stream.is_open());
  Mailbox<StreamEnd> again;
  stream.on_end([&](StreamEnd end) { again.put(end); });
  EXPECT_EQ(again.take(), StreamEnd::ClientGone) << "told at once when it is over already";
}

TEST(Stream, AClientThatDoesNotReadIsDroppedAndTheWriterNeverWaits) {
  Streams streams({.pending_bytes_max = 200'000});
  RawClient client(streams.server->port(), 4096);
  client.send(get_stream);
  const Stream stream = streams.opened.take();
  Mailbox<StreamEnd> ended;
  stream.on_end([&](StreamEnd end) { ended.put(end); });
  const SharedBytes piece = share(std::string(10'000, 'x'));
  // Kernel buffers take some megabytes at most; a writer that waited would hang here.
  int sent = 0;
  while (stream.send(piece) && sent < 100'000) ++sent;
  EXPECT_LT(sent, 100'000);
  EXPECT_EQ(ended.take(), StreamEnd::TooSlow);
  EXPECT_EQ(streams.server.accesses.take().stream_end, StreamEnd::TooSlow);
  EXPECT_EQ(streams.server->stats().dropped_streams, 1U);
  EXPECT_EQ(piece.use_count(), 1) << "what was pending is given back";
}

TEST(Stream, AClientThatStopsReadingIsDroppedInTime) {
  ServerOptions options;
  options.write_timeout = milliseconds(80);
  Streams streams({.pending_bytes_max = 64U << 20}, options);
  RawClient client(streams.server->port(), 4096);
  client.send(get_stream);
  const Stream stream = streams.opened.take();
  Mailbox<StreamEnd> ended;
  stream.on_end([&](StreamEnd end) { ended.put(end); });
  stream.send(std::string(30U << 20, 'x'));
  EXPECT_EQ(ended.take(), StreamEnd::TooSlow);
}

TEST(Stream, OnePieceMayExceedTheLimit) {
  Streams streams({.pending_bytes_max = 10});
  RawClient client = streams.server.connect();
  client.send(get_stream);
  const Stream stream = streams.opened.take();
  EXPECT_TRUE(stream.send(std::string(1000, 'x')));
  stream.finish();
  EXPECT_TRUE(client.read_all().ends_with("x\r\n0\r\n\r\n"));
}

TEST(Stream, QuietStreamsHaveAHeartbeat) {
  ServerOptions options;
  options.idle_timeout = milliseconds(100);  // makes the server look often; not for streams
  Streams streams({.heartbeat = milliseconds(30), .heartbeat_bytes = ": beat\n\n"}, options);
  RawClient client = streams.server.connect();
  client.send(get_stream);
  const Stream stream = streams.opened.take();
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(client.read_until(": beat\n\n\r\n"), HasSubstr("8\r\n: beat"));
  }
  EXPECT_TRUE(stream.is_open());
}

TEST(Stream, StopEndsStreamsInOrder) {
  Streams streams;
  RawClient client = streams.server.connect();
  client.send(get_stream);
  const Stream stream = streams.opened.take();
  Mailbox<StreamEnd> ended;
  stream.on_end([&](StreamEnd end) { ended.put(end); });
  stream.send("last");
  std::thread stops([&] { streams.server->stop(seconds(10)); });
  EXPECT_TRUE(client.read_all().ends_with("4\r\nlast\r\n0\r\n\r\n"));
  client.close();
  EXPECT_EQ(ended.take(), StreamEnd::ServerStopping);
  stops.join();
}

TEST(Stream, ManyThreadsWriteOneStreamWithoutTearing) {
  ServerOptions options;
  options.threads = 2;
  Streams streams({.pending_bytes_max = 64U << 20}, options);
  auto client = HttpClient::make();
  std::vector<int> seen(4);
  LineCutter lines([&](std::string_view line) {
    EXPECT_EQ(line.size(), 100U) << line;
    EXPECT_EQ(line.find_first_not_of(line[0]), std::string_view::npos) << line;
    ++seen[static_cast<std::size_t>(line[0] - 'a')];
    return true;
  });
  std::vector<std::thread> writers;
  std::thread feeds([&] {
    const Stream stream = streams.opened.take();
    for (int i = 0; i < 4; ++i) {
      writers.emplace_back([stream, i] {
        const SharedBytes line = share(std::string(100, static_cast<char>('a' + i)) + '\n');
        for (int k = 0; k < 2000; ++k) EXPECT_TRUE(stream.send(line));
      });
    }
    for (std::thread& writer : writers) writer.join();
  });
  const auto result = (*client)->stream(
      {.url = streams.server.url("/stream")},
      {.on_head = {}, .on_bytes = [&](std::string_view bytes) { return lines.feed(bytes); }});
  feeds.join();
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_THAT(seen, ElementsAre(2000, 2000, 2000, 2000));
}

TEST(Stream, TwoThousandClientsShareOneCopyOfEachEvent) {
  rlimit files = {};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const std::size_t count = std::min<std::size_t>(2000, (files.rlim_cur - 100) / 2);
  ServerOptions options;
  options.threads = 2;
  Mailbox<Stream> opened;
  auto events = HttpServer::start(
      options, [&](const Request&, const Responder& answer) { opened.put(answer.event_stream()); });
  ASSERT_TRUE(events.ok());
  std::vector<RawClient> clients;
  std::vector<Stream> streams;
  for (std::size_t i = 0; i < count; ++i) {
    clients.emplace_back((*events)->port());
    clients.back().send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  for (std::size_t i = 0; i < count; ++i) streams.push_back(opened.take());
  std::vector<SharedBytes> sent;
  for (int n = 0; n < 20; ++n) {
    sent.push_back(share(to_text(SseEvent{std::to_string(n), "job", "{\"n\":1}"})));
    for (const Stream& stream : streams) EXPECT_TRUE(stream.send(sent.back()));
  }
  for (RawClient& client : clients) {
    EXPECT_THAT(client.read_until("id: 19\nevent: job\ndata: {\"n\":1}\n\n"),
                HasSubstr("id: 0\nevent: job\n"));
  }
  (*events)->stop(seconds(10));
  for (const SharedBytes& bytes : sent) EXPECT_EQ(bytes.use_count(), 1);
}

TEST(EventStream, TheClientReadsWhatTheServerSends) {
  Server server([](Router& router) {
    router.add("GET", "/events", [](const Request&, const Responder& answer) {
      const Stream stream = answer.event_stream();
      stream.send(sse_comment("hi") + to_text(SseEvent{"7", "job", "two\nlines"}));
      stream.send(to_text(SseEvent{"8", "", "x"}));
    });
  });
  auto client = HttpClient::make();
  std::vector<SseEvent> events;
  SseParser parser([&](SseEvent event) { events.push_back(std::move(event)); });
  std::string type;
  const auto result = (*client)->stream(
      {.url = server.url("/events")},
      {.on_head =
           [&](const ClientResponse& head) {
             type = head.headers.get("content-type");
             return true;
           },
       .on_bytes = [&](std::string_view bytes) { return parser.feed(bytes).ok(); }});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(type, "text/event-stream");
  EXPECT_THAT(events, ElementsAre(SseEvent{"7", "job", "two\nlines"}, SseEvent{"8", "", "x"}));
  EXPECT_EQ(parser.last_event_id(), "8");
}

}  // namespace
}  // namespace muster::net
