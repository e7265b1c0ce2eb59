#include "base/time.h"

#include <fmt/format.h>

#include <array>

namespace muster {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t ms;
};
constexpr std::array<Unit, 5> units = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};

Error bad(std::string_view text, std::string_view field) {
  return invalid(
      fmt::format("{}: not a duration: '{}'; write for example 90s, 45m or 1h30m", field, text));
}

}  // namespace

Result<Duration> parse_duration(std::string_view text, std::string_view field) {
  std::int64_t total = 0;
  std::size_t at = 0;
  if (text.empty()) return bad(text, field);
  while (at < text.size()) {
    std::int64_t number = 0;
    const std::size_t digits_from = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
      if (__builtin_mul_overflow(number, std::int64_t{10}, &number) ||
          __builtin_add_overflow(number, std::int64_t{text[at] - '0'}, &number)) {
        return invalid(fmt::format("{}: duration too large: '{}'", field, text));
      }
      ++at;
    }
    if (at == digits_from) return bad(text, field);
    std::size_t unit_end = at;
    while (unit_end < text.size() && (text[unit_end] < '0' || text[unit_end] > '9')) ++unit_end;
    const std::string_view name = text.substr(at, unit_end - at);
    std::int64_t unit_ms = 0;
    if (name.empty() && digits_from == 0) unit_ms = 1000;
    for (const Unit& unit : units) {
      if (unit.name == name) unit_ms = unit.ms;
    }
    if (unit_ms == 0) return bad(text, field);
    std::int64_t part = 0;
    if (__builtin_mul_overflow(number, unit_ms, &part) ||
        __builtin_add_overflow(total, part, &total) || total > Time::never().ms / 2) {
      return invalid(fmt::format("{}: duration too large: '{}'", field, text));
    }
    at = unit_end;
  }
  return Duration{total};
}

std::string to_text(Duration d) {
  if (d.ms == 0) return "0s";
  std::string out = d.ms < 0 ? "-" : "";
  std::int64_t left = d.ms < 0 ? -d.ms : d.ms;
  for (const Unit& unit : units) {
    if (left >= unit.ms) {
      out += fmt::format("{}{}", left / unit.ms, unit.name);
      left %= unit.ms;
    }
  }
  return out;
}

}  // namespace muster
