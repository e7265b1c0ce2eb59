#include "control/pod_timeline.h"

#include <gtest/gtest.h>

#include "ports/memory_log_store.h"

namespace muster::control {
namespace {

model::PodNote note(const std::string& key, const std::string& reason = "BackOff",
                    std::uint32_t attempt = 1) {
  return {.job = "j",
          .attempt = attempt,
          .at = Time{1000},
          .key = key,
          .object = "Pod j-1-0",
          .reason = reason,
          .message = "Back-off pulling image",
          .is_warning = true};
}

struct Kept {
  ports::MemoryLogStore store;
  std::vector<model::PodNote> told;
  TimelineLimits limits;
  PodTimeline timeline{store, [this](const model::PodNote& one) { told.push_back(one); }};

  std::size_t count() const { return timeline.of("j", std::nullopt, 1000)->size(); }
};

TEST(PodTimeline, KeepsANoteOnceAndTellsIt) {
  Kept kept;
  kept.timeline.note(note("a"));
  kept.timeline.note(note("a"));
  kept.timeline.note(note("b"));
  ASSERT_EQ(kept.told.size(), 2U);
  const auto notes = kept.timeline.of("j", 1, 10);
  ASSERT_TRUE(notes.ok());
  ASSERT_EQ(notes->size(), 2U);
  EXPECT_EQ(notes->front(), note("a"));
}

TEST(PodTimeline, ARestartedServerKnowsWhatWasKept) {
  Kept kept;
  kept.timeline.note(note("a"));
  PodTimeline again(kept.store, nullptr);
  again.note(note("a"));
  again.note(note("b"));
  EXPECT_EQ(kept.count(), 2U);
}

TEST(PodTimeline, OfOneReasonAndOfOneAttemptOnlySoManyAreKept) {
  Kept kept;
  for (int i = 0; i < 50; ++i) kept.timeline.note(note(fmt::format("same {}", i)));
  EXPECT_EQ(kept.count(), 10U);
  for (int i = 0; i < 500; ++i)
    kept.timeline.note(note(fmt::format("other {}", i), fmt::format("Reason{}", i)));
  EXPECT_EQ(kept.count(), 101U);
  EXPECT_EQ(kept.timeline.of("j", 1, 1)->front().reason, "TooManyEvents");
}

TEST(PodTimeline, LongAndBrokenMessagesBecomeOneLine) {
  Kept kept;
  model::PodNote long_one = note("a");
  long_one.message = "first\n\tsecond " + std::string(5000, 'x');
  kept.timeline.note(long_one);
  const auto notes = kept.timeline.of("j", 1, 10);
  ASSERT_EQ(notes->size(), 1U);
  EXPECT_EQ(notes->front().message.substr(0, 14), "first  second ");
  EXPECT_EQ(notes->front().message.size(), 1000U);
}

TEST(PodTimeline, TheNewestOfAllAttemptsAreGiven) {
  Kept kept;
  kept.timeline.note(note("a", "A", 1));
  kept.timeline.note(note("a", "B", 2));
  kept.timeline.note(note("b", "C", 2));
  std::string reasons;
  const auto two = kept.timeline.of("j", std::nullopt, 2);
  for (const auto& one : *two) reasons += one.reason;
  EXPECT_EQ(reasons, "BC");
  reasons.clear();
  const auto ten = kept.timeline.of("j", std::nullopt, 10);
  for (const auto& one : *ten) reasons += one.reason;
  EXPECT_EQ(reasons, "ABC");
}

TEST(PodTimeline, WhatIsInMemoryIsBounded) {
  ports::MemoryLogStore store;
  PodTimeline timeline(store, nullptr, {.attempts_known = 2});
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t attempt = 1; attempt <= 5; ++attempt) timeline.note(note("a", "A", attempt));
  }
  EXPECT_EQ(timeline.of("j", std::nullopt, 100)->size(), 5U);
}

}  // namespace
}  // namespace muster::control
