#include "api/appwrapper/status_v1beta1.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <cstdint>
#include <limits>
#include <string_view>

#include "api/appwrapper/status_fields.h"
#include "kube/json.h"
#include "kube/timestamp.h"

namespace muster::api {

namespace {

namespace json = boost::json;
using kube::flag_at;
using kube::integer_at;
using kube::text_at;
using model::EndWhy;
using model::JobState;

enum class Stage { Refused, Queueing, Backoff, HeadOfLine, Dispatched, Holding, Completed, Failed };

/// Its objects are done, and pods of it are left.
bool is_holding(const WrapperFacts& facts) {
  const ports::PodCounts& pods = facts.sight->pods;
  return facts.is_seen() && facts.sight->is_complete && pods.running + pods.pending > 0;
}

Stage stage_of(const WrapperFacts& facts) {
  if (!facts.refusal->empty()) return Stage::Refused;
  if (!facts.row) return facts.wait ? Stage::Backoff : Stage::Queueing;
  switch (facts.row->state) {
    case JobState::Held:
    case JobState::Waiting:
      return facts.wait ? Stage::Backoff : Stage::Queueing;
    case JobState::Starting:
    case JobState::Running:
    case JobState::Stopping:
      if (!facts.is_made()) return Stage::HeadOfLine;
      return is_holding(facts) ? Stage::Holding : Stage::Dispatched;
    case JobState::Succeeded:
      // MCAD never ends an AppWrapper of which no item says when it is complete.
      return facts.is_mcad && !facts.ask.names_its_end && !facts.ask.is_unread ? Stage::Dispatched
                                                                               : Stage::Completed;
    case JobState::Failed:
    case JobState::Cancelled:
      break;
  }
  return Stage::Failed;
}

std::int64_t clamped(std::int64_t amount) {
  return std::clamp<std::int64_t>(amount, 0, std::numeric_limits<std::int32_t>::max());
}

/// It was requeued as often as it may be: too few pods are nothing that it fails of else.
bool is_used_up(const WrapperFacts& facts) {
  return facts.row->why == EndWhy::Failure &&
         (model::is_short_of_pods(facts.ailment()) || facts.ailment() == model::Ailment::Forgotten);
}
/// It failed in a way that is called so.
bool is_deleted(const WrapperFacts& facts) {
  return facts.row->why == EndWhy::Cancelled || is_used_up(facts);
}

/// What the conditions say of a requeue.
struct Requeue {
  std::string_view reason;
  std::string message;
};

class Writer {
 public:
  Writer(const json::object& before, const WrapperFacts& facts, Time now)
      : status_(before), facts_(facts), at_(now), now_(kube::to_micro_timestamp(now)) {
    if (const json::value* list = status_.if_contains("conditions"); list && list->is_array())
      conditions_ = list->get_array();
  }

  json::object write() {
    begin();
    const Stage stage = stage_of(facts_);
    tell_requeue(stage);
    go_to(stage);
    put_counters(stage);
    put_muster(stage);
    status_["conditions"] = std::move(conditions_);
    return std::move(status_);
  }

 private:
  std::string_view shown() const {
    const json::value* state = status_.if_contains("queuejobstate");
    return state != nullptr && state->is_string() ? std::string_view(state->get_string()) : "";
  }

  void begin() {
    if (!conditions_.empty()) return;
    status_["controllerfirsttimestamp"] = now_;
    status_["systempriority"] = facts_.ask.priority;
    status_["filterignore"] = true;
    add("Init");
    queue();
  }

  void queue() {
    add("Queueing", "AwaitingHeadOfLine");
    set("Pending", "Queueing", false, "before worker - setQueueing");
  }

  /// The list only grows; what is said again with the same reason takes the place of the first.
  void add(std::string_view type, std::string_view reason = "", std::string_view message = "") {
    json::object condition;
    condition["type"] = type;
    condition["status"] = "True";
    condition["lastUpdateMicroTime"] = now_;
    condition["lastTransitionMicroTime"] = now_;
    if (!reason.empty()) condition["reason"] = reason;
    if (!message.empty()) condition["message"] = message;
    const auto same = std::find_if(conditions_.begin(), conditions_.end(), [&](const auto& one) {
      return text_at(one, {"type"}) == type && text_at(one, {"reason"}) == reason;
    });
    if (same == conditions_.end()) {
      conditions_.push_back(std::move(condition));
    } else {
      *same = std::move(condition);
    }
  }

  void set(std::string_view state, std::string_view queue_state, bool can_run,
           std::string_view sender) {
    status_["state"] = state;
    status_["queuejobstate"] = queue_state;
    status_["canrun"] = can_run;
    status_["sender"] = sender;
  }

  static std::string_view name_of(Stage stage) {
    switch (stage) {
      case Stage::Refused:
      case Stage::Failed:
        return "Failed";
      case Stage::Queueing:
        return "Queueing";
      case Stage::Backoff:
        return "Backoff";
      case Stage::HeadOfLine:
        return "HeadOfLine";
      case Stage::Dispatched:
        return "Dispatched";
      case Stage::Holding:
        return "RunningHoldCompletion";
      case Stage::Completed:
        break;
    }
    return "Completed";
  }

  /// An attempt whose objects were made, or that had its turn, is back in the queue.
  void tell_requeue(Stage stage) {
    const bool was_out = shown() == "Dispatched" || shown() == "RunningHoldCompletion" ||
                         shown() == "HeadOfLine" || shown() == "Running";
    const bool is_back = stage == Stage::Queueing || stage == Stage::Backoff;
    const std::int64_t told = integer_at(json::value(status_), {"muster", "attempt"});
    const std::int64_t newest = facts_.row ? static_cast<std::int64_t>(facts_.row->attempt) : told;
    const bool is_another = told < newest;
    const bool came_back_and_left = was_out && is_another && !is_back && shown() != "HeadOfLine";
    if (!was_out || !(is_back || came_back_and_left)) return;
    if (shown() == "HeadOfLine" && facts_.could_not_be_made()) return;  // nothing of it was out
    const Requeue why = requeue();
    add("PreemptCandidate", why.reason, why.message);
    add("Backoff", "PreemptionTriggered", why.message);
    set("Pending", "Backoff", false, "before [backoff] - Rejoining");
    if (why.reason == "Held") return;  // no requeue: nothing went wrong
    const std::int64_t known = integer_at(json::value(status_), {"numberOfRequeueings"});
    const std::int64_t counted = std::max(known + 1, requeues_seen(is_back));
    status_["numberOfRequeueings"] = counted;
    if (why.reason == "MinPodsNotRunning") grow_wait(counted - known);
  }

  /// As the cluster counts them, so that those between two writes are not missed. Attempts alone
  /// say little: some could not be made, as the objects of the last one were still going.
  std::int64_t requeues_seen(bool is_back) const {
    if (!facts_.is_seen()) return 0;
    return facts_.sight->requeues + (is_back && facts_.is_made() ? 1 : 0);
  }

  /// How long it may wait for its pods the next time, as MCAD counts.
  void grow_wait(std::int64_t times) {
    const WrapperAsk& ask = facts_.ask;
    std::int64_t wait = integer_at(json::value(status_), {"requeueingTimeInSeconds"});
    const std::int64_t most =
        ask.wait_most.ms > 0 ? ask.wait_most.ms / 1000 : std::numeric_limits<std::int32_t>::max();
    for (std::int64_t i = 0; i < times && wait < most; ++i) {
      if (ask.wait_growth == work::GrowthType::Exponential)
        wait = wait == 0 ? ask.next_wait.ms / 1000 : wait * 2;
      if (ask.wait_growth == work::GrowthType::Linear) wait += ask.first_wait.ms / 1000;
    }
    if (wait > 0) status_["requeueingTimeInSeconds"] = std::min(wait, most);
  }

  Requeue requeue() const {
    if (!facts_.row) return {"Requeued", ""};
    const std::string& reason = facts_.row->reason;
    switch (facts_.row->why) {
      case EndWhy::Priority:
        return {"PreemptedByPriority", "A job of higher priority needs what it used."};
      case EndWhy::Reclaim:
        return {"QuotaReclaimed", "What it had borrowed was given back to its owner."};
      case EndWhy::Drain:
        return {"ClusterDrained", "Its cluster is being drained."};
      case EndWhy::Held:
      case EndWhy::Released:
        return {"Held", "It was put on hold."};
      case EndWhy::ClusterLost:
        return {"ClusterLost", "Its cluster is lost."};
      case EndWhy::None:  // it is out again by now
        if (!model::is_short_of_pods(facts_.row->ailment)) return {"Requeued", reason};
        return start_failure(reason);
      case EndWhy::StartFailed:
        return start_failure(reason);
      default:
        return {"Requeued", reason};
    }
  }

  /// What pods were there is what was written last: they are gone by now.
  Requeue start_failure(const std::string& reason) const {
    if (!model::is_short_of_pods(facts_.row->ailment)) return {"PodsLost", reason};
    const auto count = [&](std::string_view name) {
      return integer_at(json::value(status_), {name});
    };
    const bool has_run = count("running") + count("Succeeded") > 0;
    if (has_run || facts_.row->ailment != model::Ailment::Unplaced)
      return {"MinPodsNotRunning", reason};
    const std::int64_t failed = std::max<std::int64_t>(count("pending"), 1);
    return {"PodsFailedScheduling",
            fmt::format("Pods failed scheduling failed={}, running=0.", failed)};
  }

  void go_to(Stage stage) {
    if (shown() == name_of(stage) && !is_news(stage)) return;
    switch (stage) {
      case Stage::Refused:
        add("Failed", "ItemCreationFailure.", *facts_.refusal);
        return set("Failed", "Failed", false, "before manageQueueJob - afterEtcdDispatching");
      case Stage::Queueing:
        return shown() == "Backoff" ? void() : queue();
      case Stage::Backoff:
        return back_off();
      case Stage::HeadOfLine:
        add("HeadOfLine", "FrontOfQueue.");
        return set("Pending", "HeadOfLine", true, "before ScheduleNext - setCanRun");
      case Stage::Dispatched:
        return dispatch();
      case Stage::Holding:
        dispatch();
        add("RunningHoldCompletion", "SomeItemsCompleted");
        return set("RunningHoldCompletion", "RunningHoldCompletion", true,
                   "before [UpdateQueueJobs]  setRunningHoldCompletion");
      case Stage::Completed:
        dispatch();
        add("Completed", "PodsCompleted");
        return set("Completed", "Completed", false, "before [UpdateQueueJobs] setCompleted");
      case Stage::Failed:
        return fail();
    }
  }

  /// The same state again, but not the same thing.
  bool is_news(Stage stage) const {
    if (stage == Stage::Backoff && facts_.could_not_be_made()) return !has_said_why_not_made();
    const std::int64_t attempt = integer_at(json::value(status_), {"muster", "attempt"});
    return stage == Stage::Dispatched && facts_.row &&
           attempt < static_cast<std::int64_t>(facts_.row->attempt);
  }

  bool has_said_why_not_made() const {
    return std::any_of(conditions_.begin(), conditions_.end(), [&](const auto& one) {
      return text_at(one, {"type"}) == "Backoff" && text_at(one, {"message"}) == facts_.row->reason;
    });
  }

  void back_off() {
    if (shown() != "HeadOfLine") add("HeadOfLine", "FrontOfQueue.");
    const bool is_quota = facts_.wait->kind == WrapperWait::Kind::Quota;
    const bool is_nowhere = facts_.wait->kind == WrapperWait::Kind::NoCluster;
    if (facts_.could_not_be_made()) {
      add("Backoff", "AppWrapperNotRunnable.", facts_.row->reason);
    } else if (facts_.wait->kind == WrapperWait::Kind::NoKind ||
               facts_.wait->kind == WrapperWait::Kind::NoCheck) {
      add("Backoff", "AppWrapperNotRunnable.", *facts_.wait->sentence);
    } else if (is_quota) {
      add("Backoff", "quota limit exceeded",
          "Insufficient quota and/or resources to dispatch AppWrapper.");
    } else {
      add("Backoff", "AppWrapperNotRunnable.",
          is_nowhere ? "Cannot find a cluster with enough resources to dispatch AppWrapper."
                     : "Insufficient resources to dispatch AppWrapper.");
    }
    set("Pending", "Backoff", false, "before [backoff] - Rejoining");
  }

  void dispatch() {
    if (shown() == "Dispatched" && !is_news(Stage::Dispatched)) return;
    if (shown() == "RunningHoldCompletion") return;
    if (shown() != "HeadOfLine") add("HeadOfLine", "FrontOfQueue.");
    add("Dispatched", "AppWrapperRunnable");
    set("Running", "Dispatched", true, "before manageQueueJob - afterEtcdDispatching");
  }

  void fail() {
    const model::JobCourse& row = *facts_.row;
    if (row.why == EndWhy::RunLimit) {
      add("PreemptCandidate", "DispatchDeadlineExceeded",
          fmt::format("Dispatch deadline exceeded. allowed to run for {} seconds",
                      facts_.ask.run_limit.ms / 1000));
      return set("Failed", "Failed", false,
                 "before PreemptQueueJobs - CanRun: false -- DispatchDeadlineExceeded");
    }
    if (row.why == EndWhy::Cancelled) {
      add("Deleted", "Cancelled", "The job was cancelled.");
      return set("Deleted", "Deleted", false, "before muster - cancelled");
    }
    if (is_used_up(facts_)) {
      add("Deleted", "MaxNumRequeuingsReached", row.reason);
      return set("Deleted", "Deleted", false, "before PreemptQueueJobs - CanRun: false");
    }
    const bool was_made = facts_.is_made();
    if (was_made) dispatch();
    add("Failed", was_made ? "PodsFailed" : "ItemCreationFailure.", row.reason);
    set("Failed", "Failed", false, "before manageQueueJob - afterEtcdDispatching");
  }

  void put_number(std::string_view name, std::int64_t value) {
    if (value > 0) {
      status_[name] = clamped(value);
    } else {
      status_.erase(name);
    }
  }

  /// As Go leaves out what is nothing, but for canrun, which the SDK looks for.
  void put_counters(Stage stage) {
    const bool is_out = stage == Stage::Dispatched || stage == Stage::Holding ||
                        stage == Stage::Completed || stage == Stage::Failed;
    const ports::PodCounts pods = is_out ? facts_.sight->pods : ports::PodCounts{};
    const bool is_over = stage == Stage::Completed;
    if (!is_out || facts_.is_seen()) {  // after a restart what was written is the best there is
      put_number("pending", is_over ? 0 : pods.pending);
      put_number("running", is_over ? 0 : pods.running);
      put_number("failed", pods.failed);
      put_number("Succeeded", pods.succeeded);
    }
    if (!is_out || is_over || facts_.is_seen()) put_pending_pods(is_out && !is_over);
    if (is_out && facts_.ask.is_unread) return;
    if (!facts_.ask.is_unread) put_number("template", facts_.ask.min_available);
    put_number("totalcpu", is_out ? facts_.ask.totals.milli_cpu : 0);
    put_number("totalmemory", is_out ? facts_.ask.totals.memory : 0);
    put_number("totalgpu", is_out ? facts_.ask.totals.gpu : 0);
  }

  /// Why pods do not start; of those that have not even been made, whatever says so.
  void put_pending_pods(bool may_start) {
    const ports::AttemptSight& sight = *facts_.sight;
    json::array told;
    if (may_start && !facts_.is_removed()) {
      for (const ports::StuckPod& pod : sight.stuck_pods) told.push_back(pending_pod(pod));
      if (told.empty() && !sight.trouble.empty())
        told.push_back(pending_pod({.message = sight.trouble}));
    }
    if (told.empty()) {
      status_.erase("pendingpodconditions");
    } else {
      status_["pendingpodconditions"] = std::move(told);
    }
  }
  static json::object pending_pod(const ports::StuckPod& pod) {
    json::object condition{{"type", pod.is_on_node ? "Ready" : "PodScheduled"},
                           {"status", "False"}};
    if (!pod.reason.empty()) condition["reason"] = pod.reason;
    if (!pod.message.empty()) condition["message"] = pod.message;
    json::object entry{{"conditions", json::array{std::move(condition)}}};
    if (!pod.pod.empty()) entry["podname"] = pod.pod;
    return entry;
  }

  void put_muster(Stage stage) {
    const bool is_made_again = api::is_made_again(facts_, status_);
    status_["muster"] = muster_fields(facts_, status_);
    if (is_made_again) return;  // and waits for what it waited for
    const bool waits = stage == Stage::Backoff || !facts_.stuck->empty();
    const auto ours = std::find_if(conditions_.begin(), conditions_.end(), [](const auto& one) {
      return text_at(one, {"type"}) == "Waiting";
    });
    if (!waits && (ours == conditions_.end() || text_at(*ours, {"status"}) == "False")) return;
    const WaitingWords words = waiting_words(facts_);
    json::object condition;
    if (ours != conditions_.end()) condition = ours->as_object();
    const std::string_view status = waits ? "True" : "False";
    const bool is_same = condition.contains("reason") && text_at(condition, {"status"}) == status &&
                         text_at(condition, {"reason"}) == words.reason;
    // Numbers change all the time: the API has them.
    if (is_same && !has_old_estimate(text_at(*ours, {"message"}), at_)) return;
    condition["type"] = "Waiting";
    condition["status"] = status;
    condition["reason"] = words.reason;
    condition["message"] = words.message;
    condition["lastUpdateMicroTime"] = now_;
    if (!is_same) condition["lastTransitionMicroTime"] = now_;
    if (ours != conditions_.end()) {
      *ours = std::move(condition);
    } else {
      conditions_.push_back(std::move(condition));
    }
  }

  json::object status_;
  json::array conditions_;
  const WrapperFacts& facts_;
  const Time at_;
  const std::string now_;
};

}  // namespace

json::object status_v1beta1(const json::object& before, const WrapperFacts& facts, Time now) {
  return Writer(before, facts, now).write();
}

std::string_view known_state(const WrapperFacts& facts) {
  switch (stage_of(facts)) {
    case Stage::Queueing:
    case Stage::Backoff:
    case Stage::HeadOfLine:
      return "Pending";
    case Stage::Dispatched:
      return "Running";
    case Stage::Holding:
      return "RunningHoldCompletion";
    case Stage::Completed:
      return "Completed";
    case Stage::Failed:
      return is_deleted(facts) ? "Deleted" : "Failed";
    case Stage::Refused:
      break;
  }
  return "Failed";
}

bool is_dispatched_v1beta1(const json::object& status) {
  const auto* state = status.if_contains("state");
  if (state == nullptr || !state->is_string()) return false;
  const std::string_view text = state->get_string();
  return text == "Running" || text == "RunningHoldCompletion";
}

bool is_final_v1beta1(const json::object& status) {
  const auto* state = status.if_contains("state");
  if (state == nullptr || !state->is_string()) return false;
  const std::string_view text = state->get_string();
  return text == "Completed" || text == "Failed" || text == "Deleted";
}

}  // namespace muster::api
