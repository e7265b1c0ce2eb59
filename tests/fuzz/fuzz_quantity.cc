// parse_quantity against a slow reading of the same grammar: a regular expression and integers of
// any size. Both must take the same texts, as the same amounts.
#include <algorithm>
#include <array>
#include <boost/multiprecision/cpp_int.hpp>
#include <optional>
#include <regex>
#include <string>
#include <string_view>

#include "base/check.h"
#include "model/amount.h"
#include "tests/fuzz/input.h"

namespace {

using boost::multiprecision::cpp_int;
using muster::model::Scale;

constexpr std::size_t bytes_max = 100;
constexpr int exponent_max = 1000;  // beyond it only the sign matters: 300 digits, 2^60

cpp_int number(const std::string& digits) {
  cpp_int value = 0;
  for (const char c : digits) value = value * 10 + (c - '0');
  return value;
}

cpp_int power(int base, int exponent) {
  return boost::multiprecision::pow(cpp_int(base), static_cast<unsigned>(exponent));
}

/// The exponent of 10 that the suffix stands for, exponents of no use cut to exponent_max.
int ten_of(const std::string& suffix, const std::string& exponent) {
  if (!exponent.empty()) {
    const bool negative = exponent[0] == '-';
    const cpp_int size = number(exponent.substr(negative || exponent[0] == '+' ? 1 : 0));
    const int capped = size > exponent_max ? exponent_max : size.convert_to<int>();
    return negative ? -capped : capped;
  }
  const std::size_t place = std::string("num.kMGTPE").find(suffix);
  return suffix.size() == 1 ? static_cast<int>(place) * 3 - 9 : 0;
}

/// The amount, -1 if it is too large, or nothing if the text is no quantity of 0 or more.
std::optional<std::int64_t> slow_parse(const std::string& text, Scale scale) {
  static const std::regex grammar(
      R"(([+-]?)(?:(\d+)\.?(\d*)|\.(\d+))(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d+))?)");
  std::smatch part;
  if (!std::regex_match(text, part, grammar)) return std::nullopt;
  const std::string fraction = part[3].str() + part[4].str();
  cpp_int top = number(part[2].str() + fraction);
  if (part[1] == "-" && top != 0) return std::nullopt;
  const std::string suffix = part[5].str();
  if (suffix.size() == 2) top <<= 10 * (1 + std::string("KMGTPE").find(suffix[0]));
  int ten = ten_of(suffix, part[6].str()) - static_cast<int>(fraction.size());
  if (scale == Scale::Milli) ten += 3;
  const cpp_int bottom = ten < 0 ? power(10, -ten) : cpp_int(1);
  if (ten > 0) top *= power(10, ten);
  const cpp_int amount = (top + bottom - 1) / bottom;
  return amount > muster::model::amount_max ? -1 : amount.convert_to<std::int64_t>();
}

constexpr std::array<std::string_view, 16> suffixes = {
    "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
constexpr std::array<std::string_view, 44> words = {
    "0", "1", "2", "3", "4",  "5",  "6",  "7",  "8",  "9",  "0",  "1",   "5",  "9", ".",
    ".", "+", "-", "e", "E",  "e-", "E+", "n",  "u",  "m",  "k",  "M",   "G",  "T", "P",
    "E", "K", "i", " ", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "00", "000", "99", "\n"};

/// A well-formed number where rounding and the limit are decided: just around amount_max, and with
/// a fraction whose power of two the suffix takes away exactly, or just not.
std::string edge_number(muster::fuzz::Bytes bytes) {
  const std::size_t kind = muster::fuzz::take(bytes);
  const std::size_t places = muster::fuzz::take(bytes) % 64;
  const std::size_t suffix = muster::fuzz::take(bytes);
  cpp_int value = muster::fuzz::take(bytes) % 4 + 1;
  if ((kind & 1) != 0) value += muster::model::amount_max - 3;
  if ((kind & 2) != 0) value *= power(5, static_cast<int>(places));
  if ((kind & 4) != 0) value = value * 10 + muster::fuzz::take(bytes) % 3;
  for (; bytes.size() > 1; bytes = bytes.subspan(1)) value = value * 10 + bytes.front() % 10;
  std::string text = value.str();
  if (text.size() <= places) text.insert(0, places - text.size() + 1, '0');
  text.insert(text.size() - places, ".");
  return text.append(suffixes[suffix % suffixes.size()]);
}

std::string make_text(std::size_t mode, muster::fuzz::Bytes bytes) {
  if (mode % 3 == 0) return muster::fuzz::text_of(bytes);
  if (mode % 3 == 1) return muster::fuzz::text_of(bytes, words);
  return edge_number(bytes);
}

void check(const std::string& text, Scale scale) {
  const auto got = muster::model::parse_quantity(text, "field", scale);
  const std::optional<std::int64_t> want = slow_parse(text, scale);
  MUSTER_CHECK(got.ok() == (want && *want >= 0), "'{}'", text);
  if (!got) {
    const std::string& message = got.error().message;
    MUSTER_CHECK(message.starts_with("field: ") && message.size() < 250, "{}", message);
    MUSTER_CHECK(message.starts_with("field: too large") == want.has_value(), "{}", message);
    return;
  }
  MUSTER_CHECK(*got == *want, "'{}': {} is not {}", text, *got, *want);
  const std::string shown = muster::model::quantity_text(*got, scale);
  const auto back = muster::model::parse_quantity(shown, "field", scale);
  MUSTER_CHECK(back.ok() && *back == *got, "'{}' became '{}'", text, shown);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::Bytes bytes(data, size);
  const std::size_t mode = muster::fuzz::take(bytes);
  const std::string text = make_text(mode, bytes.first(std::min(bytes.size(), bytes_max)));
  check(text, Scale::Whole);
  check(text, Scale::Milli);
  return 0;
}
