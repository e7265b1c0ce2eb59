#include "base/text.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {
namespace {

using Words = std::vector<std::string_view>;

TEST(SplitWords, DropsBlanksOfAllKinds) {
  EXPECT_EQ(split_words(""), Words{});
  EXPECT_EQ(split_words(" \t\r "), Words{});
  EXPECT_EQ(split_words("one"), Words{"one"});
  EXPECT_EQ(split_words("  node e1\tgpu=8\r"), (Words{"node", "e1", "gpu=8"}));
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("", ','), Words{""});
  EXPECT_EQ(split("a", ','), Words{"a"});
  EXPECT_EQ(split("a,,b", ','), (Words{"a", "", "b"}));
  EXPECT_EQ(split(",", ','), (Words{"", ""}));
}

TEST(Trim, RemovesBlanksAtBothEndsOnly) {
  EXPECT_EQ(trim(""), "");
  EXPECT_EQ(trim(" \n\t "), "");
  EXPECT_EQ(trim(" a b\n"), "a b");
}

TEST(ParseInt, TakesTheWholeTextInItsRange) {
  EXPECT_EQ(*parse_int("0", "n", 0, 10), 0);
  EXPECT_EQ(*parse_int("-7", "n", -10, 10), -7);
  EXPECT_EQ(*parse_int("007", "n", 0, 10), 7);
  const std::int64_t low = std::numeric_limits<std::int64_t>::min();
  const std::int64_t high = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(*parse_int("-9223372036854775808", "n", low, high), low);
  EXPECT_EQ(*parse_int("9223372036854775807", "n", low, high), high);
}

TEST(ParseInt, NamesTheFieldWhenItIsWrong) {
  for (const std::string_view text : {"", "x", "1x", " 1", "1 ", "+1", "1.0", "--1", "0x1"}) {
    EXPECT_EQ(parse_int(text, "count", 0, 9).error().message,
              "count: not a whole number: '" + std::string(text) + "'");
  }
  for (const std::string_view text : {"10", "-1", "99999999999999999999"}) {
    EXPECT_EQ(parse_int(text, "count", 0, 9).error().message,
              "count: " + std::string(text) + " is outside 0 to 9");
  }
}

TEST(Nearest, FindsTheSlipOfTheFingerAndNothingElse) {
  constexpr std::array<std::string_view, 4> known = {"queue", "cluster", "node", "submit"};
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"queue", "queue"},
      {"quue", "queue"},
      {"clutser", "cluster"},
      {"nodes", "node"},
      {"sumbit", "submit"},
      {"banana", ""},
      {"x", ""},
      {"", ""},
  };
  for (const auto& [word, near] : cases) EXPECT_EQ(nearest(word, known), near) << word;
  EXPECT_EQ(nearest("a", {}), "");
}

TEST(Nearest, PrefersTheFirstOfEquallyNearWords) {
  constexpr std::array<std::string_view, 2> known = {"cat", "bat"};
  EXPECT_EQ(nearest("rat", known), "cat");
}

}  // namespace
}  // namespace muster
