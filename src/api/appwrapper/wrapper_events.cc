#include "api/appwrapper/wrapper_events.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <utility>

#include "api/appwrapper/status_fields.h"
#include "base/hash.h"
#include "kube/json.h"
#include "kube/timestamp.h"

namespace muster::api {

namespace {

namespace json = boost::json;
using model::EndWhy;
using model::JobState;

constexpr std::size_t of_one_most = 20;
constexpr std::size_t told_most = 20'000;  // AppWrappers whose steps are remembered
constexpr double at_once_most = 100;
constexpr double a_second = 5;
constexpr std::size_t name_most = 200;
constexpr std::size_t message_most = 1000;
constexpr const char* component = "muster";

std::string why_requeued(const model::JobCourse& row) {
  switch (row.why) {
    case EndWhy::Priority:
      return "a job of higher priority needs what it used";
    case EndWhy::Reclaim:
      return "what it had borrowed was given back to its owner";
    case EndWhy::Drain:
      return fmt::format("cluster {} is being drained", row.cluster);
    case EndWhy::ClusterLost:
      return fmt::format("cluster {} was lost", row.cluster);
    default:
      return row.reason.empty() ? std::string(model::to_text(row.why)) : row.reason;
  }
}

WrapperStep step(std::string_view reason, std::string message, std::uint32_t attempt) {
  return {std::string(reason), std::move(message), false, false,
          fmt::format("{} {}", reason, attempt)};
}
WrapperStep problem(WrapperStep made, bool is_warning = true) {
  made.is_problem = true;
  made.is_warning = is_warning;
  return made;
}

void add_waiting(const WrapperFacts& facts, std::vector<WrapperStep>& steps) {
  if (!facts.wait) return;
  const WaitingWords words = waiting_words(facts);
  const std::uint32_t attempt = facts.row ? facts.row->attempt : 0;
  steps.push_back(problem(step(words.reason, words.message, attempt), false));
}

}  // namespace

std::vector<WrapperStep> steps_of(const WrapperFacts& facts) {
  std::vector<WrapperStep> steps;
  if (!facts.stuck->empty()) steps.push_back(problem(step("CopiesRemain", *facts.stuck, 0)));
  if (!facts.refusal->empty()) {
    steps.push_back(problem(step("Refused", *facts.refusal, 0)));
    return steps;
  }
  if (!facts.row) {
    add_waiting(facts, steps);
    return steps;
  }
  if (!facts.ask.warnings->empty())
    steps.push_back(problem(
        step("NotAllFollowed", fmt::format("{}", fmt::join(*facts.ask.warnings, "; ")), 0)));
  if (!facts.ignored->empty()) {
    steps.push_back(problem(step("ChangeIgnored", *facts.ignored, 0)));
    steps.back().key += *facts.ignored;  // of each change that is, why
  }
  const model::JobCourse& row = *facts.row;
  const bool is_out = model::is_active(row.state) || model::is_final(row.state);
  const bool was_held = row.why == EndWhy::Held || row.why == EndWhy::Released;
  if (!is_out && row.attempt > 0 && !was_held)
    steps.push_back(problem(step("Requeued", why_requeued(row), row.attempt)));
  if (!is_out) add_waiting(facts, steps);
  const bool was_made = is_out && facts.is_made();
  if (was_made)
    steps.push_back(step("Dispatched",
                         fmt::format("to cluster {}, attempt {}", row.cluster, row.attempt),
                         row.attempt));
  const bool do_not_start =
      model::is_active(row.state) && facts.is_seen() && !facts.sight->is_removed;
  if (do_not_start && !facts.sight->trouble.empty())
    steps.push_back(problem(step("PodsDoNotStart", facts.sight->trouble, row.attempt)));
  if (row.state == JobState::Running && facts.is_seen() && facts.sight->pods.running > 0)
    steps.push_back(
        step("Running", fmt::format("its pods run in cluster {}", row.cluster), row.attempt));
  if (row.state == JobState::Succeeded)
    steps.push_back(step("Completed", fmt::format("in cluster {}", row.cluster), row.attempt));
  if (row.state == JobState::Failed) {
    const std::string why = row.reason.empty() ? std::string(model::to_text(row.why)) : row.reason;
    steps.push_back(problem(step("Failed", why, row.attempt)));
  }
  if (row.state == JobState::Cancelled && facts.is_labelled) {
    steps.push_back(
        problem(step("Cancelled",
                     "its job was cancelled, and it stays suspended; to queue it again, "
                     "delete it and create it again",
                     row.attempt),
                false));
  } else if (row.state == JobState::Cancelled) {
    steps.push_back(step("Cancelled", "its job was cancelled", row.attempt));
  }
  return steps;
}

EventSubject subject_of(const WrapperKey& key, const std::string& uid) {
  const kube::Resource kind = appwrappers(key.group);
  return {kind.api_version(), kind.kind, key.ns, key.name, uid};
}

json::value event_of(const EventSubject& about, const WrapperStep& step, Time now) {
  const std::string at = kube::to_timestamp(now);
  const auto hash = Hasher().add(about.uid).add(step.key).value();
  json::value made = json::object();
  kube::set_at(made, {"apiVersion"}, "v1");
  kube::set_at(made, {"kind"}, "Event");
  kube::set_at(made, {"metadata", "name"},
               json::string(fmt::format("{}.{:016x}", about.name.substr(0, name_most), hash)));
  kube::set_at(made, {"metadata", "namespace"}, json::string(about.ns));
  kube::set_at(made, {"involvedObject"},
               json::object{{"apiVersion", json::string(about.api_version)},
                            {"kind", json::string(about.kind)},
                            {"namespace", json::string(about.ns)},
                            {"name", json::string(about.name)},
                            {"uid", json::string(about.uid)}});
  kube::set_at(made, {"type"}, step.is_warning ? "Warning" : "Normal");
  kube::set_at(made, {"reason"}, json::string(step.reason));
  kube::set_at(made, {"message"}, json::string(step.message.substr(0, message_most)));
  kube::set_at(made, {"source", "component"}, component);
  kube::set_at(made, {"count"}, 1);
  kube::set_at(made, {"firstTimestamp"}, json::string(at));
  kube::set_at(made, {"lastTimestamp"}, json::string(at));
  return made;
}

void WrapperEvents::tell(const std::string& job, const EventSubject& about,
                         const WrapperFacts& facts, Time now) {
  if (telling_ == EventTelling::None) return;
  for (const WrapperStep& step : steps_of(facts)) {
    if (telling_ == EventTelling::Problems && !step.is_problem) continue;
    const auto known = told_.find(job);
    if (known != told_.end() &&
        (known->second.contains(step.key) || known->second.size() >= of_one_most))
      continue;
    if (!may_write(now)) return;
    if (told_.size() >= told_most) told_.clear();  // what is told again has the same name
    told_[job].insert(step.key);
    kube::ApiRequest request =
        kube::create_request(kube::resources::events(), about.ns, event_of(about, step, now));
    request.may_retry = false;
    send_(request);
  }
}

/// So many at once, and so many a second.
bool WrapperEvents::may_write(Time now) {
  const auto passed = static_cast<double>((now - std::exchange(counted_at_, now)).ms) / 1000;
  tokens_ = std::min(tokens_ + std::max(passed, 0.0) * a_second, at_once_most);
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

}  // namespace muster::api
