#include "store/event_codec.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "store/testing/random_events.h"

namespace muster::store {
namespace {

struct Golden {
  const char* file;
  Fields fields;
  std::size_t kinds;  // that there were then, the first of today's
};
constexpr Golden goldens[] = {{"tests/store/journal_v1.golden", Fields::First, 28},
                              {"tests/store/journal_v2.golden", Fields::Second, 28},
                              {"tests/store/journal_v3.golden", Fields::Third, 28},
                              {"tests/store/journal_v4.golden", Fields::Fourth, 30},
                              {"tests/store/journal_v5.golden", Fields::Fifth, 30},
                              {"tests/store/journal_v6.golden", Fields::Sixth, 31},
                              {"tests/store/journal_v7.golden", Fields::Seventh, 31},
                              {"tests/store/journal_v8.golden", Fields::Eighth, 32}};

std::string encoded(const model::Event& event) {
  std::string bytes;
  encode(event, bytes);
  return bytes;
}

TEST(EventCodec, EveryKindOfEventComesBackTheSame) {
  Prng prng(1);
  for (int i = 0; i < 20'000; ++i) {
    const model::Event event = random_event(prng, static_cast<std::size_t>(i) % event_kinds);
    const std::string bytes = encoded(event);
    std::string_view rest = bytes;
    const auto again = decode(rest);
    ASSERT_TRUE(again) << again.error().message;
    ASSERT_TRUE(rest.empty());
    ASSERT_TRUE(same(event, *again)) << "event " << i;
  }
}

TEST(EventCodec, JournalsOfAllVersionsStillRead) {
  for (const Golden& golden : goldens) {
    std::ifstream file(golden.file, std::ios::binary);
    ASSERT_TRUE(file) << golden.file;
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    // What was written then: ten events of each kind, from this seed.
    Prng prng(2026);
    std::size_t count = 0;
    const Status status = decode_all(bytes, [&](model::Event& event) {
      EXPECT_TRUE(same(event, random_event(prng, count % golden.kinds, golden.fields)))
          << golden.file << ", event " << count;
      ++count;
    });
    ASSERT_TRUE(status) << golden.file << ": " << status.error().message;
    EXPECT_EQ(count, 10 * golden.kinds) << golden.file;
  }
}

TEST(EventCodec, WhatANewerMusterWroteIsRefusedWithTheReason) {
  std::string bytes = encoded({Time{5}, model::JobReleased{"a"}});
  ASSERT_EQ(bytes[1], 4);  // the kind, behind the length
  ASSERT_EQ(bytes[2], 1);  // its version
  bytes[2] = 2;
  std::string_view rest = bytes;
  const auto newer = decode(rest);
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().message,
            "journal: JobReleased of version 2, this Muster knows up to 1: a newer one wrote it; "
            "upgrade this one to read it");
  bytes[1] = 63;
  rest = bytes;
  const auto unknown = decode(rest);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message,
            "journal: unknown kind of event 63: a newer Muster wrote it; upgrade this one to read "
            "it");
}

TEST(EventCodec, BytesCutOffAnywhereAreAnError) {
  Prng prng(3);
  for (std::size_t kind = 0; kind < event_kinds; ++kind) {
    const std::string bytes = encoded(random_event(prng, kind));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      std::string_view rest = std::string_view(bytes).substr(0, size);
      ASSERT_FALSE(decode(rest)) << "kind " << kind << ", " << size << " of " << bytes.size();
    }
  }
}

TEST(EventCodec, AListThatClaimsMoreThanThereIsTakesNoMemory) {
  // Placed with 2^60 pods.
  const std::string body = std::string("\x0d\x01\x02\x01", 4) + "a" +
                           std::string("\x01\x00\x00", 3) + "\x80\x80\x80\x80\x80\x80\x80\x80\x10";
  const std::string bytes = std::string(1, static_cast<char>(body.size())) + body;
  std::string_view rest = bytes;
  const auto event = decode(rest);
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().message, "journal: Placed: it ends inside a list or text");
}

}  // namespace
}  // namespace muster::store
