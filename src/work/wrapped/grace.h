// The annotations with which users of v1beta2 say how long things may take and what a retry is
// worth. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/selector.h"

namespace muster::work {

struct Grace {
  Duration admission = minutes(1);
  Duration warmup = minutes(5);
  Duration failure = minutes(1);
  Duration retry_pause = seconds(90);
  int retry_limit = 3;
  Duration forceful_deletion = minutes(10);
  Duration deletion_on_failure{0};
  Duration success_ttl = hours(7 * 24);
  std::vector<int> terminal_exit_codes = {};   // of these no retry helps
  std::vector<int> retryable_exit_codes = {};  // if given, only these are worth one
  friend bool operator==(const Grace&, const Grace&) = default;
};

/// What does not read keeps its default, and what is beyond a limit becomes it; both are told.
Grace read_grace(const model::Labels& annotations, std::vector<std::string>& warnings);
/// The annotations that say what differs from the defaults.
model::Labels grace_annotations(const Grace& grace);

/// Go's way to write one, which annotations have: "1h30m", "1.5h", "-5s", "0"; no bare numbers.
Result<Duration> parse_go_duration(std::string_view text);

}  // namespace muster::work
