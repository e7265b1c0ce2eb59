// Time is an argument. A Time is milliseconds since the Unix epoch (or since the start of a
// simulation), a Duration milliseconds between two of them. Nothing here reads a clock.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

struct Duration {
  std::int64_t ms = 0;
  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return {a.ms + b.ms}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return {a.ms - b.ms}; }
};

constexpr Duration milliseconds(std::int64_t n) { return {n}; }
constexpr Duration seconds(std::int64_t n) { return {n * 1000}; }
constexpr Duration minutes(std::int64_t n) { return {n * 60'000}; }
constexpr Duration hours(std::int64_t n) { return {n * 3'600'000}; }

struct Time {
  std::int64_t ms = 0;
  /// Later than any real time, and far enough from the edge that adding a Duration does not
  /// overflow.
  static constexpr Time never() { return {std::numeric_limits<std::int64_t>::max() / 4}; }
  constexpr bool is_never() const { return ms >= never().ms; }
  friend constexpr auto operator<=>(Time, Time) = default;
  friend constexpr Time operator+(Time t, Duration d) { return {t.ms + d.ms}; }
  friend constexpr Time operator-(Time t, Duration d) { return {t.ms - d.ms}; }
  friend constexpr Duration operator-(Time a, Time b) { return {a.ms - b.ms}; }
};

/// "90s", "1h30m", "250ms", "2d"; a bare number is seconds. Negative and overflowing durations are
/// errors.
Result<Duration> parse_duration(std::string_view text, std::string_view field);
/// The shortest exact form that parse_duration reads: "1h30m".
std::string to_text(Duration d);

}  // namespace muster
