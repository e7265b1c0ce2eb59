#include "cli/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "base/text.h"
#include "config/time_text.h"
#include "model/state.h"

namespace muster::cli {

std::string rough(Duration d) {
  const std::int64_t s = std::max<std::int64_t>(d.ms, 0) / 1000;
  if (s < 60) return fmt::format("{}s", s);
  if (s < 600) return s % 60 == 0 ? fmt::format("{}m", s / 60) : to_text(seconds(s));
  const std::int64_t m = s / 60;
  if (m < 60) return fmt::format("{}m", m);
  if (m < 600) return m % 60 == 0 ? fmt::format("{}h", m / 60) : to_text(minutes(m));
  if (m < 48 * 60) return fmt::format("{}h", m / 60);
  return fmt::format("{}d", m / 60 / 24);
}

std::string ago(Time t, Time now) {
  if (t.is_never()) return "";
  const Duration d = now - t;
  if (d.ms > -1000 && d.ms < 1000) return "now";
  return d.ms > 0 ? rough(d) + " ago" : "in " + rough(t - now);
}

std::string moment(Time t) { return t.is_never() ? "" : config::time_text(t); }

Result<Time> parse_since(std::string_view text, Time now, std::string_view option) {
  if (text.find('T') != std::string_view::npos) {
    auto at = config::parse_time(text);
    if (!at) return invalid(fmt::format("{} {}: {}", option, text, at.error().message));
    return at;
  }
  auto before = parse_duration(text, option);
  if (!before) return before.error();
  return now - *before;
}

Result<std::pair<std::string, std::string>> parse_node(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == text.size())
    return invalid(fmt::format("{}: expected CLUSTER/NODE, as `muster node list` shows it", text));
  return std::pair(std::string(text.substr(0, slash)), std::string(text.substr(slash + 1)));
}

Result<std::vector<std::pair<std::string, std::string>>> parse_amounts(std::string_view text,
                                                                       std::string_view option) {
  std::vector<std::pair<std::string, std::string>> amounts;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return invalid(
          fmt::format("{} {}: expected RESOURCE=AMOUNT, as in gpu=8,cpu=64", option, text));
    amounts.emplace_back(trim(part.substr(0, equals)), trim(part.substr(equals + 1)));
  }
  return amounts;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

Result<std::string> parse_state(std::string_view text) {
  const std::string wanted = lower(text);
  std::vector<std::string> names;
  std::vector<std::string> hits;
  for (const model::JobState state : model::all_states()) {
    const std::string name(model::to_text(state));
    if (lower(name) == wanted) return name;
    if (!wanted.empty() && lower(name).starts_with(wanted)) hits.push_back(name);
    names.push_back(lower(name));
  }
  if (hits.size() == 1) return hits.front();
  return invalid(fmt::format("--state {}: expected one of {}", text, fmt::join(names, ", ")));
}

bool is_final_state(std::string_view state) {
  return state == "Succeeded" || state == "Failed" || state == "Cancelled";
}

Paint paint_of_state(std::string_view state) {
  if (state == "Running" || state == "Succeeded") return Paint::Good;
  if (state == "Failed") return Paint::Bad;
  if (state == "Cancelled" || state == "Held") return Paint::Dim;
  return Paint::Busy;
}

Paint paint_of_health(std::string_view health) {
  if (health == "ready") return Paint::Good;
  return health == "unreachable" ? Paint::Bad : Paint::Busy;
}

}  // namespace muster::cli
