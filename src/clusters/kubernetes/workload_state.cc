#include "clusters/kubernetes/workload_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <cctype>

#include "base/text.h"
#include "clusters/kubernetes/names.h"
#include "kube/json.h"

namespace muster::clusters {

namespace {

namespace json = boost::json;
using kube::find;
using kube::integer_at;
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

/// They say themselves when they are done.
bool has_known_end(std::string_view kind) {
  return is_one_of(kind, {"Job", "Pod", "JobSet", "RayJob", "PyTorchJob", "TFJob", "MPIJob",
                          "XGBoostJob", "PaddleJob", "JAXJob", "TrainJob"});
}

/// As MCAD finds a word of completionstatus in the type of a condition: anywhere, in any case.
bool has_word(std::string_view type, std::string_view word) {
  const auto is_same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  };
  return !word.empty() &&
         std::search(type.begin(), type.end(), word.begin(), word.end(), is_same) != type.end();
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

/// By what its list says of it; false: nothing.
bool read_named_conditions(const json::value& object, WorkloadSight& sight) {
  const json::value* named = find(object, {"metadata", "annotations", complete_when_annotation});
  if (named == nullptr || !named->is_string()) return false;
  const std::string_view words = {named->get_string().data(), named->get_string().size()};
  sight.is_endless = trim(words).empty();
  for (const json::value& condition : items_at(object, {"status", "conditions"})) {
    if (text_at(condition, {"status"}) != "True") continue;
    for (const std::string_view word : split(words, ',')) {
      if (has_word(text_at(condition, {"type"}), trim(word))) sight.end = End::Complete;
    }
  }
  return true;
}

void read_ray_job(const json::value& object, WorkloadSight& sight) {
  const std::string_view job = text_at(object, {"status", "jobStatus"});
  const std::string_view deployment = text_at(object, {"status", "jobDeploymentStatus"});
  // As long as KubeRay may try again, what the last try came to is not the end.
  const bool is_last = deployment.empty() || deployment == "Complete" ||
                       integer_at(object, {"spec", "backoffLimit"}) == 0;
  const bool has_failed = is_one_of(job, {"FAILED", "STOPPED"}) && is_last;
  if (has_failed || is_one_of(deployment, {"Failed", "ValidationFailed"})) {
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
  if (sight.kind == "Job") sight.succeeded = integer_at(object, {"status", "succeeded"});
  const auto has = [&](std::string_view annotation) {
    return find(object, {"metadata", "annotations", annotation}) != nullptr;
  };
  if (has(adopted_annotation)) sight.adopted_in = kube::namespace_of(object);
  sight.is_workload = has(makes_pods_annotation) || has(complete_when_annotation);
  if (read_named_conditions(object, sight)) return sight;
  sight.is_endless = is_endless_kind(sight.kind);
  if (sight.kind == "RayJob") {
    read_ray_job(object, sight);
  } else if (sight.kind == "Pod") {
    read_pod(object, sight);
  } else {
    read_conditions(object, sight);
    sight.is_silent = !sight.is_endless && !has_known_end(sight.kind) &&
                      items_at(object, {"status", "conditions"}).empty();
  }
  sight.is_vague = sight.end == End::None && !has_known_end(sight.kind);
  return sight;
}

namespace {

const WorkloadSight* first_of(const std::vector<WorkloadSight>& all, auto is_it) {
  const auto found = std::find_if(all.begin(), all.end(), is_it);
  return found == all.end() ? nullptr : &*found;
}

/// Of several the one speaks after which no other try is worth it.
void count_failed(const PodSight& pod, GangState& state) {
  const auto is_final = [&](int code) { return !is_worth_a_requeue(state.care.care, code); };
  const bool speaks = state.failed_pods == 0 || state.failed_code == 0 ||
                      (is_final(pod.exit_code) && !is_final(state.failed_code));
  ++state.failed_pods;
  if (!speaks) return;
  state.failed_code = pod.exit_code;
  state.failed_why = about(pod);
}

GangState counted(const RootSight& root, const std::vector<PodSight>& pods) {
  GangState state;
  state.care = root.care;
  const int enough = root.care.care.ready_pods;
  state.needed_pods = enough > 0 ? enough : root.pods;
  state.least_pods = enough > 0 ? enough : root.least_pods;
  // Where too few are borne for a time only, those that run count, as AppWrappers count them.
  const bool may_be_unready = root.care.has_limit();
  for (const PodSight& pod : pods) {
    state.has_live_pods |= pod.is_live();
    const bool is_well = may_be_unready ? !pod.is_deleting : pod.is_ready;
    state.ready_pods += pod.phase == "Running" && is_well ? 1 : 0;
    state.succeeded_pods += pod.phase == "Succeeded" ? 1 : 0;
    state.there_pods += pod.phase != "Failed" && !pod.is_deleting ? 1 : 0;
    if (pod.phase == "Failed") count_failed(pod, state);
  }
  return state;
}

/// Why pods are not ready.
void read_trouble(const std::vector<WorkloadSight>& workloads, const std::vector<PodSight>& pods,
                  GangState& state) {
  for (const PodSight& pod : pods) {
    if (!pod.is_live() || pod.why.empty()) continue;
    state.reason = about(pod);
    state.is_unplaced = pod.is_unplaced;
  }
  for (const WorkloadSight& one : workloads) {
    if (state.reason.empty() && !one.why.empty())
      state.reason = fmt::format("{} {}: {}", one.kind, one.name, one.why);
  }
}

/// Of those that are no workloads, if they are missed.
bool read_other_losses(const RootSight& root, const std::vector<WorkloadSight>& others,
                       GangState& state) {
  if (root.others == 0 || root.is_deleting) return false;
  const auto* deleting = first_of(others, [](const auto& one) { return one.is_deleting; });
  if (deleting != nullptr) {
    state.phase = GangPhase::Disrupted;
    state.is_missing = true;
    state.reason =
        fmt::format("{} {} was deleted by somebody else", deleting->kind, deleting->name);
  } else if (others.size() < root.others) {
    state.phase = GangPhase::Partial;
    state.reason = fmt::format("{} of its {} objects are there", root.workloads + others.size(),
                               root.workloads + root.others);
  }
  return state.phase == GangPhase::Disrupted || state.phase == GangPhase::Partial;
}

/// Whether somebody takes an object away, or all of them.
bool read_losses(const RootSight& root, const std::vector<WorkloadSight>& workloads,
                 GangState& state) {
  const auto* deleting = first_of(workloads, [](const auto& one) { return one.is_deleting; });
  if (root.is_deleting || deleting != nullptr) {
    const bool is_withdrawn = root.is_deleting && root.care.has_owner;
    state.phase = is_withdrawn ? GangPhase::Withdrawn : GangPhase::Disrupted;
    state.is_missing = !is_withdrawn;
    state.is_root_leaving = root.is_deleting;
    state.reason = fmt::format("{} was deleted by somebody else",
                               deleting == nullptr || is_withdrawn
                                   ? "ConfigMap " + root.name
                                   : fmt::format("{} {}", deleting->kind, deleting->name));
    return true;
  }
  if (workloads.size() < root.workloads) {
    state.phase = GangPhase::Partial;
    state.reason = fmt::format("{} of its {} objects are there", workloads.size(), root.workloads);
    return true;
  }
  return false;
}

/// Whether all that has an end has come to it, and well.
bool are_done(const std::vector<WorkloadSight>& workloads, const GangState& state,
              const RootSight& root) {
  if (root.care.care.ends_with_pods) {
    const bool have_pods_ended = root.pods > 0 && state.succeeded_pods >= root.pods &&
                                 !state.has_live_pods && state.failed_pods == 0;
    return !workloads.empty() &&
           std::all_of(workloads.begin(), workloads.end(), [&](const auto& one) {
             return one.end == End::Complete || (one.is_vague && have_pods_ended);
           });
  }
  const bool has_end =
      first_of(workloads, [](const auto& one) { return !one.is_endless; }) != nullptr;
  return has_end && std::all_of(workloads.begin(), workloads.end(), [](const auto& one) {
           return one.is_endless || one.end == End::Complete;
         });
}

void succeed(GangState& state, const std::vector<WorkloadSight>& workloads) {
  const model::ObjectCare& care = state.care.care;
  state.is_complete = true;
  state.phase = care.waits_for_pods && state.has_live_pods ? GangPhase::Running  // on hold
                                                           : GangPhase::Succeeded;
  const bool stays_as_it_is = care.keep_ended || first_of(workloads, [](const auto& one) {
                                                   return one.is_endless;
                                                 }) == nullptr;
  state.is_ended = !state.has_live_pods && stays_as_it_is;
  std::int64_t succeeded = 0;
  for (const WorkloadSight& one : workloads) succeeded += one.succeeded;
  state.lacks_pods = succeeded > state.succeeded_pods;
}

}  // namespace

GangState workload_state_of(const RootSight& root, const std::vector<WorkloadSight>& all,
                            const std::vector<PodSight>& pods) {
  GangState state = counted(root, pods);
  for (const WorkloadSight& one : all) {
    if (one.adopted_in.empty()) continue;
    state.adopted_in = one.adopted_in;
    ++state.adopted;
  }
  std::vector<WorkloadSight> workloads;
  std::vector<WorkloadSight> others;
  for (const WorkloadSight& one : all) (one.is_workload ? workloads : others).push_back(one);
  const auto disrupted =
      std::find_if(pods.begin(), pods.end(), [](const PodSight& pod) { return pod.is_disrupted; });
  // Whoever says how long fewer pods are borne has others made in their place until then.
  if (disrupted != pods.end() && !root.care.has_limit()) {
    state.phase = GangPhase::Disrupted;
    state.reason = about(*disrupted);
    return state;
  }
  for (WorkloadSight& one : workloads) {
    if (one.is_silent) one.end = end_of_pods(root, pods);
  }
  const auto* bad = first_of(workloads, [](const auto& one) { return one.end == End::Failed; });
  if (bad != nullptr) {
    fail(state, *bad, pods);
    const bool have_all_ended =
        first_of(workloads, [](const auto& one) { return one.end == End::None; }) == nullptr;
    state.is_ended = !state.has_live_pods &&
                     (workloads.size() == 1 || (root.care.care.keep_ended && have_all_ended));
    return state;
  }
  if (read_losses(root, workloads, state)) return state;
  const bool is_done = are_done(workloads, state, root);
  if (!is_done && read_other_losses(root, others, state)) return state;
  if (is_done) {
    succeed(state, workloads);
    return state;
  }
  const bool has_started = root.care.care.starts_when_made || state.has_enough_pods();
  state.phase = has_started ? GangPhase::Running : GangPhase::Starting;
  if (!state.has_enough_pods()) read_trouble(workloads, pods, state);
  return state;
}

std::optional<GangState> own_rooted_state_of(const std::vector<JobSight>& jobs,
                                             const std::vector<PodSight>& pods) {
  for (const JobSight& job : jobs) {
    if (job.own_root) return workload_state_of(job.own_root->root, {job.own_root->workload}, pods);
  }
  const bool has_own_root =
      std::any_of(pods.begin(), pods.end(), [](const PodSight& pod) { return pod.is_own_rooted; });
  if (!has_own_root) return std::nullopt;
  GangState state;
  state.phase = GangPhase::Partial;
  state.is_rootless = true;
  state.reason = "its Job is not there";
  state.has_live_pods =
      std::any_of(pods.begin(), pods.end(), [](const PodSight& pod) { return pod.is_live(); });
  return state;
}

bool stays_when_ended(const GangState& state) {
  const bool goes = state.phase == GangPhase::Failed && state.care.care.keep_failed;
  return state.care.care.keep_ended && state.is_ended && !goes;
}

bool stays_when_failed(const GangState& state) {
  const auto& keep = state.care.care.keep_failed;
  return state.phase == GangPhase::Failed && state.is_ended && keep && keep->ms > 0;
}

}  // namespace muster::clusters
