#include "control/log_keeper.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ports/memory_log_store.h"

namespace muster::control {
namespace {

using ports::Stream;

/// Refuses when told to, after it has written.
class Failing : public ports::MemoryLogStore {
 public:
  Status append(const ports::Attempt& attempt, std::span<const ports::LogLine> lines) override {
    const Status status = MemoryLogStore::append(attempt, lines);
    if (!fails) return status;
    return Error{Fault::Unavailable, "the disk is full"};
  }
  bool fails = false;
};

struct LogKeeperTest : testing::Test {
  static ports::OutputChunk chunk(std::string bytes, std::uint64_t position,
                                  Stream stream = Stream::Out) {
    return {stream, Time{7}, std::move(bytes), position};
  }
  /// Texts of all lines, with | between, and + before what goes on a line.
  std::string lines() const {
    std::string all;
    const auto page = logs.read({"a", 1}, {});
    for (const ports::LogLine& line : page->lines)
      all += (line.continues ? "+" : "") + line.text + "|";
    return all;
  }

  const ports::PodOutput pod{"a", 1, 0};
  Failing logs;
  LogKeeper keeper{logs};
};

TEST_F(LogKeeperTest, OutputIsKeptLineByLine) {
  ASSERT_EQ(*keeper.taken(pod), 0u);
  const std::vector chunks = {chunk("one\ntwo\nhalf", 20), chunk(" of it\n", 40)};
  ASSERT_TRUE(keeper.append(pod, chunks));
  EXPECT_EQ(lines(), "one\n|two\n|half of it\n|");
  EXPECT_EQ(*keeper.taken(pod), 40u);
}

TEST_F(LogKeeperTest, ALineThatComesInPartsIsOneLineOfTheTimeItBegan) {
  ports::OutputChunk first = chunk("be", 10);
  ports::OutputChunk second = chunk("gun\nand", 20);
  ports::OutputChunk third = chunk(" ended\n", 30);
  second.at = third.at = Time{9};
  for (const auto& part : {first, chunk("wrong\n", 15, Stream::Err), second, third})
    ASSERT_TRUE(keeper.append(pod, std::vector{part}));
  EXPECT_EQ(lines(), "wrong\n|begun\n|and ended\n|");
  const auto page = logs.read({"a", 1}, {.tail = 2});
  EXPECT_EQ(page->lines[0].at, Time{7});
  EXPECT_EQ(page->lines[1].at, Time{9});
}

TEST_F(LogKeeperTest, APromptIsSeenAtTheSecondLookAndItsAnswerContinuesIt) {
  ASSERT_TRUE(keeper.append(pod, std::vector{chunk("name? ", 10)}));
  EXPECT_FALSE(*keeper.release(pod));
  EXPECT_EQ(lines(), "");
  EXPECT_TRUE(*keeper.release(pod));
  EXPECT_EQ(lines(), "name? |");
  EXPECT_FALSE(*keeper.release(pod));
  ASSERT_TRUE(keeper.append(pod, std::vector{chunk("Ada\nhello", 20)}));
  EXPECT_FALSE(*keeper.release(pod)) << "the new line was not seen before";
  EXPECT_EQ(lines(), "name? |+Ada\n|");
  EXPECT_EQ(logs.read({"a", 1}, {.tail = 1})->lines.front().text, "name? ") << "it is one line";
}

TEST_F(LogKeeperTest, TheLastLineNeedsNoNewlineAndAFinishedPodIsForgotten) {
  ASSERT_EQ(*keeper.taken(pod), 0u);
  ASSERT_TRUE(keeper.append(pod, std::vector{chunk("the end", 10)}));
  EXPECT_EQ(keeper.pods(), 1u);
  ASSERT_TRUE(keeper.finish(pod));
  EXPECT_EQ(lines(), "the end|");
  EXPECT_EQ(keeper.pods(), 0u);
  ASSERT_TRUE(keeper.finish(pod));
  EXPECT_EQ(lines(), "the end|");
}

TEST_F(LogKeeperTest, ALongLineIsKeptInPartsAndNoCharacterIsCut) {
  std::string text = "x";
  while (text.size() < 2 * ports::log_line_max + 100) text += "\xe2\x82\xac";  // euro signs
  ASSERT_TRUE(keeper.append(pod, std::vector{chunk(text + "\nnext\n", 10)}));
  const auto page = logs.read({"a", 1}, {});
  ASSERT_EQ(page->lines.size(), 4u);
  std::string all;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(page->lines[i].continues, i > 0);
    EXPECT_LE(page->lines[i].text.size(), ports::log_line_max);
    EXPECT_NE(static_cast<unsigned char>(page->lines[i].text.front()) & 0xc0, 0x80);
    all += page->lines[i].text;
  }
  EXPECT_EQ(all, text + "\n");
  EXPECT_FALSE(page->lines[3].continues);
  EXPECT_EQ(logs.read({"a", 1}, {.tail = 2})->lines.size(), 4u);
}

TEST_F(LogKeeperTest, BytesThatAreNoTextArePartsToo) {
  const std::string bytes(3 * ports::log_line_max, '\x80');
  ASSERT_TRUE(keeper.append(pod, std::vector{chunk(bytes, 10)}));
  ASSERT_TRUE(keeper.finish(pod));
  EXPECT_EQ(*logs.appended({"a", 1}, "0", Stream::Out), bytes.size());
}

TEST_F(LogKeeperTest, WhatIsHandedOverAgainIsSkipped) {
  const std::vector first = {chunk("one\n", 10)};
  const std::vector both = {chunk("one\n", 10), chunk("two\n", 20)};
  ASSERT_TRUE(keeper.append(pod, first));
  ASSERT_TRUE(keeper.append(pod, both));
  EXPECT_EQ(lines(), "one\n|two\n|");
}

TEST_F(LogKeeperTest, WhoeverGoesOnByTimeIsToldHowFarItIs) {
  EXPECT_EQ(keeper.last_kept(pod)->at, Time{});
  std::vector<ports::OutputChunk> chunks = {chunk("one\n", 10), chunk("two\n", 20),
                                            chunk("three\n", 30)};
  chunks[0].at = Time{6};
  ASSERT_TRUE(keeper.append(pod, chunks));
  LogKeeper again{logs};
  const auto last = again.last_kept(pod);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->at, Time{7});
  EXPECT_EQ(last->bytes, 10u);
  const std::vector more = {chunk("four\n", 5)};  // positions are those of the new reader
  ASSERT_TRUE(again.append(pod, more));
  EXPECT_EQ(lines(), "one\n|two\n|three\n|four\n|");
}

TEST_F(LogKeeperTest, AfterARestartNothingIsDoubledAndNothingLost) {
  const std::vector first = {chunk("one\n", 10), chunk("bad\n", 20, Stream::Err),
                             chunk("two\nth", 30)};
  ASSERT_TRUE(keeper.append(pod, first));
  LogKeeper again(logs);
  ASSERT_EQ(*again.taken(pod), 0u) << "it is asked for everything";
  for (const ports::OutputChunk& one : first) ASSERT_TRUE(again.append(pod, std::vector{one}));
  ASSERT_TRUE(again.append(pod, std::vector{chunk("ree\n", 40)}));
  EXPECT_EQ(lines(), "one\n|bad\n|two\n|three\n|");
}

TEST_F(LogKeeperTest, APromptThatWasKeptBeforeARestartIsNotDoubled) {
  const std::vector first = {chunk("name? ", 10)};
  ASSERT_TRUE(keeper.append(pod, first));
  ASSERT_FALSE(*keeper.release(pod));
  ASSERT_TRUE(*keeper.release(pod));
  for (const bool is_released : {false, true}) {
    LogKeeper again(logs);
    ASSERT_EQ(*again.taken(pod), 0u);
    ASSERT_TRUE(again.append(pod, first));
    if (is_released) ASSERT_FALSE(*again.release(pod) || *again.release(pod));
    EXPECT_EQ(lines(), "name? |");
    if (!is_released) continue;
    ASSERT_TRUE(again.append(pod, std::vector{chunk("Ada\n", 20)}));
    EXPECT_EQ(lines(), "name? |+Ada\n|");
  }
}

TEST_F(LogKeeperTest, ARefusalHalfWayIsMadeGood) {
  ASSERT_TRUE(keeper.append(pod, std::vector{chunk("one\n", 10)}));
  logs.fails = true;
  const std::vector chunks = {chunk("two\n", 20), chunk("three\n", 30)};
  EXPECT_FALSE(keeper.append(pod, chunks));
  EXPECT_EQ(*keeper.taken(pod), 10u);
  logs.fails = false;
  ASSERT_TRUE(keeper.append(pod, chunks));
  ASSERT_TRUE(keeper.append(pod, std::vector{chunk("four\n", 40)}));
  EXPECT_EQ(lines(), "one\n|two\n|three\n|four\n|");
}

TEST_F(LogKeeperTest, ARefusalOfHalfALineIsMadeGood) {
  ASSERT_TRUE(keeper.append(pod, std::vector{chunk("on", 10)}));
  logs.fails = true;
  EXPECT_FALSE(keeper.append(pod, std::vector{chunk("e\ntw", 20)}));
  logs.fails = false;
  ASSERT_TRUE(keeper.append(pod, std::vector{chunk("e\ntw", 20), chunk("o\n", 30)}));
  EXPECT_EQ(lines(), "one\n|two\n|");
}

TEST_F(LogKeeperTest, WhoGoesOnAfterTheEndIsNotTakenForARepetition) {
  ASSERT_TRUE(keeper.append(pod, std::vector{chunk("one\n", 10)}));
  ASSERT_TRUE(keeper.finish(pod));
  logs.fails = true;
  EXPECT_FALSE(keeper.append(pod, std::vector{chunk("two\n", 5)}));
  logs.fails = false;
  ASSERT_TRUE(keeper.append(pod, std::vector{chunk("two\n", 5), chunk("three\n", 15)}));
  EXPECT_EQ(lines(), "one\n|two\n|three\n|");
}

}  // namespace
}  // namespace muster::control
