#include "view/event_json.h"

#include <array>
#include <boost/json.hpp>
#include <variant>

#include "model/amount.h"
#include "model/state.h"
#include "view/explain.h"

namespace muster::view {
namespace {

namespace json = boost::json;
using namespace model;

json::value time_value(Time t) { return t.is_never() ? json::value(nullptr) : json::value(t.ms); }

/// In the order of EventBody.
constexpr std::array<std::string_view, std::variant_size_v<model::AnyEvent>> kinds = {
    "submitted",
    "cancelled",
    "held",
    "released",
    "priority-changed",
    "queue-changed",
    "queue-set",
    "queue-removed",
    "pool-set",
    "fleet-pool-set",
    "cluster-set",
    "cluster-left",
    "placed",
    "stopped",
    "reserved",
    "reservation-dropped",
    "given-up",
    "started",
    "finished",
    "start-failed",
    "gone",
    "checkpointed",
    "cluster-health",
    "",
    "",
    "",
    "",
    "",
    "forgotten",
    "bound",
    "",
    "ailing"};

constexpr std::array<std::string_view, 5> stop_words = {
    "for a job of higher priority", "for a job inside its guaranteed amounts",
    "because its cluster is drained", "at its run-time limit", "because its cluster is lost"};
constexpr std::array<std::string_view, 3> give_up_words = {"a job it depends on failed",
                                                           "its deadline passed before it started",
                                                           "its retries are used up"};

/// Fills in what a kind has, and its sentence.
struct Fields {
  json::object& out;
  Time now;

  void text(std::string sentence) { out["text"] = valid_utf8(sentence); }
  void job(const std::string& id) { out["job"] = valid_utf8(id); }
  void attempt(const std::string& id, std::uint32_t number) {
    job(id);
    out["attempt"] = number;
  }

  std::size_t put_pods(const std::vector<PodPlace>& places) {
    json::array pods;
    for (const PodPlace& pod : places)
      pods.push_back(json::object{{"set", pod.set}, {"node", valid_utf8(pod.node)}});
    out["pods"] = std::move(pods);
    return places.size();
  }

  void operator()(const JobSubmitted& e) {
    job(e.spec.id);
    out["queue"] = valid_utf8(e.spec.queue);
    out["user"] = valid_utf8(e.spec.user);
    out["name"] = valid_utf8(e.spec.name);
    out["priority"] = e.spec.priority;
    text(fmt::format("job {} was submitted to queue {} by {}", e.spec.id, e.spec.queue,
                     e.spec.user));
  }
  void operator()(const JobCancelled& e) {
    job(e.job);
    text(fmt::format("job {} was cancelled", e.job));
  }
  void operator()(const JobHeld& e) {
    job(e.job);
    text(fmt::format("job {} is held{}", e.job, e.stops ? "; if it runs it is stopped" : ""));
  }
  void operator()(const JobReleased& e) {
    job(e.job);
    text(fmt::format("job {} was released", e.job));
  }
  void operator()(const PriorityChanged& e) {
    job(e.job);
    out["priority"] = e.priority;
    text(fmt::format("job {} has priority {} now", e.job, e.priority));
  }
  void operator()(const QueueChanged& e) {
    job(e.job);
    out["queue"] = valid_utf8(e.queue);
    text(fmt::format("job {} moved to queue {}", e.job, e.queue));
  }
  void operator()(const QueueSet& e) {
    out["queue"] = valid_utf8(e.spec.name);
    text(fmt::format("queue {} was set", e.spec.name));
  }
  void operator()(const QueueRemoved& e) {
    out["queue"] = valid_utf8(e.queue);
    text(fmt::format("queue {} was removed", e.queue));
  }
  void operator()(const PoolSet& e) {
    out["pool"] = valid_utf8(e.spec.name);
    out["cluster"] = valid_utf8(e.spec.cluster);
    text(fmt::format("pool {} of cluster {} was set", e.spec.name, e.spec.cluster));
  }
  void operator()(const FleetPoolSet& e) {
    out["pool"] = valid_utf8(e.spec.name);
    text(fmt::format("fleet pool {} was set", e.spec.name));
  }
  void operator()(const ClusterSet& e) {
    out["cluster"] = valid_utf8(e.spec.name);
    text(fmt::format("cluster {} was set", e.spec.name));
  }
  void operator()(const ClusterLeft& e) {
    out["cluster"] = valid_utf8(e.cluster);
    text(fmt::format("cluster {} left", e.cluster));
  }
  void operator()(const Placed& e) {
    attempt(e.job, e.attempt);
    out["cluster"] = valid_utf8(e.cluster);
    const std::size_t count = put_pods(e.pods);
    text(fmt::format("job {} was placed in cluster {}: {} {}", e.job, e.cluster, count,
                     count == 1 ? "pod" : "pods"));
  }
  void operator()(const Stopped& e) {
    attempt(e.job, e.attempt);
    if (!e.beneficiary.empty()) out["beneficiary"] = valid_utf8(e.beneficiary);
    text(fmt::format("job {} is stopped {}", e.job, stop_words[static_cast<std::size_t>(e.why)]));
  }
  void operator()(const Reserved& e) {
    job(e.job);
    out["cluster"] = valid_utf8(e.cluster);
    out["start_ms"] = time_value(e.start);
    text(fmt::format("nodes of cluster {} are reserved for job {}", e.cluster, e.job));
  }
  void operator()(const ReservationDropped& e) {
    job(e.job);
    text(fmt::format("the reservation of job {} was given back", e.job));
  }
  void operator()(const GivenUp& e) {
    job(e.job);
    text(fmt::format("job {} failed: {}", e.job, give_up_words[static_cast<std::size_t>(e.why)]));
  }
  void operator()(const Started& e) {
    attempt(e.job, e.attempt);
    text(fmt::format("job {} runs", e.job));
  }
  void operator()(const Finished& e) {
    attempt(e.job, e.attempt);
    out["success"] = e.success;
    out["exit_code"] = e.exit_code;
    text(e.success ? fmt::format("job {} finished", e.job)
                   : fmt::format("job {} failed with exit code {}{}{}", e.job, e.exit_code,
                                 e.reason.empty() ? "" : ": ", e.reason));
  }
  void operator()(const StartFailed& e) {
    attempt(e.job, e.attempt);
    text(fmt::format("job {} did not start and queues again{}{}", e.job,
                     e.reason.empty() ? "" : ": ", e.reason));
  }
  void operator()(const Ailing& e) {
    attempt(e.job, e.attempt);
    text(fmt::format("attempt {} of job {} is being removed: {}", e.attempt, e.job,
                     e.demise.reason));
  }
  void operator()(const Gone& e) {
    attempt(e.job, e.attempt);
    text(fmt::format("attempt {} of job {} is gone", e.attempt, e.job));
  }
  void operator()(const PodsBound& e) {
    attempt(e.job, e.attempt);
    const std::size_t count = put_pods(e.pods);
    text(fmt::format("job {}: the cluster bound its {} to other nodes than planned", e.job,
                     count == 1 ? "pod" : "pods"));
  }
  void operator()(const Checkpointed& e) {
    job(e.job);
    text(fmt::format("job {} saved its work", e.job));
  }
  void operator()(const ClusterHealth& e) {
    out["cluster"] = valid_utf8(e.cluster);
    out["health"] = health_text(e.health);
    text(fmt::format("cluster {} is {}", e.cluster, health_text(e.health)));
  }
  void operator()(const FinishedForgotten&) {
    text("jobs that finished a while ago are only in the tables now");
  }
  template <typename Sight>
  void operator()(const Sight&) {
    text("");
  }
};

/// Length of the valid sequence at the front; 0 if there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(1);  // overlong forms, surrogates, beyond the last character
  const bool bad = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                   (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
  return bad ? 0 : size;
}

}  // namespace

std::string job_row_json(const JobRow& row) {
  json::object out;
  out["id"] = valid_utf8(row.id);
  out["name"] = valid_utf8(row.name);
  out["user"] = valid_utf8(row.user);
  out["queue"] = valid_utf8(row.queue);
  out["state"] = to_text(row.state);
  out["priority"] = row.priority;
  out["attempt"] = row.attempt;
  out["submitted_ms"] = row.submitted.ms;
  out["pods"] = row.pods;
  out["gpus"] = quantity_text(row.gpus.v, Scale::Milli);
  out["cluster"] =
      row.cluster.empty() ? json::value(nullptr) : json::value(valid_utf8(row.cluster));
  out["started_ms"] = time_value(row.started);
  out["finished_ms"] = time_value(row.finished);
  out["why"] = to_text(row.why);
  out["exit_code"] = row.exit_code ? json::value(*row.exit_code) : json::value(nullptr);
  out["reason"] = valid_utf8(row.reason);
  out["failures"] = row.failures;
  out["max_retries"] = row.max_retries;
  out["run_limit_ms"] = row.run_limit.ms;
  out["sequence"] = row.submit;
  json::object labels;
  for (const auto& [key, value] : row.labels) labels[valid_utf8(key)] = valid_utf8(value);
  out["labels"] = std::move(labels);
  return json::serialize(out);
}

std::string_view event_kind(const EventBody& body) { return kinds[body.index()]; }

std::vector<std::string_view> event_kinds() {
  std::vector<std::string_view> all(kinds.begin(), kinds.end());
  std::erase(all, "");
  all.push_back(note_kind);
  return all;
}

std::optional<JobState> state_after(const EventBody& body) {
  if (const auto* submitted = std::get_if<JobSubmitted>(&body))
    return submitted->spec.held ? JobState::Held : JobState::Waiting;
  if (const auto* held = std::get_if<JobHeld>(&body); held != nullptr && !held->stops)
    return JobState::Held;
  if (std::holds_alternative<JobReleased>(body)) return JobState::Waiting;
  if (std::holds_alternative<Placed>(body)) return JobState::Starting;
  if (std::holds_alternative<Started>(body)) return JobState::Running;
  if (std::holds_alternative<GivenUp>(body)) return JobState::Failed;
  if (const auto* finished = std::get_if<Finished>(&body); finished != nullptr && finished->success)
    return JobState::Succeeded;
  return std::nullopt;
}

std::string event_json(const Event& event, std::uint64_t sequence, std::optional<JobState> state) {
  json::object out{
      {"sequence", sequence}, {"at_ms", event.at.ms}, {"kind", event_kind(event.body)}};
  std::visit(Fields{out, event.at}, event.body);
  if (state) out["state"] = to_text(*state);
  return json::serialize(out);
}

std::string note_json(const PodNote& note, std::uint64_t sequence) {
  json::object out;
  if (sequence > 0) out["sequence"] = sequence;
  out["at_ms"] = note.at.ms;
  out["kind"] = note_kind;
  out["job"] = valid_utf8(note.job);
  out["attempt"] = note.attempt;
  out["object"] = valid_utf8(note.object);
  out["reason"] = valid_utf8(note.reason);
  out["warning"] = note.is_warning;
  out["key"] = valid_utf8(note.key);
  out["text"] = valid_utf8(fmt::format("{}: {}: {}", note.object, note.reason, note.message));
  return json::serialize(out);
}

std::string notes_json(const std::vector<PodNote>& notes) {
  std::string out = "[";
  for (const PodNote& note : notes) {
    if (out.size() > 1) out += ',';
    out += note_json(note, 0);
  }
  return out + "]";
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t size = sequence_length(text);
    if (size == 0) {
      out += "\xef\xbf\xbd";
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

}  // namespace muster::view
