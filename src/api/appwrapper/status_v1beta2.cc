#include "api/appwrapper/status_v1beta2.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <cstdint>
#include <string_view>

#include "api/appwrapper/status_fields.h"
#include "kube/json.h"
#include "kube/timestamp.h"

namespace muster::api {

namespace {

namespace json = boost::json;
using kube::text_at;
using model::EndWhy;
using model::JobState;

enum class Phase {
  Suspended,
  Resuming,
  Running,
  Resetting,
  Suspending,
  Succeeded,
  Failed,
  Terminating
};

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::Suspended:
      return "Suspended";
    case Phase::Resuming:
      return "Resuming";
    case Phase::Running:
      return "Running";
    case Phase::Resetting:
      return "Resetting";
    case Phase::Suspending:
      return "Suspending";
    case Phase::Succeeded:
      return "Succeeded";
    case Phase::Failed:
      return "Failed";
    case Phase::Terminating:
      break;
  }
  return "Terminating";
}

/// What was written last is of the newest attempt, and says that.
bool was(Phase phase, const WrapperFacts& facts, const json::object& before) {
  const json::value written(before);
  return text_at(written, {"phase"}) == name_of(phase) &&
         kube::integer_at(written, {"muster", "attempt"}) == std::int64_t{facts.row->attempt};
}

/// It failed and pauses before the next try. One that was suspended meanwhile does not: with that
/// the failure is over, and it waits like any other.
bool is_resetting(const WrapperFacts& facts, const json::object& before) {
  const bool has_failed =
      facts.row->why == EndWhy::Failure || facts.row->why == EndWhy::StartFailed;
  return has_failed && !was(Phase::Suspended, facts, before) && !facts.could_not_be_made();
}

Phase phase_of(const WrapperFacts& facts, const json::object& before) {
  if (facts.is_deleting) return Phase::Terminating;
  if (!facts.refusal->empty()) return Phase::Failed;
  if (!facts.row) return Phase::Suspended;
  if (facts.has_failed_for_good() && facts.row->state != JobState::Stopping) return Phase::Failed;
  if (facts.is_removed()) return facts.sight->fails ? Phase::Failed : Phase::Resetting;
  const bool is_out =
      facts.row->state == JobState::Starting || facts.row->state == JobState::Running;
  // Its job counts until what it kept is gone.
  if (is_out && was(Phase::Failed, facts, before)) return Phase::Failed;
  // After a restart what was written is the best there is, until something is seen.
  if (is_out && !facts.is_seen() && was(Phase::Resetting, facts, before)) return Phase::Resetting;
  switch (facts.row->state) {
    case JobState::Held:
      return Phase::Suspended;
    case JobState::Waiting:
      return is_resetting(facts, before) ? Phase::Resetting : Phase::Suspended;
    case JobState::Starting:
      return facts.is_made() ? Phase::Running : Phase::Resuming;
    case JobState::Running:
      return Phase::Running;
    case JobState::Stopping:
      return Phase::Suspending;
    case JobState::Succeeded:
      return Phase::Succeeded;
    case JobState::Failed:
    case JobState::Cancelled:
      break;
  }
  return Phase::Failed;
}

/// One of the map of conditions.
struct Said {
  bool is_true = false;
  std::string_view reason;
  std::string message;
};

class Writer {
 public:
  Writer(const json::object& before, const WrapperFacts& facts, Time now)
      : status_(before), facts_(facts), at_(now), now_(kube::to_timestamp(now)) {
    if (const json::value* list = status_.if_contains("conditions"); list && list->is_array())
      conditions_ = list->get_array();
    was_removed_ = facts_.row && is_true("DeletingResources") &&
                   (was(Phase::Resetting, facts_, status_) || was(Phase::Failed, facts_, status_));
  }

  json::object write() {
    const Phase phase = phase_of(facts_, status_);
    count_resets(phase);
    status_["phase"] = name_of(phase);
    put_components(phase);
    put_resources(phase);
    put_pods(phase);
    put_health(phase);
    put_waiting(phase);
    status_["conditions"] = std::move(conditions_);
    status_["muster"] = muster_fields(facts_, status_);
    return std::move(status_);
  }

 private:
  void say(std::string_view type, const Said& said) {
    const auto same = std::find_if(conditions_.begin(), conditions_.end(),
                                   [&](const auto& one) { return text_at(one, {"type"}) == type; });
    const std::string_view status = said.is_true ? "True" : "False";
    const bool is_known = same != conditions_.end();
    if (is_known && text_at(*same, {"status"}) == status &&
        text_at(*same, {"reason"}) == said.reason)
      return;  // numbers in a message change all the time: the API has them
    json::object condition;
    condition["type"] = type;
    condition["status"] = status;
    condition["reason"] = said.reason;
    condition["message"] = said.message;
    const bool is_turn = !is_known || text_at(*same, {"status"}) != status;
    condition["lastTransitionTime"] =
        is_turn ? json::value(now_) : same->as_object()["lastTransitionTime"];
    if (is_known) {
      *same = std::move(condition);
    } else {
      conditions_.push_back(std::move(condition));
    }
  }
  /// Where the message says more than the reason.
  void say_all(std::string_view type, const Said& said) {
    say(type, said);
    for (json::value& one : conditions_) {
      if (text_at(one, {"type"}) == type) one.as_object()["message"] = said.message;
    }
  }
  /// As its own controller does: what is not true any more gets a reason, what never was does not.
  void clear(std::string_view type, std::string_view reason) {
    if (is_true(type)) say(type, {false, reason, ""});
  }
  bool is_true(std::string_view type) const {
    return std::any_of(conditions_.begin(), conditions_.end(), [&](const auto& one) {
      return text_at(one, {"type"}) == type && text_at(one, {"status"}) == "True";
    });
  }
  /// Seen, or, after a restart, as it was written.
  bool is_removed() const {
    if (!facts_.row || facts_.is_seen()) return facts_.is_removed();
    const JobState state = facts_.row->state;
    return was_removed_ && (state == JobState::Starting || state == JobState::Running);
  }
  /// It failed, and what it wraps is there nevertheless.
  bool is_kept(Phase phase) const {
    return phase == Phase::Failed && facts_.row && !is_removed() &&
           (facts_.is_kept_failure() || model::is_active(facts_.row->state));
  }
  bool has(std::string_view type) const {
    return std::any_of(conditions_.begin(), conditions_.end(),
                       [&](const auto& one) { return text_at(one, {"type"}) == type; });
  }

  /// Exact where the cluster counts; else a reset is one more.
  void count_resets(Phase phase) {
    const bool counts = phase == Phase::Resetting && facts_.ailment() != model::Ailment::SickNode;
    const bool is_news = text_at(json::value(status_), {"phase"}) != name_of(phase);
    const std::int64_t written = kube::integer_at(json::value(status_), {"resettingCount"});
    const std::int64_t count = facts_.is_seen() ? facts_.sight->requeues + (counts ? 1 : 0)
                                                : written + (counts && is_news ? 1 : 0);
    if (count > 0) status_["resettingCount"] = count;
  }

  void put_components(Phase phase) {
    const bool are_deployed =
        phase == Phase::Running || phase == Phase::Succeeded || is_kept(phase) || is_removed();
    json::array made;
    for (const WrapperComponent& one : facts_.ask.components) {
      json::object entry{{"name", json::string(one.name)},
                         {"kind", json::string(one.kind)},
                         {"apiVersion", json::string(one.api_version)}};
      json::array sets;
      for (const auto& [path, replicas] : one.pod_sets)
        sets.push_back({{"path", json::string(path)}, {"replicas", replicas}});
      entry["podSets"] = std::move(sets);
      json::array conditions;
      conditions.push_back({{"type", "ResourcesDeployed"},
                            {"status", are_deployed ? "True" : "False"},
                            {"reason", are_deployed ? "ComponentCreated" : "ComponentNotCreated"},
                            {"message", ""},
                            {"lastTransitionTime", since(made.size(), are_deployed)}});
      entry["conditions"] = std::move(conditions);
      made.push_back(std::move(entry));
    }
    if (!made.empty()) status_["componentStatus"] = std::move(made);
  }
  /// When the condition of that component took this value.
  std::string since(std::size_t component, bool is_deployed) const {
    const json::value* list = status_.if_contains("componentStatus");
    if (list == nullptr || !list->is_array() || component >= list->get_array().size()) return now_;
    const json::array before = kube::items_at(list->get_array()[component], {"conditions"});
    const bool is_same =
        !before.empty() && text_at(before.front(), {"status"}) == (is_deployed ? "True" : "False");
    return is_same ? std::string(text_at(before.front(), {"lastTransitionTime"})) : now_;
  }

  void put_resources(Phase phase) {
    if (is_removed() && phase != Phase::Terminating)
      return say("DeletingResources", {true, "DeletionInitiated", ""});
    switch (phase) {
      case Phase::Suspended:
        // What was deployed is deleted by now, however quickly that went.
        if (is_true("ResourcesDeployed") || is_true("DeletingResources"))
          say("DeletingResources", {false, "DeletionComplete", ""});
        say_all("QuotaReserved", {false, "Suspended", why_suspended()});
        return say_all("ResourcesDeployed", {false, "Suspended", why_suspended()});
      case Phase::Resuming:
      case Phase::Running:
        clear("DeletingResources", "DeletionComplete");
        say("QuotaReserved", {true, "Resuming", "Suspend is false"});
        return say("ResourcesDeployed", {true, "Resuming", "Suspend is false"});
      case Phase::Resetting:
        if (has("DeletingResources")) say("DeletingResources", {false, "DeletionComplete", ""});
        say("QuotaReserved", {true, "Resetting", facts_.row->reason});
        return say("ResourcesDeployed", {false, "Resetting", facts_.row->reason});
      case Phase::Suspending:
        say("DeletingResources", {true, "DeletionInitiated", ""});
        return say("ResourcesDeployed", {true, "Suspending", why_stopped()});
      case Phase::Succeeded:
        say("QuotaReserved", {false, "Succeeded", "All pods succeeded"});
        return say("ResourcesDeployed", {true, "Succeeded", "All pods succeeded"});
      case Phase::Failed:
        if (is_kept(phase))
          return say("DeletingResources",
                     {false, "DeletionPaused",
                      fmt::format("workload.codeflare.dev.appwrapper/"
                                  "deletionOnFailureGracePeriodDuration has value {}",
                                  to_text(facts_.ask.failed_ttl))});
        if (has("DeletingResources")) say("DeletingResources", {false, "DeletionComplete", ""});
        say("QuotaReserved", {false, "Failed", failure()});
        return say("ResourcesDeployed", {false, "Failed", failure()});
      case Phase::Terminating:
        if (!facts_.stuck->empty())
          return say("DeletingResources", {true, "CopiesRemain", *facts_.stuck});
        return say("DeletingResources", {true, "Terminating", "The AppWrapper was deleted"});
    }
  }

  void put_pods(Phase phase) {
    if (phase == Phase::Suspending) return;  // as long as pods are there nothing is said of them
    if (is_kept(phase)) return;              // they are as they are
    if (phase == Phase::Suspended) return clear("PodsReady", "Suspended");
    if (phase != Phase::Running) {
      if (has("PodsReady") && phase != Phase::Succeeded)
        say("PodsReady", {false, "InsufficientPodsReady", "No pods are wanted now"});
      return;
    }
    if (!facts_.is_seen()) return;  // after a restart what was written is the best there is
    const ports::PodCounts& pods = facts_.sight->pods;
    const std::int64_t needed =
        facts_.sight->needed_pods > 0 ? facts_.sight->needed_pods : std::int64_t{facts_.row->pods};
    const bool is_ready = pods.running + pods.succeeded >= needed;
    if (is_ready) {
      say("PodsReady",
          {true, "SufficientPodsReady",
           fmt::format("{} pods running; {} pods succeeded", pods.running, pods.succeeded)});
    } else {
      const std::string& why = facts_.sight->trouble;
      tell_pods(
          {false, "InsufficientPodsReady",
           fmt::format("{} pods pending; {} pods running; {} pods succeeded{}{}", pods.pending,
                       pods.running, pods.succeeded, why.empty() ? "" : "; ", why)});
    }
  }

  /// Of the numbers in it nothing is told again, but why pods do not start is.
  void tell_pods(const Said& said) {
    const auto why_of = [](std::string_view message) {
      constexpr std::string_view numbers_end = " pods succeeded";
      const std::size_t end = message.find(numbers_end);
      return end == std::string_view::npos ? "" : message.substr(end + numbers_end.size());
    };
    for (json::value& one : conditions_) {
      if (text_at(one, {"type"}) != "PodsReady" || text_at(one, {"status"}) != "False") continue;
      if (why_of(text_at(one, {"message"})) != why_of(said.message))
        one.as_object()["message"] = said.message;
    }
    say("PodsReady", said);
  }

  void put_health(Phase phase) {
    if (phase == Phase::Running || phase == Phase::Succeeded) {
      if (has("Unhealthy")) say("Unhealthy", {false, "Healthy", "It runs again"});
      return;
    }
    if (phase == Phase::Suspended) return clear("Unhealthy", "Suspended");
    if (!facts_.refusal->empty()) return say("Unhealthy", {true, "CreateFailed", *facts_.refusal});
    if (phase != Phase::Failed && phase != Phase::Resetting) return;
    // How it ends after a restart is not why it failed.
    if (!facts_.failed_before->empty() && is_true("Unhealthy")) return;
    const std::string_view reason = reason_of_ailment();
    const std::string why = failure();
    if (!reason.empty()) return say("Unhealthy", {true, reason, why});
    if (is_true("Unhealthy")) return;  // said before a restart, which knows no better
    const bool is_start = facts_.row->why == EndWhy::StartFailed;
    const std::string_view what = !facts_.is_made() ? "CreateFailed"
                                  : is_start        ? "InsufficientPodsReady"
                                                    : "FoundFailedPods";
    say("Unhealthy", {true, what, why});
  }

  /// "": it is not known.
  std::string_view reason_of_ailment() const {
    switch (facts_.ailment()) {
      case model::Ailment::NotMade:
        return "CreateFailed";
      case model::Ailment::MissingObject:
        return "MissingComponent";
      case model::Ailment::FailedObject:
        return "FailedComponent";
      case model::Ailment::FailedPods:
        return "FoundFailedPods";
      case model::Ailment::SickNode:
        return "AutopilotNoExecute";
      case model::Ailment::TooFewPods:
      case model::Ailment::Unplaced:
        return "InsufficientPodsReady";
      case model::Ailment::Forgotten:  // it may have said why
        return is_true("Unhealthy") ? "" : "InsufficientPodsReady";
      case model::Ailment::None:
        break;
    }
    return "";
  }

  void put_waiting(Phase phase) {
    const bool waits = phase == Phase::Suspended && facts_.wait;
    if (!waits && (!has("Waiting") || is_made_again(facts_, status_))) return;
    const WaitingWords words = waiting_words(facts_);
    const bool is_old = std::any_of(conditions_.begin(), conditions_.end(), [&](const auto& one) {
      return text_at(one, {"type"}) == "Waiting" &&
             has_old_estimate(text_at(one, {"message"}), at_);
    });
    const Said said{waits, words.reason, words.message};
    is_old ? say_all("Waiting", said) : say("Waiting", said);
  }

  std::string why_suspended() const {
    const bool is_held = facts_.ask.is_held || (facts_.row && facts_.row->state == JobState::Held);
    return is_held ? "Suspend is true" : "It waits in its queue";
  }
  std::string why_stopped() const {
    if (facts_.row->why == EndWhy::Held) return "Suspend is true";
    return fmt::format("The job is being stopped: {}", model::to_text(facts_.row->why));
  }
  std::string failure() const {
    if (!facts_.refusal->empty()) return *facts_.refusal;
    if (facts_.has_failed_for_good()) return facts_.why_kept_failed();
    if (facts_.is_removed()) return facts_.sight->trouble;
    if (!facts_.row->reason.empty()) return facts_.row->reason;
    return std::string(model::to_text(facts_.row->why));
  }

  json::object status_;
  json::array conditions_;
  const WrapperFacts& facts_;
  const Time at_;
  const std::string now_;
  bool was_removed_ = false;  // as it was written of the newest attempt
};

}  // namespace

json::object status_v1beta2(const json::object& before, const WrapperFacts& facts, Time now) {
  return Writer(before, facts, now).write();
}

std::string_view known_phase(const WrapperFacts& facts) {
  const bool may_reset =
      !facts.is_deleting && facts.refusal->empty() && facts.row &&
      facts.row->state == JobState::Waiting &&
      (facts.row->why == EndWhy::Failure || facts.row->why == EndWhy::StartFailed);
  return may_reset ? "" : name_of(phase_of(facts, {}));
}

bool is_deployed_v1beta2(const json::object& status) {
  const auto* phase = status.if_contains("phase");
  if (phase == nullptr || !phase->is_string()) return false;
  const std::string_view text = phase->get_string();
  return text == "Resuming" || text == "Running";
}

bool is_removing_v1beta2(const json::object& status) {
  const json::value whole(status);
  const json::array& conditions = kube::items_at(whole, {"conditions"});
  return std::any_of(conditions.begin(), conditions.end(), [](const json::value& one) {
    return text_at(one, {"type"}) == "DeletingResources" && text_at(one, {"status"}) == "True";
  });
}

bool is_stopping_v1beta2(const json::object& status) {
  const auto* phase = status.if_contains("phase");
  if (phase == nullptr || !phase->is_string()) return false;
  const std::string_view text = phase->get_string();
  return text == "Suspending" || text == "Resetting";
}

std::optional<KeptFailure> kept_failure_v1beta2(const json::object& status) {
  const json::value whole(status);
  bool is_kept = false;
  KeptFailure failure{"failed", Time{0}};
  for (const json::value& one : kube::items_at(whole, {"conditions"})) {
    const std::string_view type = text_at(one, {"type"});
    is_kept |= type == "DeletingResources" && text_at(one, {"reason"}) == "DeletionPaused";
    if (type != "Unhealthy" || text_at(one, {"status"}) != "True") continue;
    if (const std::string_view why = text_at(one, {"message"}); !why.empty()) failure.why = why;
    const auto since =
        kube::parse_timestamp(text_at(one, {"lastTransitionTime"}), "lastTransitionTime");
    if (since) failure.since = *since;
  }
  if (!is_kept) return std::nullopt;
  return failure;
}

bool is_final_v1beta2(const json::object& status) {
  const auto* phase = status.if_contains("phase");
  if (phase == nullptr || !phase->is_string()) return false;
  const std::string_view text = phase->get_string();
  return text == "Succeeded" || text == "Failed";
}

}  // namespace muster::api
