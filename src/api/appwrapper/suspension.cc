#include "api/appwrapper/suspension.h"

#include <variant>

#include "kube/json.h"

namespace muster::api {

namespace {

bool may_be_held(const sched::Job& job) {
  if (!job.active) return job.state == model::JobState::Waiting;
  const sched::Active& active = *job.active;
  const bool ends = active.stopping && active.stop == model::StopWhy::RunLimit;
  return !active.cancelled && !active.held && !ends;
}

bool is_held(const sched::Job& job) {
  return job.active ? job.active->held : job.state == model::JobState::Held;
}

}  // namespace

bool was_suspended(const boost::json::object& status) {
  return kube::flag_at(boost::json::value(status), {"muster", "suspend"}, false);
}

std::optional<int> followed_priority(const boost::json::object& status) {
  const boost::json::value whole(status);
  const boost::json::value* written = kube::find(whole, {"muster", "priority"});
  boost::json::error_code wrong;
  const int priority = written == nullptr ? 0 : written->to_number<int>(wrong);
  if (written == nullptr || wrong) return std::nullopt;
  return priority;
}

std::vector<model::EventBody> changes_between(const std::string& job, const WrapperAsk& before,
                                              const WrapperAsk& after) {
  std::vector<model::EventBody> wanted;
  if (after.priority != before.priority)
    wanted.emplace_back(model::PriorityChanged{job, after.priority});
  if (after.is_held && !before.is_held) wanted.emplace_back(model::JobHeld{job, true});
  if (!after.is_held && before.is_held) wanted.emplace_back(model::JobReleased{job});
  return wanted;
}

std::vector<model::EventBody> still_wanted(const sched::Job& job,
                                           const std::vector<model::EventBody>& events) {
  std::vector<model::EventBody> left;
  if (model::is_final(job.state)) return left;
  for (const model::EventBody& event : events) {
    if (std::holds_alternative<model::JobHeld>(event) && !may_be_held(job)) continue;
    if (std::holds_alternative<model::JobReleased>(event) && !is_held(job)) continue;
    left.push_back(event);
  }
  return left;
}

}  // namespace muster::api
