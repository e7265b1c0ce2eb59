// What every LogStore must do. A kind of store passes a Harness with `LogStore& logs()` and
// `LogStore& reopened()`, as a new process sees it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "ports/log_store.h"

namespace muster::ports {

template <typename Harness>
class LogStoreContract : public testing::Test {
 protected:
  static std::vector<LogLine> lines(const std::vector<std::string>& texts, std::int64_t at = 1,
                                    const std::string& pod = "p0") {
    std::vector<LogLine> all;
    for (const std::string& text : texts) all.push_back({Time{at++}, pod, Stream::Out, text, 0});
    return all;
  }
  static std::string text(const Result<LogPage>& page) {
    if (!page) return page.error().message;
    std::string all;
    for (const LogLine& line : page->lines) all += line.text;
    return all + (page->end ? "" : "...");
  }
  Harness harness;
  const Attempt one{"job/../a", 1};
};
TYPED_TEST_SUITE_P(LogStoreContract);

TYPED_TEST_P(LogStoreContract, LinesComeBackInOrderWithAllTheirParts) {
  LogStore& logs = this->harness.logs();
  const std::vector<LogLine> written = {
      {Time{5}, "p0", Stream::Out, "hello\n", 0},
      {Time{6}, "p1", Stream::Err, std::string("no\0end", 6), 0},
      {Time{7}, "", Stream::Out, "\n", 0},
  };
  ASSERT_TRUE(logs.append(this->one, written));
  ASSERT_TRUE(logs.append({"job/../a", 2}, this->lines({"other\n"})));
  const auto page = this->harness.reopened().read(this->one, {});
  ASSERT_TRUE(page);
  ASSERT_EQ(page->lines.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    LogLine expected = written[i];
    expected.offset = page->lines[i].offset;
    EXPECT_EQ(page->lines[i], expected);
  }
  EXPECT_TRUE(page->end);
  EXPECT_EQ(*this->harness.logs().attempts("job/../a"), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_TRUE(this->harness.logs().attempts("unknown")->empty());
}

TYPED_TEST_P(LogStoreContract, AReaderFollowsByTheOffsetItWasGiven) {
  LogStore& logs = this->harness.logs();
  auto page = logs.read(this->one, {});
  ASSERT_TRUE(page && page->lines.empty() && page->end);
  ASSERT_TRUE(logs.append(this->one, this->lines({"1\n", "2\n", "3\n"})));
  page = logs.read(this->one, {.from = page->next, .limit = 2});
  EXPECT_EQ(this->text(page), "1\n2\n...");
  page = logs.read(this->one, {.from = page->next});
  EXPECT_EQ(this->text(page), "3\n");
  page = logs.read(this->one, {.from = page->next});
  EXPECT_EQ(this->text(page), "");
  LogStore& again = this->harness.reopened();
  ASSERT_TRUE(again.append(this->one, this->lines({"4\n"})));
  EXPECT_EQ(this->text(again.read(this->one, {.from = page->next})), "4\n");
}

TYPED_TEST_P(LogStoreContract, TailSinceSearchAndPodChoose) {
  LogStore& logs = this->harness.logs();
  ASSERT_TRUE(logs.append(this->one, this->lines({"a1\n", "b2\n", "a3\n", "b4\n"}, 10)));
  ASSERT_TRUE(logs.append(this->one, this->lines({"a5\n"}, 20, "p1")));
  EXPECT_EQ(this->text(logs.read(this->one, {.tail = 2})), "b4\na5\n");
  EXPECT_EQ(this->text(logs.read(this->one, {.tail = 0})), "");
  EXPECT_EQ(this->text(logs.read(this->one, {.tail = 99})), "a1\nb2\na3\nb4\na5\n");
  EXPECT_EQ(this->text(logs.read(this->one, {.since = Time{12}})), "a3\nb4\na5\n");
  EXPECT_EQ(this->text(logs.read(this->one, {.contains = "a"})), "a1\na3\na5\n");
  EXPECT_EQ(this->text(logs.read(this->one, {.tail = 2, .contains = "a"})), "a3\na5\n");
  EXPECT_EQ(this->text(logs.read(this->one, {.pod = "p1"})), "a5\n");
  const auto tail = logs.read(this->one, {.tail = 1});
  ASSERT_TRUE(logs.append(this->one, this->lines({"a6\n"}, 30)));
  EXPECT_EQ(this->text(logs.read(this->one, {.from = tail->next})), "a6\n");
}

TYPED_TEST_P(LogStoreContract, ATailLongerThanAPageGoesOnWhereThePageEnded) {
  LogStore& logs = this->harness.logs();
  for (int i = 0; i < 3000; ++i) {
    const std::string pod = i % 3 == 0 ? "p1" : "p0";
    ASSERT_TRUE(logs.append(this->one, this->lines({fmt::format("{}\n", i)}, 1, pod)));
  }
  const auto all_of = [&](LogQuery query) {
    std::vector<std::string> texts;
    for (bool end = false; !end; query.tail.reset()) {
      const auto page = logs.read(this->one, query);
      if (!page) return texts;
      EXPECT_LE(page->lines.size(), query.limit);
      for (const LogLine& line : page->lines) texts.push_back(line.text);
      query.from = page->next;
      end = page->end;
    }
    return texts;
  };
  const auto tail = all_of({.tail = 2500, .limit = 300});
  ASSERT_EQ(tail.size(), 2500u);
  EXPECT_EQ(tail.front(), "500\n");
  EXPECT_EQ(tail.back(), "2999\n");
  const auto of_pod = all_of({.tail = 900, .pod = "p1", .limit = 300});
  ASSERT_EQ(of_pod.size(), 900u);
  EXPECT_EQ(of_pod.front(), "300\n");
  EXPECT_EQ(all_of({.tail = 1'000'000, .limit = 300}).size(), 3000u);
  EXPECT_EQ(all_of({.tail = 1, .contains = "nowhere"}).size(), 0u);
}

TYPED_TEST_P(LogStoreContract, WhatWasCopiedIsKnownAfterARestart) {
  LogStore& logs = this->harness.logs();
  EXPECT_EQ(*logs.appended(this->one, "p0", Stream::Out), 0u);
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(logs.append(this->one, this->lines({"hello\n", std::string(200, 'x')})));
  LogStore& again = this->harness.reopened();
  EXPECT_EQ(*again.appended(this->one, "p0", Stream::Out), 50u * 206);
  EXPECT_EQ(*again.appended(this->one, "p0", Stream::Err), 0u);
  ASSERT_TRUE(again.append(this->one, this->lines({"more\n"})));
  EXPECT_EQ(*again.appended(this->one, "p0", Stream::Out), 50u * 206 + 5);
}

TYPED_TEST_P(LogStoreContract, ALongLineIsKeptInParts) {
  LogStore& logs = this->harness.logs();
  const std::string text = std::string(150'000, 'x') + "\n";
  ASSERT_TRUE(logs.append(this->one, this->lines({text})));
  const auto page = logs.read(this->one, {});
  EXPECT_EQ(page->lines.size(), 3u);
  EXPECT_EQ(this->text(page), text);
}

TYPED_TEST_P(LogStoreContract, ATailCountsLinesAndNotTheirParts) {
  LogStore& logs = this->harness.logs();
  auto lines = this->lines({"old\n", "na", "me\n", std::string(150'000, 'x') + "\n"});
  lines[2].continues = true;
  ASSERT_TRUE(logs.append(this->one, lines));
  ASSERT_TRUE(logs.append(this->one, this->lines({"last\n"})));
  LogStore& again = this->harness.reopened();
  EXPECT_EQ(again.read(this->one, {.tail = 1})->lines.size(), 1u);
  const auto two = again.read(this->one, {.tail = 2});
  ASSERT_EQ(two->lines.size(), 4u);
  EXPECT_FALSE(two->lines[0].continues);
  EXPECT_TRUE(two->lines[1].continues && two->lines[2].continues);
  EXPECT_FALSE(two->lines[3].continues);
  EXPECT_EQ(again.read(this->one, {.tail = 3})->lines.front().text, "na");
  EXPECT_EQ(again.read(this->one, {.tail = 4})->lines.size(), 7u);
  EXPECT_EQ(this->text(again.read(this->one, {.tail = 1, .contains = "me"})), "me\n");
}

TYPED_TEST_P(LogStoreContract, RetentionRemovesTheOldestFirst) {
  LogStore& logs = this->harness.logs();
  const Attempt old{"old", 1};
  ASSERT_TRUE(logs.append(old, this->lines({"bye\n"}, 10)));
  for (int i = 0; i < 200; ++i)
    ASSERT_TRUE(logs.append(this->one, this->lines({fmt::format("{:0100}\n", i)}, 1000 + i)));
  LogLimits limits;
  limits.age = milliseconds(500);
  EXPECT_GT(*logs.retain(Time{700}, limits), 0u);
  EXPECT_EQ(this->text(logs.read(old, {})), "");
  EXPECT_TRUE(logs.attempts("old")->empty());
  EXPECT_EQ(*logs.retain(Time{700}, limits), 0u);
  limits.attempt_bytes = 10'000;
  const auto before = logs.read(this->one, {.tail = 20});
  EXPECT_GT(*logs.retain(Time{700}, limits), 5000u);
  EXPECT_LT(logs.read(this->one, {})->lines.size(), 120u);
  EXPECT_EQ(this->text(logs.read(this->one, {.tail = 20})), this->text(before));
  EXPECT_EQ(this->text(logs.read(this->one, {.from = before->lines[0].offset})),
            this->text(before));
  EXPECT_EQ(*logs.appended(this->one, "p0", Stream::Out), 200u * 101);
  ASSERT_TRUE(logs.append({"new", 1}, this->lines({"hi\n"}, 2000)));
  limits.total_bytes = 1000;
  EXPECT_GT(*logs.retain(Time{700}, limits), 0u);
  EXPECT_EQ(this->text(logs.read(this->one, {})), "");
  EXPECT_EQ(this->text(logs.read({"new", 1}, {})), "hi\n");
}

TYPED_TEST_P(LogStoreContract, ReadersFollowWhileLinesCome) {
  LogStore& logs = this->harness.logs();
  std::thread writer([&] {
    for (int i = 0; i < 300; ++i)
      EXPECT_TRUE(logs.append(this->one, this->lines({fmt::format("line {}\n", i)})));
  });
  std::uint64_t from = 0;
  int seen = 0;
  while (seen < 300) {
    const auto page = logs.read(this->one, {.from = from});
    ASSERT_TRUE(page);
    for (const LogLine& line : page->lines) ASSERT_EQ(line.text, fmt::format("line {}\n", seen++));
    from = page->next;
  }
  writer.join();
}

REGISTER_TYPED_TEST_SUITE_P(LogStoreContract, LinesComeBackInOrderWithAllTheirParts,
                            AReaderFollowsByTheOffsetItWasGiven, TailSinceSearchAndPodChoose,
                            ATailLongerThanAPageGoesOnWhereThePageEnded,
                            WhatWasCopiedIsKnownAfterARestart, ALongLineIsKeptInParts,
                            ATailCountsLinesAndNotTheirParts, RetentionRemovesTheOldestFirst,
                            ReadersFollowWhileLinesCome);

}  // namespace muster::ports
