#include "clusters/kubernetes/attempt_care.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>

#include "kube/json.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;
using model::ReadyGrowth;

constexpr Duration longest = hours(24 * 365);

struct OptionalTime {
  std::string_view key;
  std::optional<Duration> model::ObjectCare::* field;
};
constexpr OptionalTime optional_times[] = {
    {"requeuePauseMs", &model::ObjectCare::requeue_pause},
    {"keepFailedMs", &model::ObjectCare::keep_failed},
    {"podsWithinMs", &model::ObjectCare::pods_within},
    {"failedWithinMs", &model::ObjectCare::failed_within},
    {"forceAfterMs", &model::ObjectCare::force_after},
};

const char* word_of(ReadyGrowth growth) {
  switch (growth) {
    case ReadyGrowth::Linear:
      return "linear";
    case ReadyGrowth::Exponential:
      return "exponential";
    case ReadyGrowth::None:
      break;
  }
  return "none";
}

}  // namespace

Duration ready_limit(const model::ObjectCare& care, int requeues, Duration otherwise) {
  const Duration first = care.ready_within.ms > 0 ? care.ready_within : otherwise;
  const Duration most = care.ready_within_most.ms > 0 ? care.ready_within_most : longest;
  Duration limit = first;
  if (care.ready_growth == ReadyGrowth::None) return limit;
  const bool has_next =
      care.ready_growth == ReadyGrowth::Exponential && care.ready_within_next.ms > 0;
  if (requeues > 0 && has_next) limit = care.ready_within_next;
  for (int i = 1; i < requeues && limit < most; ++i) {
    if (care.ready_growth == ReadyGrowth::Linear) limit = limit + first;
    if (care.ready_growth == ReadyGrowth::Exponential) limit = limit + limit;
  }
  return requeues > 0 ? std::min(limit, most) : first;  // as MCAD: the first is what it is
}

bool is_worth_a_requeue(const model::ObjectCare& care, int exit_code) {
  const auto has = [&](const std::vector<int>& codes) {
    return std::find(codes.begin(), codes.end(), exit_code) != codes.end();
  };
  return care.requeues_failures && !has(care.terminal_exit_codes) &&
         (care.retryable_exit_codes.empty() || has(care.retryable_exit_codes));
}

std::string too_few_pods(std::int64_t minimum, std::int64_t running, std::int64_t completed) {
  return fmt::format(
      "Insufficient number of Running and Completed pods, minimum={}, running={}, completed={}.",
      minimum, running, completed);
}

std::string care_text(const model::ObjectCare& care) {
  json::object made{{"startsWhenMade", care.starts_when_made},
                    {"readyPods", care.ready_pods},
                    {"readyWithinMs", care.ready_within.ms},
                    {"readyWithinMostMs", care.ready_within_most.ms},
                    {"readyGrowth", word_of(care.ready_growth)},
                    {"requeuesMost", care.requeues_most},
                    {"requeuesFailures", care.requeues_failures},
                    {"terminalExitCodes", json::value_from(care.terminal_exit_codes)},
                    {"retryableExitCodes", json::value_from(care.retryable_exit_codes)},
                    {"keepEnded", care.keep_ended},
                    {"waitsForPods", care.waits_for_pods}};
  if (care.ready_within_next.ms > 0) made["readyWithinNextMs"] = care.ready_within_next.ms;
  for (const OptionalTime& time : optional_times) {
    if (const auto& given = care.*time.field) made[time.key] = given->ms;
  }
  if (care.missing_fails) made["missingFails"] = true;
  if (care.ends_with_pods) made["endsWithPods"] = true;
  if (care.takes_existing) made["takesExisting"] = true;
  json::array marks;
  for (const model::NodeMark& one : care.leaves)
    marks.push_back({{"resource", one.resource}, {"label", one.label}, {"value", one.value}});
  if (!marks.empty()) made["leaves"] = std::move(marks);
  return json::serialize(made);
}

model::ObjectCare parse_care(std::string_view text) {
  model::ObjectCare care;
  if (text.empty()) return care;
  json::error_code wrong;
  const json::value read = json::parse(text, wrong);
  if (wrong || !read.is_object()) return care;
  const auto number = [&](std::string_view key) {
    return std::max<std::int64_t>(kube::integer_at(read, {key}), 0);
  };
  const auto small = [&](std::string_view key) {
    return static_cast<int>(std::min<std::int64_t>(number(key), 1'000'000'000));
  };
  care.starts_when_made = kube::flag_at(read, {"startsWhenMade"}, false);
  care.ready_pods = small("readyPods");
  care.ready_within = Duration{number("readyWithinMs")};
  care.ready_within_next = Duration{number("readyWithinNextMs")};
  care.ready_within_most = Duration{number("readyWithinMostMs")};
  for (const ReadyGrowth growth : {ReadyGrowth::Linear, ReadyGrowth::Exponential}) {
    if (kube::text_at(read, {"readyGrowth"}) == word_of(growth)) care.ready_growth = growth;
  }
  const bool has_most = kube::integer_at(read, {"requeuesMost"}, -1) >= 0;
  if (has_most) care.requeues_most = small("requeuesMost");
  care.requeues_failures = kube::flag_at(read, {"requeuesFailures"}, false);
  const auto codes = [&](std::string_view key) {
    std::vector<int> found;
    for (const json::value& one : kube::items_at(read, {key})) {
      if (one.is_int64()) found.push_back(static_cast<int>(one.get_int64()));
    }
    return found;
  };
  care.terminal_exit_codes = codes("terminalExitCodes");
  care.retryable_exit_codes = codes("retryableExitCodes");
  for (const OptionalTime& time : optional_times) {
    if (kube::find(read, {time.key}) != nullptr) care.*time.field = Duration{number(time.key)};
  }
  care.missing_fails = kube::flag_at(read, {"missingFails"}, false);
  care.ends_with_pods = kube::flag_at(read, {"endsWithPods"}, false);
  care.takes_existing = kube::flag_at(read, {"takesExisting"}, false);
  for (const json::value& one : kube::items_at(read, {"leaves"})) {
    care.leaves.push_back({std::string(kube::text_at(one, {"resource"})),
                           std::string(kube::text_at(one, {"label"})),
                           std::string(kube::text_at(one, {"value"}))});
  }
  care.keep_ended = kube::flag_at(read, {"keepEnded"}, false);
  care.waits_for_pods = kube::flag_at(read, {"waitsForPods"}, false);
  return care;
}

}  // namespace muster::clusters
