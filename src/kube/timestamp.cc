#include "kube/timestamp.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>

namespace muster::kube {

namespace {

namespace chrono = std::chrono;

/// Takes exactly `digits` of them off the front; -1: they are not there.
int take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return -1;
  int value = 0;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char wanted) {
  if (text.empty() || (text[0] | 0x20) != (wanted | 0x20)) return false;
  text.remove_prefix(1);
  return true;
}

int take_fraction_ms(std::string_view& text) {
  if (!take(text, '.')) return 0;
  int ms = 0;
  int scale = 100;
  bool any = false;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    ms += (text[0] - '0') * scale;
    scale /= 10;
    any = true;
    text.remove_prefix(1);
  }
  return any ? ms : -1;
}

/// Minutes east of Greenwich; none when it is malformed.
bool take_zone(std::string_view& text, int& minutes_east) {
  minutes_east = 0;
  if (take(text, 'Z')) return true;
  if (text.empty() || (text[0] != '+' && text[0] != '-')) return false;
  const int sign = text[0] == '-' ? -1 : 1;
  text.remove_prefix(1);
  const int hours = take_number(text, 2);
  if (hours < 0 || hours > 23 || !take(text, ':')) return false;
  const int minutes = take_number(text, 2);
  if (minutes < 0 || minutes > 59) return false;
  minutes_east = sign * (hours * 60 + minutes);
  return true;
}

struct Parts {
  chrono::year_month_day day;
  std::int64_t second_of_day = 0;
  int ms = 0;
};

Parts parts_of(Time time) {
  const chrono::sys_time<chrono::milliseconds> point{chrono::milliseconds(time.ms)};
  const auto day = chrono::floor<chrono::days>(point);
  const auto rest = (point - day).count();
  return {chrono::year_month_day(day), rest / 1000, static_cast<int>(rest % 1000)};
}

std::string format_parts(const Parts& parts, std::string_view fraction) {
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}Z", static_cast<int>(parts.day.year()),
                     static_cast<unsigned>(parts.day.month()),
                     static_cast<unsigned>(parts.day.day()), parts.second_of_day / 3600,
                     parts.second_of_day / 60 % 60, parts.second_of_day % 60, fraction);
}

}  // namespace

Result<Time> parse_timestamp(std::string_view text, std::string_view field) {
  const Error wrong =
      invalid(fmt::format("{}: '{}' is not a time like 2026-01-31T12:00:00Z", field, text));
  const int year = take_number(text, 4);
  if (year < 0 || !take(text, '-')) return wrong;
  const int month = take_number(text, 2);
  if (month < 0 || !take(text, '-')) return wrong;
  const int day = take_number(text, 2);
  if (day < 0 || !take(text, 'T')) return wrong;
  const int hour = take_number(text, 2);
  if (hour < 0 || hour > 23 || !take(text, ':')) return wrong;
  const int minute = take_number(text, 2);
  if (minute < 0 || minute > 59 || !take(text, ':')) return wrong;
  const int second = take_number(text, 2);
  if (second < 0 || second > 60) return wrong;
  const int ms = take_fraction_ms(text);
  int minutes_east = 0;
  if (ms < 0 || !take_zone(text, minutes_east) || !text.empty()) return wrong;
  const chrono::year_month_day date{chrono::year(year), chrono::month(static_cast<unsigned>(month)),
                                    chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return wrong;
  const std::int64_t days = chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t minutes = (days * 24 + hour) * 60 + minute - minutes_east;
  return Time{(minutes * 60 + second) * 1000 + ms};
}

std::string to_timestamp(Time time) { return format_parts(parts_of(time), ""); }

std::string to_micro_timestamp(Time time) {
  const Parts parts = parts_of(time);
  return format_parts(parts, fmt::format(".{:03}000", parts.ms));
}

}  // namespace muster::kube
