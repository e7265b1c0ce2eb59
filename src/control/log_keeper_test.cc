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
  /// Texts of all lines, with | between.
  std::string lines() const {
    std::string all;
    const auto page = logs.read({"a", 1}, {});
    for (const ports::LogLine& line : page->lines) all += line.text + "|";
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
  EXPECT_EQ(lines(), "one\n|two\n|half| of it\n|");
  EXPECT_EQ(*keeper.taken(pod), 40u);
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
  EXPECT_EQ(lines(), "one\n|bad\n|two\n|th|ree\n|");
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

}  // namespace
}  // namespace muster::control
