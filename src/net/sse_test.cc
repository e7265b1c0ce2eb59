#include "net/sse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace muster::net {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<SseEvent> read(std::string_view text, std::size_t piece) {
  std::vector<SseEvent> events;
  SseParser parser([&](SseEvent event) { events.push_back(std::move(event)); });
  for (std::size_t i = 0; i < text.size(); i += piece) {
    EXPECT_TRUE(parser.feed(text.substr(i, piece)).ok());
  }
  return events;
}

TEST(Sse, IsWrittenInLines) {
  EXPECT_EQ(to_text(SseEvent{"7", "job", "a\nb"}), "id: 7\nevent: job\ndata: a\ndata: b\n\n");
  EXPECT_EQ(to_text(SseEvent{"", "", ""}), "data: \n\n");
  EXPECT_EQ(to_text(SseEvent{"1\n2", "x\r\ny", "a\r\nb\rc"}),
            "id: 12\nevent: xy\ndata: a\ndata: b\ndata: c\n\n");
  EXPECT_EQ(to_text(SseEvent{"", "", "x", 500}), "retry: 500\ndata: x\n\n");
  EXPECT_EQ(sse_comment("a\nb"), ": a\n: b\n\n");
}

TEST(Sse, IsReadInPiecesOfAnySize) {
  const std::string_view text =
      "\xEF\xBB\xBF: hello\r\nid: 1\r\nevent: add\r\ndata: one\r\ndata:two\r\n\r\n"
      "data\n\nid:9\ndata: x\rdata:  y\r\rretry: 250\n\nunknown: z\ndata: cut off";
  for (const std::size_t piece : {1U, 2U, 3U, 7U, 1000U}) {
    EXPECT_THAT(read(text, piece),
                ElementsAre(SseEvent{"1", "add", "one\ntwo"}, SseEvent{"1", "", ""},
                            SseEvent{"9", "", "x\n y"}, SseEvent{"9", "", "", 250}))
        << piece;
  }
}

TEST(Sse, WhatIsNotAnEventGivesNone) {
  EXPECT_THAT(read("\n\n: comment\n\nevent: lonely\n\nretry: soon\n\n", 5), IsEmpty());
  std::vector<SseEvent> events = read(std::string_view("id: a\0b\ndata: x\n\n", 17), 3);
  EXPECT_THAT(events, ElementsAre(SseEvent{"", "", "x"})) << "an id with a zero byte is ignored";
}

TEST(Sse, AnIdIsTheLastOnlyWhenItsEventIsWhole) {
  SseParser parser([](const SseEvent&) {});
  ASSERT_TRUE(parser.feed("id: 1\ndata: x\n\nid: 2\ndata: y\n").ok());
  EXPECT_EQ(parser.last_event_id(), "1");
  ASSERT_TRUE(parser.feed("\n").ok());
  EXPECT_EQ(parser.last_event_id(), "2");
}

TEST(Sse, AnEventWithoutEndIsRefused) {
  SseParser parser([](const SseEvent&) {}, 100);
  ASSERT_TRUE(parser.feed("data: " + std::string(80, 'x') + "\n\n").ok());
  ASSERT_TRUE(parser.feed("data: " + std::string(80, 'x') + "\n").ok());
  EXPECT_FALSE(parser.feed("data: " + std::string(20, 'x')).ok());
  EXPECT_FALSE(parser.feed("\n\n").ok());
}

}  // namespace
}  // namespace muster::net
