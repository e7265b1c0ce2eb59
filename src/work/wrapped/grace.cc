#include "work/wrapped/grace.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"

namespace muster::work {

namespace {

constexpr std::string_view prefix = "workload.codeflare.dev.appwrapper/";
constexpr Duration grace_max = hours(24);

struct Period {
  std::string_view key;
  Duration Grace::* field;
  Duration most;
};
constexpr Period periods[] = {
    {"admissionGracePeriodDuration", &Grace::admission, grace_max},
    {"warmupGracePeriodDuration", &Grace::warmup, grace_max},
    {"failureGracePeriodDuration", &Grace::failure, grace_max},
    {"retryPausePeriodDuration", &Grace::retry_pause, grace_max},
    {"forcefulDeletionGracePeriodDuration", &Grace::forceful_deletion, grace_max},
    {"deletionOnFailureGracePeriodDuration", &Grace::deletion_on_failure, grace_max},
    {"successTTLDuration", &Grace::success_ttl, hours(7 * 24)},
};

struct ExitCodes {
  std::string_view key;
  std::vector<int> Grace::* field;
};
constexpr ExitCodes exit_codes[] = {
    {"terminalExitCodes", &Grace::terminal_exit_codes},
    {"retryableExitCodes", &Grace::retryable_exit_codes},
};
constexpr std::string_view retry_limit_key = "retryLimit";

std::string name_of(std::string_view key) { return std::string(prefix) + std::string(key); }

class GraceReader {
 public:
  GraceReader(const model::Labels& annotations, std::vector<std::string>& warnings)
      : annotations_(annotations), warnings_(warnings) {}

  Grace read() {
    for (const Period& period : periods) read_period(period);
    for (const ExitCodes& codes : exit_codes) read_codes(codes);
    if (const std::string* text = find(retry_limit_key)) {
      const auto limit = parse_int(*text, "", std::numeric_limits<std::int32_t>::min(),
                                   std::numeric_limits<std::int32_t>::max());
      if (limit) {
        grace_.retry_limit = static_cast<int>(std::max<std::int64_t>(*limit, 0));
      } else {
        warn(retry_limit_key, *text, fmt::format("not a number; {} is used", grace_.retry_limit));
      }
    }
    return std::move(grace_);
  }

 private:
  const std::string* find(std::string_view key) const {
    const auto found = annotations_.find(name_of(key));
    return found == annotations_.end() ? nullptr : &found->second;
  }
  void warn(std::string_view key, const std::string& text, const std::string& why) {
    warnings_.push_back(
        fmt::format("metadata.annotations.{}: '{}' is {}", name_of(key), text.substr(0, 60), why));
  }

  void read_period(const Period& period) {
    const std::string* text = find(period.key);
    if (text == nullptr) return;
    Duration& into = grace_.*period.field;
    const auto given = parse_go_duration(*text);
    if (!given)
      return warn(period.key, *text, fmt::format("not a duration; {} is used", to_text(into)));
    // A time to live that is no time is not one: its default stays, as its own controller has it.
    const bool is_life = period.field == &Grace::success_ttl;
    if (is_life && given->ms <= 0)
      return warn(period.key, *text, fmt::format("not above 0; {} is used", to_text(into)));
    into = std::clamp(*given, Duration{0}, period.most);
    if (into != *given)
      warn(period.key, *text, fmt::format("beyond the limit; {} is used", to_text(into)));
  }

  void read_codes(const ExitCodes& codes) {
    const std::string* text = find(codes.key);
    if (text == nullptr) return;
    for (const std::string_view word : split(*text, ',')) {
      const auto code = parse_int(trim(word), "", std::numeric_limits<std::int32_t>::min(),
                                  std::numeric_limits<std::int32_t>::max());
      if (code) {
        (grace_.*codes.field).push_back(static_cast<int>(*code));
      } else {
        warn(codes.key, std::string(word), "no exit code and left out");
      }
    }
  }

  const model::Labels& annotations_;
  std::vector<std::string>& warnings_;
  Grace grace_;
};

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};
constexpr Unit units[] = {
    {"ns", 1},         {"us", 1'000},        {"µs", 1'000},         {"μs", 1'000},
    {"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000}};
__extension__ using Wide = __int128;

/// Digits at the front, taken off. False: none, or more than 18.
bool take_digits(std::string_view& text, std::int64_t& number, std::size_t& digits) {
  number = 0;
  digits = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    if (++digits > 18) return false;
    number = number * 10 + (text.front() - '0');
    text.remove_prefix(1);
  }
  return true;
}

/// "1.5h" at the front, taken off, in nanoseconds.
bool take_part(std::string_view& text, Wide& total) {
  std::int64_t whole = 0;
  std::int64_t fraction = 0;
  std::size_t whole_digits = 0;
  std::size_t fraction_digits = 0;
  if (!take_digits(text, whole, whole_digits)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!take_digits(text, fraction, fraction_digits)) return false;
  }
  if (whole_digits + fraction_digits == 0) return false;
  const std::string_view word = text.substr(0, text.find_first_of("0123456789."));
  const auto* unit = std::find_if(std::begin(units), std::end(units),
                                  [&](const Unit& one) { return one.name == word; });
  if (unit == std::end(units)) return false;
  Wide part_of_one = Wide{fraction} * unit->nanoseconds;
  for (std::size_t i = 0; i < fraction_digits; ++i) part_of_one /= 10;
  total += Wide{whole} * unit->nanoseconds + part_of_one;
  text.remove_prefix(word.size());
  return total <= std::numeric_limits<std::int64_t>::max();
}

std::string codes_text(const std::vector<int>& codes) {
  return fmt::format("{}", fmt::join(codes, ","));
}

/// As Go reads it: without days.
std::string go_text(Duration duration) { return fmt::format("{}ms", duration.ms); }

}  // namespace

Grace read_grace(const model::Labels& annotations, std::vector<std::string>& warnings) {
  return GraceReader(annotations, warnings).read();
}

model::Labels grace_annotations(const Grace& grace) {
  const Grace usual;
  model::Labels made;
  for (const Period& period : periods) {
    if (grace.*period.field != usual.*period.field)
      made[name_of(period.key)] = go_text(grace.*period.field);
  }
  if (grace.retry_limit != usual.retry_limit)
    made[name_of(retry_limit_key)] = fmt::format("{}", grace.retry_limit);
  for (const ExitCodes& codes : exit_codes) {
    if (!(grace.*codes.field).empty()) made[name_of(codes.key)] = codes_text(grace.*codes.field);
  }
  return made;
}

Result<Duration> parse_go_duration(std::string_view text) {
  const auto wrong = [&] {
    return invalid(
        fmt::format("'{}' is not a duration; write for example 1h30m", text.substr(0, 60)));
  };
  std::string_view rest = text;
  const bool is_negative = rest.starts_with('-');
  if (is_negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return Duration{0};
  if (rest.empty()) return wrong();
  Wide total = 0;
  while (!rest.empty()) {
    if (!take_part(rest, total)) return wrong();
  }
  const auto milliseconds_of = static_cast<std::int64_t>(total / 1'000'000);
  return Duration{is_negative ? -milliseconds_of : milliseconds_of};
}

}  // namespace muster::work
