#include "clusters/kubernetes/gang_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "clusters/kubernetes/names.h"
#include "clusters/kubernetes/workload_state.h"
#include "kube/json.h"
#include "kube/timestamp.h"
#include "manifest/pod_use.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;
using kube::find;
using kube::integer_at;
using kube::items_at;
using kube::text_at;

/// Job and attempt that an object belongs to.
template <typename Sight>
void read_owner(const json::value& object, Sight& into) {
  into.job = text_at(object, {"metadata", "annotations", job_annotation});
  const auto number =
      parse_int(text_at(object, {"metadata", "labels", attempt_label}), "attempt", 0, 0xffffffff);
  if (number) into.attempt = static_cast<std::uint32_t>(*number);
  into.name = kube::name_of(object);
  into.ns = kube::namespace_of(object);
  into.uid = kube::uid_of(object);
  into.is_deleting = find(object, {"metadata", "deletionTimestamp"}) != nullptr;
}

bool is_true(const json::value& object, std::string_view condition_type) {
  for (const json::value& condition : items_at(object, {"status", "conditions"})) {
    if (text_at(condition, {"type"}) == condition_type) {
      return text_at(condition, {"status"}) == "True";
    }
  }
  return false;
}

/// "reason: message" of whatever has both.
std::string words_of(const json::value& from) {
  const std::string_view reason = text_at(from, {"reason"});
  const std::string_view message = text_at(from, {"message"});
  return fmt::format("{}{}{}", reason, reason.empty() || message.empty() ? "" : ": ", message);
}

/// The same of a condition; "": there is none.
std::string words_at(const json::value& object, std::string_view condition_type) {
  for (const json::value& condition : items_at(object, {"status", "conditions"})) {
    if (text_at(condition, {"type"}) == condition_type) return words_of(condition);
  }
  return "";
}

/// The same, as what is wrong with a pod.
void put_why(const json::value& from, PodSight& pod) {
  pod.why = words_of(from);
  const std::size_t word = text_at(from, {"reason"}).size();
  pod.why_word = static_cast<std::uint8_t>(word <= 0xff ? word : 0);
}

/// Why a container ended badly, or does not start.
void read_container(const json::value& status, PodSight& pod) {
  if (const json::value* ended = find(status, {"state", "terminated"})) {
    const std::int64_t signal = integer_at(*ended, {"signal"});
    std::int64_t code = integer_at(*ended, {"exitCode"});
    if (code == 0 && signal > 0) code = 128 + signal;
    if (code == 0 || pod.exit_code != 0) return;
    pod.exit_code = static_cast<int>(code);
    const std::string words = words_of(*ended);
    pod.why = fmt::format("exit code {}{}{}", code, words.empty() ? "" : ", ", words);
    pod.why_word = 0;
  } else if (const json::value* waiting = find(status, {"state", "waiting"})) {
    // "ContainerCreating" is no trouble.
    const std::string_view reason = text_at(*waiting, {"reason"});
    const bool is_trouble = reason.ends_with("BackOff") || reason.starts_with("Err") ||
                            reason.find("Error") != std::string_view::npos ||
                            reason == "InvalidImageName";
    if (is_trouble && pod.why.empty()) put_why(*waiting, pod);
  }
}

/// Of a pod that no Job numbered it is made of its name: the same always, if not small.
std::uint32_t rank_of(const json::value& pod) {
  const auto index = parse_int(
      text_at(pod, {"metadata", "annotations", "batch.kubernetes.io/job-completion-index"}),
      "index", 0, 0x7fffffff);
  if (!index) return static_cast<std::uint32_t>(Hasher().add(kube::name_of(pod)).value() >> 40);
  std::int64_t first = 0;
  for (const json::value& container : items_at(pod, {"spec", "containers"})) {
    for (const json::value& one : items_at(container, {"env"})) {
      if (text_at(one, {"name"}) != "MUSTER_RANK_OFFSET") continue;
      if (const auto offset = parse_int(text_at(one, {"value"}), "offset", 0, 0x7fffffff)) {
        first = *offset;
      }
    }
  }
  return static_cast<std::uint32_t>(first + *index);
}

PodOutputSight output_of(const json::value& pod, bool is_over) {
  PodOutputSight output;
  const auto& containers = items_at(pod, {"spec", "containers"});
  if (containers.empty()) return output;
  output.container = text_at(containers.front(), {"name"});
  output.rank = rank_of(pod);
  for (const json::value& status : items_at(pod, {"status", "containerStatuses"})) {
    if (text_at(status, {"name"}) != output.container) continue;
    const bool has_ended = find(status, {"state", "terminated"}) != nullptr;
    output.has_begun = has_ended || find(status, {"state", "running"}) != nullptr ||
                       find(status, {"lastState", "terminated"}) != nullptr;
    // One that will be started again goes on in the same log.
    output.has_ended = has_ended && (is_over || text_at(pod, {"spec", "restartPolicy"}) == "Never");
  }
  return output;
}

bool leads(const json::value& pod) {
  const auto is = [&](std::string_view label, std::string_view value) {
    return text_at(pod, {"metadata", "labels", label}) == value;
  };
  return is("ray.io/node-type", "head") || is("training.kubeflow.org/job-role", "master") ||
         is("leaderworkerset.sigs.k8s.io/worker-index", "0");
}

/// A deletion's time is when its grace is over.
void read_deletion(const json::value& pod, Time leaves_by, PodSight& sight) {
  sight.leaves_by = leaves_by;
  const auto force_after = parse_int(
      text_at(pod, {"metadata", "annotations", force_after_annotation}), "", 0, 1'000'000'000'000);
  if (!force_after) return;
  const Duration grace = seconds(integer_at(pod, {"metadata", "deletionGracePeriodSeconds"}));
  sight.forced_at = leaves_by - grace + Duration{*force_after};
}

/// GPUs and the like: their names have a domain.
void read_devices(const json::value& pod, PodSight& sight) {
  for (const std::string_view list : {"containers", "initContainers"}) {
    for (const json::value& container : items_at(pod, {"spec", list})) {
      for (const std::string_view kind : {"requests", "limits"}) {
        for (const auto& [name, amount] : kube::map_at(container, {"resources", kind})) {
          const std::string device(name);
          const bool is_none = amount == json::value("0") || amount == json::value(0);
          if (is_none || device.find('/') == std::string::npos) continue;
          if (std::find(sight.devices.begin(), sight.devices.end(), device) == sight.devices.end())
            sight.devices.push_back(device);
        }
      }
    }
  }
}

std::string about(const PodSight& pod) {
  return fmt::format("pod {}{}{}: {}", pod.name, pod.node.empty() ? "" : " on ", pod.node,
                     pod.why.empty() ? pod.phase : pod.why);
}

}  // namespace

JobSight job_sight_of(const json::value& job) {
  JobSight sight;
  read_owner(job, sight);
  sight.completions = integer_at(job, {"spec", "completions"}, 1);
  sight.succeeded = integer_at(job, {"status", "succeeded"});
  const auto sets =
      parse_int(text_at(job, {"metadata", "annotations", sets_annotation}), "sets", 1, 1 << 20);
  if (sets) sight.sets = static_cast<std::size_t>(*sets);
  for (const json::value& condition : items_at(job, {"status", "conditions"})) {
    if (text_at(condition, {"status"}) != "True") continue;
    const std::string_view type = text_at(condition, {"type"});
    if (type == "Complete") sight.end = JobSight::End::Complete;
    if (type == "Failed") {
      sight.end = JobSight::End::Failed;
      sight.why = words_of(condition);
      sight.is_out_of_tries = text_at(condition, {"reason"}) == "BackoffLimitExceeded";
    }
  }
  sight.is_listed = find(job, {"metadata", "annotations", workloads_annotation}) != nullptr;
  if (auto root = own_root_of(job)) {
    sight.own_root = std::make_shared<const OwnRootedJob>(
        OwnRootedJob{std::move(*root), workload_sight_of(job, "Job")});
  }
  return sight;
}

PodSight pod_sight_of(const json::value& pod) {
  PodSight sight;
  read_owner(pod, sight);
  sight.node = text_at(pod, {"spec", "nodeName"});
  const auto set = parse_int(text_at(pod, {"metadata", "annotations", set_index_annotation}), "set",
                             0, 0xffffffff);
  if (set) sight.set = static_cast<std::uint32_t>(*set);
  sight.phase = text_at(pod, {"status", "phase"});
  const auto leaves_by =
      kube::parse_timestamp(text_at(pod, {"metadata", "deletionTimestamp"}), "deletionTimestamp");
  if (leaves_by) read_deletion(pod, *leaves_by, sight);
  read_devices(pod, sight);
  sight.asks = manifest::pod_requests_of(pod);
  sight.leads = leads(pod);
  sight.is_listed = find(pod, {"metadata", "annotations", workloads_annotation}) != nullptr;
  sight.is_own_rooted = find(pod, {"metadata", "annotations", root_annotation}) != nullptr;
  sight.is_ready = is_true(pod, "Ready");
  for (const json::value& condition : items_at(pod, {"status", "conditions"})) {
    const bool is_unplaced =
        text_at(condition, {"type"}) == "PodScheduled" && text_at(condition, {"status"}) == "False";
    if (is_unplaced) put_why(condition, sight);
    sight.is_unplaced |= is_unplaced && text_at(condition, {"reason"}) == "Unschedulable";
  }
  sight.output = output_of(pod, !sight.is_live());
  for (const json::value& status : items_at(pod, {"status", "initContainerStatuses"})) {
    read_container(status, sight);
  }
  for (const json::value& status : items_at(pod, {"status", "containerStatuses"})) {
    read_container(status, sight);
  }
  const std::string_view reason = text_at(pod, {"status", "reason"});
  sight.is_disrupted = is_true(pod, "DisruptionTarget") || reason == "Evicted" ||
                       reason == "NodeLost" || reason == "Preempting" || reason == "Shutdown" ||
                       reason == "NodeShutdown" || reason == "UnexpectedAdmissionError";
  if (sight.is_disrupted || (sight.why.empty() && sight.phase == "Failed")) {
    std::string words = words_of(*find(pod, {"status"}));
    // Whoever evicts a pod by the API, or preempts it, says so only there.
    if (words.empty()) words = words_at(pod, "DisruptionTarget");
    if (!words.empty()) {
      sight.why = words;
      sight.why_word = 0;
    }
  }
  return sight;
}

OverduePods overdue_among(const std::vector<PodSight>& pods,
                          const std::function<bool(const std::string& node)>& is_lost, Time now) {
  constexpr Duration patience = seconds(30);  // a kubelet may be slow
  OverduePods overdue;
  for (const PodSight& pod : pods) {
    if (!pod.is_deleting || pod.leaves_by.is_never()) continue;
    if (now >= pod.forced_at) {
      overdue.forced.push_back(pod);
      continue;
    }
    if (now < pod.leaves_by + patience) continue;
    (!pod.node.empty() && is_lost(pod.node) ? overdue.lost : overdue.stuck).push_back(pod);
  }
  return overdue;
}

bool is_of_a_list(const std::vector<JobSight>& jobs, const std::vector<PodSight>& pods) {
  const auto is_listed = [](const auto& one) { return one.is_listed; };
  return std::any_of(jobs.begin(), jobs.end(), is_listed) ||
         std::any_of(pods.begin(), pods.end(), is_listed);
}

bool is_taken_away(const PodSight& pod) { return pod.phase != "Succeeded" && !pod.is_listed; }

namespace {

/// Whether pods of Jobs that failed were taken away, though nobody saw that: a pod that failed by
/// itself stays until its Job is deleted, and may only not be seen yet.
bool are_pods_lost(const std::vector<JobSight>& jobs, const std::vector<PodSight>& pods) {
  std::int64_t wanted = 0;
  for (const JobSight& job : jobs) {
    if (job.end == JobSight::End::Failed && !job.is_out_of_tries) return false;
    wanted += job.completions;
  }
  return static_cast<std::int64_t>(pods.size()) < wanted;
}

/// Why it ends before its time, if it does: somebody took a pod or a Job away, or one failed.
void read_trouble(const std::vector<JobSight>& jobs, const std::vector<PodSight>& pods,
                  const std::string& taken, GangState& state) {
  const auto disrupt = [&](std::string why) {
    state.phase = GangPhase::Disrupted;
    state.reason = std::move(why);
  };
  const auto first = [](const auto& all, const auto& is_it) {
    const auto found = std::find_if(all.begin(), all.end(), is_it);
    return found == all.end() ? nullptr : &*found;
  };
  // A pod that was taken away fails its Job as well: what came first is the cause.
  const auto* disrupted = first(pods, [](const PodSight& pod) { return pod.is_disrupted; });
  if (disrupted != nullptr) return disrupt(about(*disrupted));
  // Whoever is deleted fails too, by the signal that ends it. A Job deletes the others of a pod
  // that failed, never that pod itself.
  const auto* failed =
      first(pods, [](const PodSight& pod) { return pod.phase == "Failed" && !pod.is_deleting; });
  const auto* deleted =
      first(pods, [](const PodSight& pod) { return pod.is_deleting && is_taken_away(pod); });
  const auto* deleting = first(jobs, [](const JobSight& job) { return job.is_deleting; });
  if (failed == nullptr && deleting != nullptr)
    return disrupt(fmt::format("Job {} was deleted by somebody else", deleting->name));
  if (failed == nullptr && (deleted != nullptr || !taken.empty())) {
    return disrupt(fmt::format("pod {} was deleted by somebody else",
                               deleted != nullptr ? deleted->name : taken));
  }
  const auto* bad_job =
      first(jobs, [](const JobSight& job) { return job.end == JobSight::End::Failed; });
  if (failed != nullptr || bad_job != nullptr) {
    state.phase = GangPhase::Failed;
    state.is_guess = failed == nullptr;
    state.is_loss = state.is_guess && are_pods_lost(jobs, pods);
    state.exit_code = failed != nullptr && failed->exit_code != 0 ? failed->exit_code : 1;
    state.reason =
        failed != nullptr ? about(*failed) : "Job " + bad_job->name + ": " + bad_job->why;
  }
}

}  // namespace

GangState gang_state_of(const std::vector<JobSight>& jobs, const std::vector<PodSight>& pods,
                        const std::string& taken) {
  GangState state;
  state.has_live_pods =
      std::any_of(pods.begin(), pods.end(), [](const PodSight& pod) { return pod.is_live(); });
  if (jobs.empty() && pods.empty()) return state;

  std::size_t expected = 1;
  for (const JobSight& job : jobs) expected = std::max(expected, job.sets);
  const bool are_all_complete =
      jobs.size() >= expected && std::all_of(jobs.begin(), jobs.end(), [](const JobSight& job) {
        return job.end == JobSight::End::Complete;
      });
  state.is_ended = jobs.size() >= expected && !state.has_live_pods &&
                   std::all_of(jobs.begin(), jobs.end(),
                               [](const JobSight& job) { return job.end != JobSight::End::None; });
  if (are_all_complete) {
    state.phase = GangPhase::Succeeded;
    std::int64_t succeeded = 0;
    for (const JobSight& job : jobs) succeeded += job.succeeded;
    state.lacks_pods = succeeded > std::count_if(pods.begin(), pods.end(), [](const auto& pod) {
                         return pod.phase == "Succeeded";
                       });
    return state;
  }
  read_trouble(jobs, pods, taken, state);
  if (state.phase != GangPhase::Absent) return state;

  if (jobs.size() < expected) {
    state.phase = GangPhase::Partial;
    state.reason = fmt::format("{} of its {} Jobs are there", jobs.size(), expected);
    return state;
  }
  std::int64_t wanted = 0;
  for (const JobSight& job : jobs) wanted += job.completions;
  const auto well = std::count_if(pods.begin(), pods.end(), [](const PodSight& pod) {
    return pod.phase == "Succeeded" || (pod.phase == "Running" && pod.is_ready);
  });
  const bool are_all_there = well >= wanted && wanted > 0;
  state.phase = are_all_there ? GangPhase::Running : GangPhase::Starting;
  if (!are_all_there) {
    const auto stuck = std::find_if(pods.begin(), pods.end(), [](const PodSight& pod) {
      return pod.is_live() && !pod.why.empty();
    });
    if (stuck != pods.end()) state.reason = about(*stuck);
    state.is_unplaced = stuck != pods.end() && stuck->is_unplaced;
  }
  return state;
}

}  // namespace muster::clusters
