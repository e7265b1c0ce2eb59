#include "clusters/kubernetes/sight_teller.h"

#include <algorithm>

namespace muster::clusters {

namespace {

constexpr std::size_t stuck_most = 10;

std::vector<ports::StuckPod> stuck_among(const std::vector<PodSight>& pods) {
  std::vector<ports::StuckPod> stuck;
  for (const PodSight& pod : pods) {
    if (!pod.is_live() || pod.is_deleting || pod.why.empty()) continue;
    const std::size_t message = pod.why_word == 0 ? 0 : pod.why_word + std::string(": ").size();
    stuck.push_back({pod.name, !pod.node.empty(), pod.why.substr(0, pod.why_word),
                     message < pod.why.size() ? pod.why.substr(message) : ""});
  }
  std::sort(stuck.begin(), stuck.end(), [](const auto& a, const auto& b) { return a.pod < b.pod; });
  if (stuck.size() > stuck_most) stuck.resize(stuck_most);
  return stuck;
}

}  // namespace

ports::PodCounts pod_counts(const std::vector<PodSight>& pods) {
  ports::PodCounts counts;
  for (const PodSight& pod : pods) {
    if (pod.phase == "Succeeded") {
      ++counts.succeeded;
    } else if (pod.phase == "Failed") {
      ++counts.failed;
    } else if (pod.is_deleting) {
      continue;
    } else if (pod.phase == "Running") {
      ++counts.running;
    } else {
      ++counts.pending;
    }
  }
  return counts;
}

void SightTeller::follow(const ports::Attempt& attempt) {
  if (sights_ != nullptr) told_.try_emplace(attempt);
}

bool SightTeller::follows(const ports::Attempt& attempt, const std::optional<GangState>& state) {
  if (state && state->care.has_hub) follow(attempt);
  return told_.contains(attempt);
}

void SightTeller::tell(const ports::Attempt& attempt, const std::optional<GangState>& state,
                       const std::vector<PodSight>& pods, const AttemptStand& stand) {
  const auto at = told_.find(attempt);
  if (at == told_.end()) return;
  ports::AttemptSight sight{.attempt = attempt, .cluster = cluster_, .is_made = stand.is_made};
  sight.ailment = stand.ailment;
  sight.needed_pods = stand.needed_pods;
  sight.kept_failure = stand.kept_failure;
  sight.pods = pod_counts(pods);
  sight.requeues = stand.requeues;
  if (at->second) {
    sight.is_complete = at->second->is_complete;
    sight.requeues = std::max(sight.requeues, at->second->requeues);
  }
  if (state && state->is_known) {
    sight.requeues = std::max(sight.requeues, state->care.requeues);
    sight.is_complete |= state->is_complete;
    const bool is_starting =
        state->phase == GangPhase::Starting || state->phase == GangPhase::Running;
    if (is_starting) sight.trouble = state->reason;
    if (is_starting && !sight.trouble.empty()) sight.stuck_pods = stuck_among(pods);
  }
  sight.is_removed = stand.demise.ailment != model::Ailment::None;
  sight.fails = stand.demise.fails;
  if (sight.is_removed) {
    sight.trouble = stand.demise.reason;
    sight.stuck_pods.clear();
  }
  if (at->second == sight) return;
  at->second = sight;
  sights_->seen(sight);
}

void SightTeller::forget(const std::function<bool(const ports::Attempt&)>& is_over) {
  std::erase_if(told_, [&](const auto& one) { return is_over(one.first); });
}

}  // namespace muster::clusters
