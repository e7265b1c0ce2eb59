#include "model/amount.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

namespace muster::model {
namespace {

__extension__ using Wide = unsigned __int128;

/// A suffix multiplies by 10^ten * 2^two.
struct Suffix {
  std::string_view name;
  std::int64_t ten = 0;
  int two = 0;
};
constexpr std::array<Suffix, 16> suffixes = {{{"", 0, 0},
                                              {"n", -9, 0},
                                              {"u", -6, 0},
                                              {"m", -3, 0},
                                              {"k", 3, 0},
                                              {"M", 6, 0},
                                              {"G", 9, 0},
                                              {"T", 12, 0},
                                              {"P", 15, 0},
                                              {"E", 18, 0},
                                              {"Ki", 0, 10},
                                              {"Mi", 0, 20},
                                              {"Gi", 0, 30},
                                              {"Ti", 0, 40},
                                              {"Pi", 0, 50},
                                              {"Ei", 0, 60}}};

/// The value 0.DIGITS * 10^point * 2^two. Without leading zeros; no digits: 0.
struct Decimal {
  std::string digits;
  std::int64_t point = 0;
  int two = 0;
};

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_digits(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  const std::string_view digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

/// Fit for a message of one line: short, and plain ASCII whatever was typed.
std::string shown(std::string_view text) {
  constexpr std::size_t shown_max = 40;
  std::string out(text.substr(0, shown_max));
  std::replace_if(out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > shown_max ? out + "..." : out;
}

std::string_view example(Scale scale) {
  return scale == Scale::Milli ? "write for example 500m, 1.5 or 2"
                               : "write for example 8, 1500M or 64Gi";
}

/// "GB" most likely means G or Gi.
std::string suffix_advice(std::string_view name) {
  constexpr std::string_view letters = "KMGTPE";
  const char first =
      name[0] >= 'a' && name[0] <= 'z' ? static_cast<char>(name[0] - 'a' + 'A') : name[0];
  if (letters.find(first) == std::string_view::npos) {
    return "the suffixes are n u m k M G T P E and Ki Mi Gi Ti Pi Ei";
  }
  return fmt::format("write {} for powers of 1000 or {}i for powers of 1024",
                     first == 'K' ? 'k' : first, first);
}

/// Reads "e3", "E-3", "e+3". Exponents beyond any use stop growing, so that they cannot overflow.
std::optional<Suffix> parse_exponent(std::string_view text) {
  constexpr std::int64_t exponent_max = 1'000'000'000'000'000;
  const std::string_view name = text;
  if (text.empty() || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  text.remove_prefix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const std::string_view digits = take_digits(text);
  if (digits.empty() || !text.empty()) return std::nullopt;
  std::int64_t exponent = 0;
  for (const char c : digits) {
    if (exponent < exponent_max) exponent = exponent * 10 + (c - '0');
  }
  return Suffix{name, negative ? -exponent : exponent, 0};
}

std::optional<Suffix> parse_suffix(std::string_view text) {
  for (const Suffix& suffix : suffixes) {
    if (suffix.name == text) return suffix;
  }
  return parse_exponent(text);  // after the table: "1E" is exa, "1E3" an exponent
}

Result<Decimal> parse_decimal(std::string_view text, std::string_view field, Scale scale) {
  if (text.empty()) return invalid(fmt::format("{}: is empty; {}", field, example(scale)));
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  const std::string_view whole = take_digits(rest);
  std::string_view fraction;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
  }
  if (whole.empty() && fraction.empty()) {
    return invalid(fmt::format("{}: not a quantity: '{}'; {}", field, shown(text), example(scale)));
  }
  const std::optional<Suffix> suffix = parse_suffix(rest);
  if (!suffix) {
    return invalid(fmt::format("{}: unknown suffix '{}' in '{}'; {}", field, shown(rest),
                               shown(text), suffix_advice(rest)));
  }
  Decimal value{std::string(whole) + std::string(fraction), 0, suffix->two};
  const std::size_t zeros = std::min(value.digits.find_first_not_of('0'), value.digits.size());
  value.digits.erase(0, zeros);
  value.point =
      static_cast<std::int64_t>(whole.size()) - static_cast<std::int64_t>(zeros) + suffix->ten;
  if (negative && !value.digits.empty()) {
    return invalid(fmt::format("{}: negative: '{}'; write 0 or more", field, shown(text)));
  }
  return value;
}

/// The value rounded up to a whole number, or nothing if that is above amount_max. Exact at any
/// length: the part before the point has at most 17 digits, the part behind it is multiplied by
/// 2^two digit by digit from the right.
std::optional<std::int64_t> round_up(const Decimal& value) {
  constexpr std::int64_t point_max = 17;   // 10^17 > 2^55
  constexpr std::int64_t point_min = -20;  // 10^-20 * 2^60 < 1
  if (value.digits.empty()) return 0;
  if (value.point > point_max) return std::nullopt;
  if (value.point < point_min) return 1;

  const std::size_t size = value.digits.size();
  const std::size_t whole = value.point > 0 ? static_cast<std::size_t>(value.point) : 0;
  const auto digit = [&](std::size_t i) {
    return i < size ? static_cast<std::uint64_t>(value.digits[i] - '0') : 0;
  };
  Wide total = 0;
  for (std::size_t i = 0; i < whole; ++i) total = total * 10 + digit(i);
  total <<= value.two;

  std::uint64_t carry = 0;  // < 2^60, so 9 * 2^60 + carry < 2^64
  bool left_over = false;
  const auto push = [&](std::uint64_t d) {
    const std::uint64_t sum = (d << value.two) + carry;
    left_over |= sum % 10 != 0;
    carry = sum / 10;
  };
  for (std::size_t i = size; i > whole; --i) push(digit(i - 1));
  for (std::int64_t i = value.point; i < 0; ++i) push(0);
  total += carry;
  total += left_over ? 1 : 0;
  if (total > Wide{static_cast<std::uint64_t>(amount_max)}) return std::nullopt;
  return static_cast<std::int64_t>(total);
}

}  // namespace

Result<std::int64_t> parse_quantity(std::string_view text, std::string_view field, Scale scale) {
  Result<Decimal> value = parse_decimal(text, field, scale);
  if (!value) return value.error();
  if (scale == Scale::Milli) value->point += 3;
  if (const std::optional<std::int64_t> amount = round_up(*value)) return *amount;
  return invalid(fmt::format("{}: too large: '{}'; the most is {}", field, shown(text),
                             quantity_text(amount_max, scale)));
}

std::string quantity_text(std::int64_t amount, Scale scale) {
  if (amount == 0) return "0";
  const std::string_view sign = amount < 0 ? "-" : "";
  const std::uint64_t magnitude =
      amount < 0 ? ~static_cast<std::uint64_t>(amount) + 1 : static_cast<std::uint64_t>(amount);
  // Without fractions the largest suffix that divides the amount is the shortest of its family.
  const auto shorten = [&](std::uint64_t base, std::span<const std::string_view> names) {
    std::uint64_t left = magnitude;
    std::size_t step = 0;
    while (step + 1 < names.size() && left % base == 0) {
      left /= base;
      ++step;
    }
    return fmt::format("{}{}{}", sign, left, names[step]);
  };
  constexpr std::array<std::string_view, 8> decimal = {"m", "", "k", "M", "G", "T", "P", "E"};
  constexpr std::array<std::string_view, 7> binary = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  if (scale == Scale::Milli) return shorten(1000, decimal);
  std::string by_1000 = shorten(1000, std::span(decimal).subspan(1));
  std::string by_1024 = shorten(1024, binary);
  return by_1024.size() <= by_1000.size() ? by_1024 : by_1000;
}

}  // namespace muster::model
