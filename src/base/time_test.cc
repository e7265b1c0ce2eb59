#include "base/time.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/prng.h"

namespace muster {
namespace {

TEST(Duration, IsReadFromNumbersWithUnits) {
  const std::pair<std::string_view, std::int64_t> cases[] = {
      {"0", 0},
      {"0s", 0},
      {"90", 90'000},
      {"90s", 90'000},
      {"250ms", 250},
      {"2m", 120'000},
      {"1h30m", 5'400'000},
      {"2d", 172'800'000},
      {"1d2h3m4s5ms", 93'784'005},
      {"30m1h", 5'400'000},
      {"007s", 7000},
      {"1s1s", 2000},
  };
  for (const auto& [text, ms] : cases) {
    const auto got = parse_duration(text, "limit");
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ(got->ms, ms) << text;
  }
}

TEST(Duration, NamesTheFieldWhenItIsWrong) {
  for (const std::string_view text : {"", "s", "-1s", "+1s", "1.5h", "1x", "1h30", "1 s", " 1s",
                                      "1s ", "1sm", "1H", "1hh", "1h-30m"}) {
    const auto got = parse_duration(text, "run_limit");
    ASSERT_FALSE(got.ok()) << text;
    EXPECT_EQ(got.error().fault, Fault::Invalid);
    EXPECT_EQ(got.error().message, "run_limit: not a duration: '" + std::string(text) +
                                       "'; write for example 90s, 45m or 1h30m");
  }
}

TEST(Duration, TooLargeToBeAddedToATimeIsAnError) {
  for (const std::string_view text :
       {"9223372036854775808ms", "99999999999999999999", "106751991168d", "1152921504606847s",
        "1152921504606846s1152921504606846s"}) {
    const auto got = parse_duration(text, "f");
    ASSERT_FALSE(got.ok()) << text;
    EXPECT_EQ(got.error().message, "f: duration too large: '" + std::string(text) + "'");
  }
  EXPECT_TRUE(parse_duration("1152921504606846s", "f").ok());
}

TEST(Duration, IsWrittenShortAndReadBack) {
  EXPECT_EQ(to_text(Duration{0}), "0s");
  EXPECT_EQ(to_text(hours(1) + minutes(30)), "1h30m");
  EXPECT_EQ(to_text(milliseconds(90'061'001)), "1d1h1m1s1ms");
  EXPECT_EQ(to_text(Duration{} - seconds(5)), "-5s");
  Prng prng(3);
  for (int i = 0; i < 5000; ++i) {
    const Duration d{prng.between(0, Time::never().ms / 2) >> prng.below(60)};
    const auto back = parse_duration(to_text(d), "d");
    ASSERT_TRUE(back.ok()) << to_text(d);
    ASSERT_EQ(*back, d);
  }
}

TEST(Time, NeverStaysNeverWhenADurationIsAdded) {
  EXPECT_TRUE(Time::never().is_never());
  EXPECT_TRUE((Time::never() + Duration{Time::never().ms / 2}).is_never());
  EXPECT_FALSE(Time{0}.is_never());
  EXPECT_EQ(Time{5000} - Time{2000}, seconds(3));
  EXPECT_EQ(Time{5000} - seconds(3), Time{2000});
  EXPECT_LT(Time{1}, Time{2});
}

}  // namespace
}  // namespace muster
