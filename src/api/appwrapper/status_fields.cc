#include "api/appwrapper/status_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "api/appwrapper/editions.h"
#include "kube/json.h"
#include "kube/timestamp.h"

namespace muster::api {

namespace {

namespace json = boost::json;

constexpr std::string_view refused = "Refused";
constexpr std::string_view cannot_be_made = "CannotBeMade";
constexpr std::string_view before_estimate = "; expected to start about ";

std::string_view word_of(WrapperWait::Kind kind) {
  switch (kind) {
    case WrapperWait::Kind::Room:
      return "InsufficientResources";
    case WrapperWait::Kind::Quota:
      return "InsufficientQuota";
    case WrapperWait::Kind::NoCluster:
      return "NoCluster";
    case WrapperWait::Kind::NoKind:
      return cannot_be_made;
    case WrapperWait::Kind::NoCheck:
      return "CreatorsNotChecked";
    case WrapperWait::Kind::Held:
      return "Held";
    case WrapperWait::Kind::Takeover:
      return "CannotBeTakenOver";
    case WrapperWait::Kind::Turn:
      break;
  }
  return "NotItsTurn";
}

/// It waits for nothing but the next try, and the last one says what for.
bool waits_to_be_made(const WrapperFacts& facts) {
  return facts.wait && facts.wait->kind == WrapperWait::Kind::Turn && facts.could_not_be_made();
}

std::string_view word_of(const WrapperFacts& facts) {
  return waits_to_be_made(facts) ? cannot_be_made : word_of(facts.wait->kind);
}

bool is_waiting(const WrapperFacts& facts) {
  const bool is_elsewhere =
      facts.row && (model::is_active(facts.row->state) || model::is_final(facts.row->state));
  return facts.wait && !is_elsewhere;
}

/// Somebody gave its job another one than its author asked for.
bool has_other_priority(const WrapperFacts& facts) {
  return facts.row && !model::is_final(facts.row->state) &&
         facts.row->priority != facts.ask.priority;
}

}  // namespace

json::object muster_fields(const WrapperFacts& facts, const json::object& before) {
  json::object fields;
  if (facts.row) {
    fields["job"] = *facts.job;
    fields["queue"] = facts.row->queue;
    if (facts.row->attempt > 0) fields["attempt"] = facts.row->attempt;
    if (!facts.row->cluster.empty() && !model::is_final(facts.row->state) &&
        model::is_active(facts.row->state))
      fields["cluster"] = facts.row->cluster;
  }
  if (facts.ask.is_held) fields["suspend"] = true;
  if (has_other_priority(facts)) fields["priority"] = facts.ask.priority;
  if (facts.row && facts.ask.content != 0) fields["content"] = content_text(facts.ask.content);
  if (!facts.refusal->empty()) fields["reason"] = refused;
  if (is_waiting(facts)) fields["reason"] = word_of(facts);
  if (is_made_again(facts, before)) fields["reason"] = cannot_be_made;
  if (!facts.stuck->empty()) fields["reason"] = "CopiesRemain";
  return fields;
}

bool is_made_again(const WrapperFacts& facts, const json::object& before) {
  const bool may_be = facts.row && !facts.wait && facts.stuck->empty() && !facts.is_made() &&
                      (facts.row->state == model::JobState::Waiting ||
                       facts.row->state == model::JobState::Starting);
  return may_be && kube::text_at(json::value(before), {"muster", "reason"}) == cannot_be_made;
}

bool is_refused(const json::object& status) {
  return kube::text_at(json::value(status), {"muster", "reason"}) == refused;
}

const std::string& why_it_waits(const WrapperFacts& facts) {
  return waits_to_be_made(facts) ? facts.row->reason : *facts.wait->sentence;
}

WaitingWords waiting_words(const WrapperFacts& facts) {
  if (!facts.stuck->empty()) return {"CopiesRemain", *facts.stuck};
  if (!is_waiting(facts)) return {"Dispatched", "It waits no more."};
  std::string message = why_it_waits(facts);
  if (facts.wait->expected_start)
    message +=
        fmt::format("{}{}", before_estimate, kube::to_timestamp(*facts.wait->expected_start));
  return {std::string(word_of(facts)), std::move(message)};
}

bool has_old_estimate(std::string_view message, Time now) {
  const std::size_t at = message.rfind(before_estimate);
  if (at == std::string_view::npos) return false;
  const auto start = kube::parse_timestamp(message.substr(at + before_estimate.size()), "");
  return start && *start + estimate_stands <= now;
}

bool is_counts_only(const json::object& before, const json::object& patch) {
  const auto is_told_again = [](const json::value& a, const json::value& b) {
    const std::string_view type = kube::text_at(a, {"type"});
    return a == b ||
           ((type == "PodsReady" || type == "Waiting") && type == kube::text_at(b, {"type"}) &&
            kube::text_at(a, {"status"}) == kube::text_at(b, {"status"}));
  };
  return std::all_of(patch.begin(), patch.end(), [&](const auto& field) {
    if (field.key() == "conditions" && field.value().is_array()) {
      const json::value whole(before);
      const json::array& old = kube::items_at(whole, {"conditions"});
      const json::array& made = field.value().get_array();
      return std::equal(old.begin(), old.end(), made.begin(), made.end(), is_told_again);
    }
    if (field.key() == "muster" && field.value().is_object())
      return field.value().get_object().size() == 1 &&
             field.value().get_object().contains("reason");
    return field.key() == "pending" || field.key() == "running" || field.key() == "failed" ||
           field.key() == "Succeeded" || field.key() == "pendingpodconditions";
  });
}

bool all_pods_run(const WrapperFacts& facts) {
  if (!facts.is_seen()) return false;
  const ports::PodCounts& pods = facts.sight->pods;
  return pods.running > 0 &&
         pods.running + pods.succeeded >= static_cast<std::int64_t>(facts.row->pods);
}

json::object merge_patch(const json::object& from, const json::object& to) {
  json::object patch;
  for (const auto& [key, value] : from) {
    if (!to.contains(key)) patch[key] = nullptr;
  }
  for (const auto& [key, value] : to) {
    const json::value* old = from.if_contains(key);
    if (old != nullptr && *old == value) continue;
    if (old != nullptr && old->is_object() && value.is_object()) {
      patch[key] = merge_patch(old->get_object(), value.get_object());
    } else {
      patch[key] = value;
    }
  }
  return patch;
}

}  // namespace muster::api
