// Values in the words of the command line, and back: ages, moments, times given by people, states.
// Pure: time is an argument.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "cli/table.h"

namespace muster::cli {

/// "12s", "3m", "2h5m", "4d": two parts at most, for durations of people.
std::string rough(Duration d);
/// "3m ago", "in 2h", "now"; "" for never.
std::string ago(Time t, Time now);
/// RFC 3339 in UTC; "" for never.
std::string moment(Time t);

/// What --since takes: a duration before now ("10m") or a moment ("2026-07-01T08:00:00Z").
Result<Time> parse_since(std::string_view text, Time now, std::string_view option = "--since");
/// "CLUSTER/NODE" in its two parts.
Result<std::pair<std::string, std::string>> parse_node(std::string_view text);
/// "gpu=8,cpu=64" and the like as pairs, in order; quantities are left to the server.
Result<std::vector<std::pair<std::string, std::string>>> parse_amounts(std::string_view text,
                                                                       std::string_view option);
/// The state with the name of the server, from any case and from a beginning that is unique
/// ("run"); errors name the nearest.
Result<std::string> parse_state(std::string_view text);

/// "running" of "Running".
std::string lower(std::string_view text);
bool is_final_state(std::string_view state);
Paint paint_of_state(std::string_view state);
Paint paint_of_health(std::string_view health);

}  // namespace muster::cli
