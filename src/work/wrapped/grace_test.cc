#include "work/wrapped/grace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::work {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string prefixed(std::string_view key) {
  return "workload.codeflare.dev.appwrapper/" + std::string(key);
}

TEST(GoDuration, IsReadAsGoReadsIt) {
  const struct {
    std::string_view text;
    std::int64_t ms;
  } cases[] = {{"0", 0},
               {"-0", 0},
               {"90s", 90'000},
               {"1h30m", 5'400'000},
               {"1.5h", 5'400'000},
               {".5s", 500},
               {"1.s", 1000},
               {"-5s", -5000},
               {"+5s", 5000},
               {"1h0m0.25s", 3'600'250},
               {"1500us", 1},
               {"2µs", 0},
               {"100ns", 0},
               {"2540400h", 9'145'440'000'000}};
  for (const auto& one : cases) {
    const auto read = parse_go_duration(one.text);
    ASSERT_TRUE(read.ok()) << one.text << ": " << read.error().message;
    EXPECT_EQ(read->ms, one.ms) << one.text;
  }
  for (const std::string_view text : {"", "-", "90", "1d", "h", "1h ", " 1h", "1hm", "1.", ".s",
                                      "1e3s", "--1s", "99999999999999999999s", "3000000h"})
    EXPECT_FALSE(parse_go_duration(text).ok()) << text;
}

TEST(Grace, HasTheDefaultsOfItsController) {
  std::vector<std::string> warnings;
  EXPECT_EQ(read_grace({{"another", "1h"}}, warnings), Grace());
  EXPECT_THAT(warnings, IsEmpty());
}

TEST(Grace, EveryAnnotationIsRead) {
  std::vector<std::string> warnings;
  const Grace grace = read_grace({{prefixed("admissionGracePeriodDuration"), "2m"},
                                  {prefixed("warmupGracePeriodDuration"), "3m"},
                                  {prefixed("failureGracePeriodDuration"), "4m"},
                                  {prefixed("retryPausePeriodDuration"), "5m"},
                                  {prefixed("retryLimit"), "7"},
                                  {prefixed("forcefulDeletionGracePeriodDuration"), "8m"},
                                  {prefixed("deletionOnFailureGracePeriodDuration"), "9m"},
                                  {prefixed("successTTLDuration"), "10m"},
                                  {prefixed("terminalExitCodes"), "3,10"},
                                  {prefixed("retryableExitCodes"), "135"}},
                                 warnings);
  EXPECT_THAT(warnings, IsEmpty());
  EXPECT_EQ(grace.admission, minutes(2));
  EXPECT_EQ(grace.warmup, minutes(3));
  EXPECT_EQ(grace.failure, minutes(4));
  EXPECT_EQ(grace.retry_pause, minutes(5));
  EXPECT_EQ(grace.retry_limit, 7);
  EXPECT_EQ(grace.forceful_deletion, minutes(8));
  EXPECT_EQ(grace.deletion_on_failure, minutes(9));
  EXPECT_EQ(grace.success_ttl, minutes(10));
  EXPECT_THAT(grace.terminal_exit_codes, ElementsAre(3, 10));
  EXPECT_THAT(grace.retryable_exit_codes, ElementsAre(135));
  std::vector<std::string> none;
  EXPECT_EQ(read_grace(grace_annotations(grace), none), grace);
}

TEST(Grace, WhatDoesNotReadKeepsItsDefaultAndIsTold) {
  const struct {
    std::string_view key;
    std::string text;
    std::string_view told;
  } cases[] = {
      {"warmupGracePeriodDuration", "soon", "'soon' is not a duration; 5m is used"},
      {"warmupGracePeriodDuration", "90", "'90' is not a duration; 5m is used"},
      {"retryLimit", "many", "'many' is not a number; 3 is used"},
      {"terminalExitCodes", "x", "'x' is no exit code"},
      {"successTTLDuration", "-1h", "'-1h' is not above 0; 7d is used"},
  };
  for (const auto& one : cases) {
    std::vector<std::string> warnings;
    EXPECT_EQ(read_grace({{prefixed(one.key), one.text}}, warnings), Grace()) << one.text;
    EXPECT_THAT(warnings, ElementsAre(HasSubstr(one.told)));
  }
}

TEST(Grace, APeriodIsNeverLongerThanADayNorShorterThanNothing) {
  std::vector<std::string> warnings;
  const Grace grace = read_grace({{prefixed("admissionGracePeriodDuration"), "100h"},
                                  {prefixed("failureGracePeriodDuration"), "-1s"},
                                  {prefixed("successTTLDuration"), "1000h"}},
                                 warnings);
  EXPECT_EQ(grace.admission, hours(24));
  EXPECT_EQ(grace.failure, Duration{0});
  EXPECT_EQ(grace.success_ttl, hours(7 * 24));
  EXPECT_EQ(warnings.size(), 3U);
}

}  // namespace
}  // namespace muster::work
