#include "clusters/kubernetes/attempt_notes.h"

#include <fmt/format.h>

#include "kube/timestamp.h"

namespace muster::clusters {

namespace {

std::string stuck_words(const PodSight& pod) {
  if (!pod.is_live())
    return "it was deleted and has ended, but a finalizer keeps it; the job waits until it is gone";
  const std::string until =
      pod.forced_at.is_never()
          ? "what it takes stays counted until it goes, or the node is removed or tainted "
            "node.kubernetes.io/out-of-service"
          : "it is forced away at " + kube::to_timestamp(pod.forced_at);
  return fmt::format(
      "it was deleted, its grace is over, and node {} does not say that it ended; {}", pod.node,
      until);
}

}  // namespace

model::PodNote stuck_note(const PodSight& pod, Time now) {
  return {.job = pod.job,
          .attempt = pod.attempt,
          .at = now,
          .key = "stuck " + pod.uid,
          .object = "Pod " + pod.name,
          .reason = "StuckTerminating",
          .message = stuck_words(pod),
          .is_warning = true};
}

model::PodNote held_note(const ports::Attempt& attempt, const std::string& title, Time now) {
  return {.job = attempt.job,
          .attempt = attempt.number,
          .at = now,
          .key = fmt::format("stuck {} {}", attempt.number, title),
          .object = title,
          .reason = "StuckTerminating",
          .message =
              "it was deleted and its pods are gone, but a finalizer keeps it, or something "
              "that it owns; the job waits until it is gone",
          .is_warning = true};
}

model::PodNote left_behind_note(const ports::Attempt& attempt, const LuggageNote& note, Time now) {
  return {.job = attempt.job,
          .attempt = attempt.number,
          .at = now,
          .key = "luggage " + note.object,
          .object = note.object,
          .reason = "NotCopied",
          .message = note.message};
}

model::PodNote not_made_note(const ports::Attempt& attempt, const std::string& why, Time now) {
  return {.job = attempt.job,
          .attempt = attempt.number,
          .at = now,
          .key = "not made " + why,
          .object = fmt::format("Attempt {}", attempt.number),
          .reason = "NotMade",
          .message = fmt::format("the cluster did not take its objects and is asked again: {}",
                                 why.empty() ? "no reason was given" : why),
          .is_warning = true};
}

}  // namespace muster::clusters
