// Tells ports::AttemptSights how attempts stand that somebody on a hub cluster waits for: when
// anything of it changed, and only then. Of one thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "clusters/kubernetes/gang_state.h"
#include "ports/attempt_sights.h"

namespace muster::clusters {

/// What the book has to say of an attempt.
struct AttemptStand {
  bool is_made = false;
  model::Ailment ailment = model::Ailment::None;
  std::int64_t needed_pods = 0;
  int requeues = 0;  // before it
  model::Demise demise = {};
  std::string kept_failure = {};
};

ports::PodCounts pod_counts(const std::vector<PodSight>& pods);

class SightTeller {
 public:
  /// Null: nobody wants to hear it.
  SightTeller(std::string cluster, ports::AttemptSights* sights)
      : cluster_(std::move(cluster)), sights_(sights) {}

  /// The attempt is one of those.
  void follow(const ports::Attempt& attempt);
  /// Whether it is; of what was found its root says so, in the state.
  bool follows(const ports::Attempt& attempt, const std::optional<GangState>& state);
  /// Of one that it follows.
  void tell(const ports::Attempt& attempt, const std::optional<GangState>& state,
            const std::vector<PodSight>& pods, const AttemptStand& stand);
  void forget(const std::function<bool(const ports::Attempt&)>& is_over);

 private:
  const std::string cluster_;
  ports::AttemptSights* const sights_;
  std::map<ports::Attempt, std::optional<ports::AttemptSight>> told_;  // none: nothing yet
};

}  // namespace muster::clusters
