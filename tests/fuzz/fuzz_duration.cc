// parse_duration against a regular expression and integers of any size, and back through to_text.
#include <algorithm>
#include <array>
#include <boost/multiprecision/cpp_int.hpp>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/time.h"
#include "tests/fuzz/input.h"

namespace {

using boost::multiprecision::cpp_int;

/// The milliseconds, or nothing if the text is no duration or too long a one.
std::optional<std::int64_t> slow_parse(const std::string& text) {
  static const std::regex grammar(R"(\d+|(?:\d+(?:ms|d|h|m|s))+)");
  static const std::regex part(R"((\d+)(ms|d|h|m|s|))");
  static const std::map<std::string, std::int64_t> units = {
      {"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
  if (!std::regex_match(text, grammar)) return std::nullopt;
  cpp_int total = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), part), end; it != end; ++it) {
    cpp_int number = 0;
    for (const char c : (*it)[1].str()) number = number * 10 + (c - '0');
    total += number * units.at((*it)[2].str());
  }
  if (total > muster::Time::never().ms / 2) return std::nullopt;
  return total.convert_to<std::int64_t>();
}

constexpr std::array<std::string_view, 24> words = {
    "0", "1", "2", "3", "4",  "5", "6", "7",     "8",   "9",     "0", "9",
    "s", "m", "h", "d", "ms", "s", " ", "99999", "000", "1h30m", "-", "."};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::Bytes bytes(data, size);
  const bool raw = muster::fuzz::take(bytes) % 2 == 0;
  bytes = bytes.first(std::min<std::size_t>(bytes.size(), 64));
  const std::string text = raw ? muster::fuzz::text_of(bytes) : muster::fuzz::text_of(bytes, words);
  const auto got = muster::parse_duration(text, "field");
  const std::optional<std::int64_t> want = slow_parse(text);
  MUSTER_CHECK(got.ok() == want.has_value(), "'{}'", text);
  if (!got) {
    MUSTER_CHECK(got.error().message.starts_with("field: "), "{}", got.error().message);
    return 0;
  }
  MUSTER_CHECK(got->ms == *want, "'{}': {} is not {}", text, got->ms, *want);
  const std::string shown = muster::to_text(*got);
  const auto back = muster::parse_duration(shown, "field");
  MUSTER_CHECK(back.ok() && *back == *got, "'{}' became '{}'", text, shown);
  return 0;
}
