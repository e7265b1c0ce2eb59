#include "cli/words.h"

#include <gtest/gtest.h>

namespace muster::cli {
namespace {

constexpr Time now{1'782'907'200'000};  // 2026-07-01T12:00:00Z

TEST(Words, durations_are_rough) {
  EXPECT_EQ(rough(milliseconds(900)), "0s");
  EXPECT_EQ(rough(seconds(59)), "59s");
  EXPECT_EQ(rough(seconds(60)), "1m");
  EXPECT_EQ(rough(seconds(185)), "3m5s");
  EXPECT_EQ(rough(minutes(12) + seconds(40)), "12m");
  EXPECT_EQ(rough(hours(2) + minutes(5) + seconds(3)), "2h5m");
  EXPECT_EQ(rough(hours(26)), "26h");
  EXPECT_EQ(rough(hours(24 * 3)), "3d");
  EXPECT_EQ(rough(seconds(-5)), "0s");
}

TEST(Words, moments_are_before_or_after_now) {
  EXPECT_EQ(ago(now - minutes(3), now), "3m ago");
  EXPECT_EQ(ago(now + hours(2), now), "in 2h");
  EXPECT_EQ(ago(now - milliseconds(300), now), "now");
  EXPECT_EQ(ago(Time::never(), now), "");
  EXPECT_EQ(moment(now), "2026-07-01T12:00:00Z");
  EXPECT_EQ(moment(Time::never()), "");
}

TEST(Words, since_takes_a_duration_or_a_moment) {
  EXPECT_EQ(parse_since("10m", now)->ms, (now - minutes(10)).ms);
  EXPECT_EQ(parse_since("2026-07-01T11:00:00Z", now)->ms, (now - hours(1)).ms);
  for (const char* wrong : {"", "yesterday", "-5m", "2026-07-01T25:00:00Z", "T"})
    EXPECT_FALSE(parse_since(wrong, now)) << wrong;
}

TEST(Words, a_state_may_be_abbreviated_if_it_stays_clear) {
  EXPECT_EQ(*parse_state("running"), "Running");
  EXPECT_EQ(*parse_state("RUN"), "Running");
  EXPECT_EQ(*parse_state("w"), "Waiting");
  EXPECT_FALSE(parse_state("s"));  // starting, stopping, succeeded
  EXPECT_FALSE(parse_state(""));
  EXPECT_FALSE(parse_state("runing"));
}

TEST(Words, amounts_are_pairs) {
  const auto amounts = parse_amounts("gpu=8, cpu=64", "--maximum");
  ASSERT_TRUE(amounts);
  ASSERT_EQ(amounts->size(), 2u);
  EXPECT_EQ((*amounts)[1], (std::pair<std::string, std::string>("cpu", "64")));
  for (const char* wrong : {"", "8", "=8", "gpu=8,,cpu=1"})
    EXPECT_FALSE(parse_amounts(wrong, "--maximum")) << wrong;
}

TEST(Words, a_node_has_a_cluster) {
  EXPECT_EQ(parse_node("east/n1")->second, "n1");
  EXPECT_EQ(parse_node("east/a/b")->second, "a/b");
  for (const char* wrong : {"n1", "/n1", "east/", ""}) EXPECT_FALSE(parse_node(wrong)) << wrong;
}

}  // namespace
}  // namespace muster::cli
