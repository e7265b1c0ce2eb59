#include "model/job_row.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace muster::model {
namespace {

constexpr std::array<std::string_view, 15> why_names = {"None",
                                                        "Success",
                                                        "Failure",
                                                        "Cancelled",
                                                        "StartFailed",
                                                        "Priority",
                                                        "Reclaim",
                                                        "Drain",
                                                        "RunLimit",
                                                        "ClusterLost",
                                                        "DependencyFailed",
                                                        "DeadlinePassed",
                                                        "RetriesExhausted",
                                                        "Held",
                                                        "Released"};

EndWhy why_of(StopWhy why) {
  switch (why) {
    case StopWhy::Priority:
      return EndWhy::Priority;
    case StopWhy::Reclaim:
      return EndWhy::Reclaim;
    case StopWhy::Drain:
      return EndWhy::Drain;
    case StopWhy::RunLimit:
      return EndWhy::RunLimit;
    case StopWhy::ClusterLost:
      return EndWhy::ClusterLost;
  }
  return EndWhy::None;
}

EndWhy why_of(FailWhy why) {
  switch (why) {
    case FailWhy::DependencyFailed:
      return EndWhy::DependencyFailed;
    case FailWhy::DeadlinePassed:
      return EndWhy::DeadlinePassed;
    case FailWhy::RetriesExhausted:
      return EndWhy::RetriesExhausted;
  }
  return EndWhy::None;
}

class Follower {
 public:
  Follower(JobCourse& row, Time at) : row_(row), at_(at) {}

  // ---- what people ask
  bool operator()(const JobCancelled&) {
    if (is_final(row_.state)) return false;
    if (!is_active(row_.state)) return end(JobState::Cancelled, EndWhy::Cancelled);
    if (is_cancelled()) return false;
    row_.state = JobState::Stopping;
    row_.why = EndWhy::Cancelled;
    return true;
  }
  bool operator()(const JobHeld& e) {
    if (!is_active(row_.state)) return move(JobState::Waiting, JobState::Held);
    const bool ends = row_.state == JobState::Stopping &&
                      (row_.why == EndWhy::Cancelled || row_.why == EndWhy::RunLimit);
    if (!e.stops || ends || is_held()) return false;
    row_.state = JobState::Stopping;
    row_.why = EndWhy::Held;
    return true;
  }
  bool operator()(const JobReleased&) {
    if (!is_held()) return move(JobState::Held, JobState::Waiting);
    row_.why = EndWhy::Released;
    return true;
  }
  bool operator()(const PriorityChanged& e) {
    if (is_final(row_.state) || row_.priority == e.priority) return false;
    row_.priority = e.priority;
    return true;
  }
  bool operator()(const QueueChanged& e) {
    if (is_final(row_.state) || is_active(row_.state) || row_.queue == e.queue) return false;
    row_.queue = e.queue;
    return true;
  }

  // ---- what the planner decided
  bool operator()(const Placed& e) {
    if (row_.state != JobState::Waiting || e.attempt != row_.attempt + 1) return false;
    row_.state = JobState::Starting;
    row_.attempt = e.attempt;
    row_.cluster = e.cluster;
    row_.pool = e.pool;
    row_.started = Time::never();
    row_.why = EndWhy::None;
    count_gpus(e.pods);
    return true;
  }
  bool operator()(const Stopped& e) {
    if (!is_current(e.attempt)) return false;
    if (e.why == StopWhy::ClusterLost)
      return !is_cancelled() && (is_held() ? stopped() : again(EndWhy::ClusterLost));
    if (row_.state == JobState::Stopping) return false;
    row_.state = JobState::Stopping;
    row_.why = why_of(e.why);
    return true;
  }
  bool operator()(const GivenUp& e) {
    if (is_final(row_.state) || is_active(row_.state)) return false;
    return end(JobState::Failed, why_of(e.why));
  }

  // ---- what came of it
  bool operator()(const Started& e) {
    if (!is_current(e.attempt) || row_.state != JobState::Starting) return false;
    row_.state = JobState::Running;
    row_.started = at_;
    return true;
  }
  bool operator()(const Finished& e) {
    if (!is_current(e.attempt)) return false;
    row_.exit_code = e.exit_code;
    row_.reason = e.reason;
    row_.ailment = e.ailment;
    if (e.success) return end(JobState::Succeeded, EndWhy::Success);
    if (row_.state == JobState::Stopping) return stopped();
    if (row_.failures >= row_.max_retries) return end(JobState::Failed, EndWhy::Failure);
    ++row_.failures;
    return again(EndWhy::Failure);
  }
  bool operator()(const StartFailed& e) {
    if (!is_current(e.attempt)) return false;
    row_.reason = e.reason;
    row_.ailment = e.ailment;
    return lost();
  }
  bool operator()(const Gone& e) {
    if (!is_current(e.attempt)) return false;
    row_.ailment = Ailment::None;
    return lost();
  }

  /// Not about a job, or nothing that a row shows.
  template <typename Other>
  bool operator()(const Other&) {
    return false;
  }

 private:
  bool is_current(std::uint32_t attempt) const {
    return is_active(row_.state) && row_.attempt == attempt;
  }
  /// What a share by memory comes to is known where it runs. A gang that starts with fewer pods
  /// still asks for all of its GPUs.
  void count_gpus(const std::vector<PodPlace>& pods) {
    if (pods.size() != row_.pods) return;
    row_.gpus = {0};
    for (const PodPlace& pod : pods) row_.gpus.v += std::popcount(pod.devices) * pod.each;
  }
  bool is_cancelled() const {
    return row_.state == JobState::Stopping && row_.why == EndWhy::Cancelled;
  }
  /// Being stopped to be held.
  bool is_held() const { return row_.state == JobState::Stopping && row_.why == EndWhy::Held; }
  bool move(JobState from, JobState to) {
    if (row_.state != from) return false;
    row_.state = to;
    return true;
  }
  bool again(EndWhy why) {
    row_.state = JobState::Waiting;
    row_.why = why;
    if (why != EndWhy::Failure && why != EndWhy::StartFailed) forget_trouble();
    return true;
  }
  /// Nothing went wrong with the newest attempt: what is said is of an older one.
  void forget_trouble() {
    row_.reason.clear();
    row_.ailment = Ailment::None;
  }
  bool end(JobState state, EndWhy why) {
    row_.state = state;
    row_.why = why;
    row_.finished = at_;
    return true;
  }
  bool lost() { return row_.state == JobState::Stopping ? stopped() : again(EndWhy::StartFailed); }
  /// The pods of a stopped attempt are gone.
  bool stopped() {
    if (row_.why == EndWhy::Cancelled) return end(JobState::Cancelled, row_.why);
    if (row_.why == EndWhy::RunLimit) return end(JobState::Failed, row_.why);
    if (row_.why != EndWhy::Held) return again(row_.why);
    forget_trouble();
    return move(JobState::Stopping, JobState::Held);
  }

  JobCourse& row_;
  Time at_;
};

}  // namespace

std::string_view to_text(EndWhy why) { return why_names[static_cast<std::size_t>(why)]; }

std::optional<EndWhy> parse_end_why(std::string_view text) {
  const auto* const it = std::find(why_names.begin(), why_names.end(), text);
  if (it == why_names.end()) return std::nullopt;
  return static_cast<EndWhy>(it - why_names.begin());
}

JobRow row_of(const JobSubmitted& event, Time at, std::uint64_t sequence) {
  const JobSpec& spec = event.spec;
  JobRow row;
  row.submit = sequence;
  row.id = spec.id;
  row.name = spec.name;
  row.user = spec.user;
  row.queue = spec.queue;
  row.priority = spec.priority;
  row.state = spec.held ? JobState::Held : JobState::Waiting;
  row.max_retries = static_cast<std::uint32_t>(std::max(0, spec.gang.max_retries));
  row.submitted = at;
  row.payload = spec.payload;
  row.run_limit = spec.run_limit;
  // A spec that was not validated may ask for anything: the totals stop at the largest number.
  __extension__ using Wide = __int128;
  Wide pods = 0;
  Wide gpus = 0;
  for (const PodSet& set : spec.gang.sets) {
    pods += set.count;
    const Wide each = set.pod.gpu.memory_each.v > 0 ? 1000 : set.pod.gpu.each.v;
    gpus += Wide{set.count} * set.pod.gpu.count * each;
  }
  row.pods = static_cast<std::uint32_t>(
      std::clamp<Wide>(pods, 0, std::numeric_limits<std::uint32_t>::max()));
  row.gpus = {static_cast<std::int64_t>(std::clamp<Wide>(gpus, 0, amount_max))};
  row.labels = event.labels;
  return row;
}

const std::string* job_of(const EventBody& body) {
  return std::visit(
      [](const auto& e) -> const std::string* {
        if constexpr (requires { e.spec.gang; }) {
          return &e.spec.id;
        } else if constexpr (requires { e.job; }) {
          return &e.job;
        } else {
          return nullptr;
        }
      },
      body);
}

bool follow(JobCourse& course, const Event& event) {
  return std::visit(Follower(course, event.at), event.body);
}

}  // namespace muster::model
