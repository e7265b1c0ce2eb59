#include "api/appwrapper/status_fields.h"

#include <fmt/format.h>

#include <string_view>

#include "kube/json.h"
#include "kube/timestamp.h"

namespace muster::api {

namespace {

namespace json = boost::json;

constexpr std::string_view refused = "Refused";

std::string_view word_of(WrapperWait::Kind kind) {
  switch (kind) {
    case WrapperWait::Kind::Room:
      return "InsufficientResources";
    case WrapperWait::Kind::Quota:
      return "InsufficientQuota";
    case WrapperWait::Kind::NoCluster:
      return "NoCluster";
    case WrapperWait::Kind::Held:
      return "Held";
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
  return waits_to_be_made(facts) ? "CannotBeMade" : word_of(facts.wait->kind);
}

bool is_waiting(const WrapperFacts& facts) {
  const bool is_elsewhere =
      facts.row && (model::is_active(facts.row->state) || model::is_final(facts.row->state));
  return facts.wait && !is_elsewhere;
}

}  // namespace

json::object muster_fields(const WrapperFacts& facts) {
  json::object fields;
  if (facts.row) {
    fields["job"] = facts.row->id;
    fields["queue"] = facts.row->queue;
    if (facts.row->attempt > 0) fields["attempt"] = facts.row->attempt;
    if (!facts.row->cluster.empty() && !model::is_final(facts.row->state) &&
        model::is_active(facts.row->state))
      fields["cluster"] = facts.row->cluster;
  }
  if (facts.ask.is_held) fields["suspend"] = true;
  if (!facts.refusal.empty()) fields["reason"] = refused;
  if (is_waiting(facts)) fields["reason"] = word_of(facts);
  if (!facts.stuck.empty()) fields["reason"] = "CopiesRemain";
  return fields;
}

bool is_refused(const json::object& status) {
  return kube::text_at(json::value(status), {"muster", "reason"}) == refused;
}

const std::string& why_it_waits(const WrapperFacts& facts) {
  return waits_to_be_made(facts) ? facts.row->reason : facts.wait->sentence;
}

WaitingWords waiting_words(const WrapperFacts& facts) {
  if (!facts.stuck.empty()) return {"CopiesRemain", facts.stuck};
  if (!is_waiting(facts)) return {"Dispatched", "It waits no more."};
  std::string message = why_it_waits(facts);
  if (facts.wait->expected_start)
    message += fmt::format("; expected to start about {}",
                           kube::to_timestamp(*facts.wait->expected_start));
  return {std::string(word_of(facts)), std::move(message)};
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
