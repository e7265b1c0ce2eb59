#include "config/time_text.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>

namespace muster::config {
namespace {

/// Reads fixed-width numbers and signs off the front; remembers a failure.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  int number(std::size_t width) {
    int value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      if (text_.empty() || text_[0] < '0' || text_[0] > '9') {
        ok_ = false;
        return 0;
      }
      value = value * 10 + (text_[0] - '0');
      text_.remove_prefix(1);
    }
    return value;
  }
  bool next_is(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) { ok_ = next_is(c) && ok_; }
  /// Up to three digits as thousandths.
  int decimals() {
    int value = 0;
    int digits = 0;
    while (!text_.empty() && text_[0] >= '0' && text_[0] <= '9' && digits < 3) {
      value = value * 10 + number(1);
      ++digits;
    }
    ok_ = ok_ && digits > 0;
    for (; digits < 3; ++digits) value *= 10;
    return value;
  }
  bool done() const { return ok_ && text_.empty(); }

 private:
  std::string_view text_;
  bool ok_ = true;
};

}  // namespace

Result<Time> parse_time(std::string_view text) {
  const auto bad = [&] {
    return invalid(fmt::format("not a time: '{}'; write for example 2026-07-01T08:00:00Z",
                               text.substr(0, 40)));
  };
  Cursor at(text);
  const int year = at.number(4);
  at.expect('-');
  const int month = at.number(2);
  at.expect('-');
  const int day = at.number(2);
  at.expect('T');
  const int hour = at.number(2);
  at.expect(':');
  const int minute = at.number(2);
  at.expect(':');
  const int second = at.number(2);
  const int milli = at.next_is('.') ? at.decimals() : 0;
  int offset_minutes = 0;
  if (!at.next_is('Z')) {
    const bool west = at.next_is('-');
    if (!west) at.expect('+');
    const int hours = at.number(2);
    at.expect(':');
    const int minutes = at.number(2);
    if (hours > 23 || minutes > 59) return bad();
    offset_minutes = (hours * 60 + minutes) * (west ? -1 : 1);
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  const bool sane = at.done() && date.ok() && hour < 24 && minute < 60 && second < 60;
  if (!sane) return bad();
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t minutes = days * 1440 + hour * 60 + minute - offset_minutes;
  const Time time{(minutes * 60 + second) * 1000 + milli};
  if (time.ms < 0) return bad();
  return time;
}

std::string time_text(Time time) {
  constexpr std::int64_t day_ms = 86'400'000;
  const std::int64_t days = time.ms / day_ms;
  const std::int64_t rest = time.ms % day_ms;
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", int(date.year()), unsigned(date.month()),
                  unsigned(date.day()), rest / 3'600'000, rest / 60'000 % 60, rest / 1000 % 60);
  if (rest % 1000 != 0) text += fmt::format(".{:03}", rest % 1000);
  return text + "Z";
}

}  // namespace muster::config
