// Moments as people and programs write them: RFC 3339, "2026-07-01T08:00:00Z".
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace muster::config {

/// With a zone ("Z" or "+02:00") and up to three decimals of a second; years 1970 to 9999. The
/// error does not name a field.
Result<Time> parse_time(std::string_view text);
/// In UTC, with milliseconds only if there are any.
std::string time_text(Time time);

}  // namespace muster::config
