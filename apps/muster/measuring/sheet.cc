#include "apps/muster/measuring/sheet.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cmath>
#include <cstdio>
#include <utility>

namespace muster::app {
namespace {

namespace json = boost::json;

std::optional<double> ratio_of(const BenchRow& row) {
  if (!row.limit || *row.limit == 0 || row.failed) return std::nullopt;
  return row.ratio ? *row.ratio : row.value / *row.limit;
}

std::optional<bool> ok_of(const BenchRow& row) {
  if (row.failed) return false;
  if (!row.reach) return std::nullopt;
  const double value = row.is_reach_of_ratio ? ratio_of(row).value_or(0) : row.value;
  return row.direction == Reach::AtLeast ? value >= *row.reach : value <= *row.reach;
}

template <typename T>
json::value value_of(const std::optional<T>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

/// Three digits that matter, thousands apart.
std::string number(double value) {
  if (std::abs(value) < 100) return fmt::format("{:.3g}", value);
  std::string digits = fmt::format("{:.0f}", value);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

json::object json_of(const BenchRow& row, std::optional<bool> ok) {
  json::object out{{"measure", row.measure},
                   {"value", row.failed ? json::value(nullptr) : json::value(row.value)},
                   {"unit", row.unit},
                   {"limit", value_of(row.limit)},
                   {"ratio", value_of(ratio_of(row))},
                   {"reach", value_of(row.reach)},
                   {"ok", value_of(ok)}};
  if (row.is_reach_of_ratio) out["reach_of"] = "ratio";
  if (!row.note.empty()) out["note"] = row.note;
  return out;
}

}  // namespace

void Sheet::add(const BenchRow& row) {
  const std::optional<bool> ok = ok_of(row);
  is_whole_ = is_whole_ && !row.failed;
  const json::object line = json_of(row, ok);
  lines_.add(line);
  if (json_) {
    fmt::print("{}\n", json::serialize(line));
  } else {
    print_text(row, ok);
  }
  std::fflush(stdout);
}

void Sheet::fail(std::string measure, const std::string& why) {
  add({.measure = std::move(measure), .unit = "", .note = why, .failed = true});
}

void Sheet::print_text(const BenchRow& row, std::optional<bool> ok) {
  constexpr std::string_view form = "{:<52} {:>16} {:>16} {:>7}   {:<18} {:<4}{}\n";
  if (!has_head_) fmt::print(form, "measure", "measured", "limit here", "ratio", "reach", "ok", "");
  has_head_ = true;
  const auto with_unit = [&](double value) {
    return fmt::format("{} {}", number(value), row.unit);
  };
  const std::optional<double> ratio = ratio_of(row);
  const char* sign = row.direction == Reach::AtLeast ? ">=" : "<=";
  const auto reach_text = [&](double reach) {
    return row.is_reach_of_ratio ? fmt::format("ratio {} {:g}", sign, reach)
                                 : fmt::format("{} {}", sign, with_unit(reach));
  };
  fmt::print(form, row.measure, row.failed ? "-" : with_unit(row.value),
             row.limit ? with_unit(*row.limit) : "", ratio ? fmt::format("{:.2f}", *ratio) : "",
             row.reach ? reach_text(*row.reach) : "",
             !ok   ? ""
             : *ok ? "yes"
                   : "NO",
             row.note);
}

}  // namespace muster::app
