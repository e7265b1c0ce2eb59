#include "clusters/kubernetes/workload_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>

#include "base/text.h"
#include "clusters/kubernetes/names.h"
#include "kube/json.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;
using kube::find;
using kube::items_at;
using kube::text_at;
using End = WorkloadSight::End;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_endless_kind(std::string_view kind) {
  return is_one_of(kind, {"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController",
                          "RayCluster", "RayService", "LeaderWorkerSet"});
}

std::string words_of(const json::value& from) {
  const std::string_view reason = text_at(from, {"reason"});
  const std::string_view message = text_at(from, {"message"});
  return fmt::format("{}{}{}", reason, reason.empty() || message.empty() ? "" : ": ", message);
}

void read_conditions(const json::value& object, WorkloadSight& sight) {
  for (const json::value& condition : items_at(object, {"status", "conditions"})) {
    const std::string_view type = text_at(condition, {"type"});
    const bool is_true = text_at(condition, {"status"}) == "True";
    // A Deployment that does not come up says so; it goes on trying.
    const bool is_stuck =
        !is_true && (type == "Progressing" || type == "Available") && sight.is_endless;
    if (is_stuck || (is_true && type == "ReplicaFailure")) sight.why = words_of(condition);
    if (!is_true || sight.is_endless) continue;
    if (is_one_of(type, {"Complete", "Completed", "Succeeded"})) sight.end = End::Complete;
    if (type == "Failed") {
      sight.end = End::Failed;
      sight.why = words_of(condition);
      return;
    }
  }
}

void read_ray_job(const json::value& object, WorkloadSight& sight) {
  const std::string_view job = text_at(object, {"status", "jobStatus"});
  const std::string_view deployment = text_at(object, {"status", "jobDeploymentStatus"});
  if (is_one_of(job, {"FAILED", "STOPPED"}) || deployment == "Failed") {
    sight.end = End::Failed;
    sight.why = fmt::format("{}{}{}", job.empty() ? deployment : job,
                            find(object, {"status", "message"}) ? ": " : "",
                            text_at(object, {"status", "message"}));
  } else if (job == "SUCCEEDED" || deployment == "Complete") {
    sight.end = End::Complete;
  }
}

void read_pod(const json::value& object, WorkloadSight& sight) {
  const std::string_view phase = text_at(object, {"status", "phase"});
  if (phase == "Succeeded") sight.end = End::Complete;
  if (phase == "Failed") {
    sight.end = End::Failed;
    sight.why = pod_sight_of(object).why;
  }
}

std::string about(const PodSight& pod) {
  return fmt::format("pod {}{}{}: {}", pod.name, pod.node.empty() ? "" : " on ", pod.node,
                     pod.why.empty() ? pod.phase : pod.why);
}

/// Where objects keep silent, pods speak: all succeeded, or one has failed and none of the others
/// is to be waited for.
End end_of_pods(const RootSight& root, const std::vector<PodSight>& pods) {
  const auto count = [&](std::string_view phase) {
    return std::count_if(pods.begin(), pods.end(),
                         [&](const PodSight& pod) { return pod.phase == phase; });
  };
  if (count("Failed") > 0) return End::Failed;
  return count("Succeeded") >= root.pods && root.pods > 0 ? End::Complete : End::None;
}

void fail(GangState& state, const WorkloadSight& bad, const std::vector<PodSight>& pods) {
  state.phase = GangPhase::Failed;
  state.exit_code = 1;
  state.reason = fmt::format("{} {}: {}", bad.kind, bad.name, bad.why.empty() ? "failed" : bad.why);
  for (const PodSight& pod : pods) {
    if (pod.phase != "Failed" || pod.exit_code == 0) continue;
    state.exit_code = pod.exit_code;
    state.reason += "; " + about(pod);
    return;
  }
}

}  // namespace

WorkloadSight workload_sight_of(const json::value& object, std::string kind) {
  WorkloadSight sight;
  sight.job = text_at(object, {"metadata", "annotations", job_annotation});
  const auto number =
      parse_int(text_at(object, {"metadata", "labels", attempt_label}), "", 0, 0xffffffff);
  if (number) sight.attempt = static_cast<std::uint32_t>(*number);
  sight.kind = std::move(kind);
  sight.name = kube::name_of(object);
  sight.is_deleting = find(object, {"metadata", "deletionTimestamp"}) != nullptr;
  sight.makes_pods = !text_at(object, {"metadata", "annotations", makes_pods_annotation}).empty();
  sight.is_endless = is_endless_kind(sight.kind);
  if (sight.kind == "RayJob") {
    read_ray_job(object, sight);
  } else if (sight.kind == "Pod") {
    read_pod(object, sight);
  } else {
    read_conditions(object, sight);
    sight.is_silent = !sight.is_endless && items_at(object, {"status", "conditions"}).empty();
    if (sight.kind == "Job") sight.is_silent = false;
  }
  return sight;
}

GangState workload_state_of(const RootSight& root, const std::vector<WorkloadSight>& all,
                            const std::vector<PodSight>& pods) {
  GangState state;
  state.has_live_pods =
      std::any_of(pods.begin(), pods.end(), [](const PodSight& pod) { return pod.is_live(); });
  std::vector<WorkloadSight> workloads = all;
  std::erase_if(workloads, [](const WorkloadSight& one) { return !one.makes_pods; });
  const auto disrupted =
      std::find_if(pods.begin(), pods.end(), [](const PodSight& pod) { return pod.is_disrupted; });
  if (disrupted != pods.end()) {
    state.phase = GangPhase::Disrupted;
    state.reason = about(*disrupted);
    return state;
  }
  for (WorkloadSight& one : workloads) {
    if (one.is_silent) one.end = end_of_pods(root, pods);
  }
  const auto bad = std::find_if(workloads.begin(), workloads.end(),
                                [](const WorkloadSight& one) { return one.end == End::Failed; });
  if (bad != workloads.end()) {
    fail(state, *bad, pods);
    state.is_ended = !state.has_live_pods && workloads.size() == 1;
    return state;
  }
  const auto deleting = std::find_if(workloads.begin(), workloads.end(),
                                     [](const WorkloadSight& one) { return one.is_deleting; });
  if (root.is_deleting || deleting != workloads.end()) {
    state.phase = GangPhase::Disrupted;
    state.reason = fmt::format("{} was deleted by somebody else",
                               deleting == workloads.end()
                                   ? "ConfigMap " + root.name
                                   : fmt::format("{} {}", deleting->kind, deleting->name));
    return state;
  }
  if (workloads.size() < root.workloads) {
    state.phase = GangPhase::Partial;
    state.reason = fmt::format("{} of its {} objects are there", workloads.size(), root.workloads);
    return state;
  }
  const bool has_end = std::any_of(workloads.begin(), workloads.end(),
                                   [](const WorkloadSight& one) { return !one.is_endless; });
  const bool are_done = std::all_of(workloads.begin(), workloads.end(), [](const auto& one) {
    return one.is_endless || one.end == End::Complete;
  });
  if (has_end && are_done) {
    state.phase = GangPhase::Succeeded;
    state.is_ended =
        !state.has_live_pods && std::none_of(workloads.begin(), workloads.end(),
                                             [](const auto& one) { return one.is_endless; });
    return state;
  }
  const auto well = std::count_if(pods.begin(), pods.end(), [](const PodSight& pod) {
    return pod.phase == "Succeeded" || (pod.phase == "Running" && pod.is_ready);
  });
  state.phase = well >= root.pods ? GangPhase::Running : GangPhase::Starting;
  if (state.phase == GangPhase::Running) return state;
  for (const PodSight& pod : pods) {
    if (pod.is_live() && !pod.why.empty()) state.reason = about(pod);
  }
  for (const WorkloadSight& one : workloads) {
    if (state.reason.empty() && !one.why.empty())
      state.reason = fmt::format("{} {}: {}", one.kind, one.name, one.why);
  }
  return state;
}

}  // namespace muster::clusters
