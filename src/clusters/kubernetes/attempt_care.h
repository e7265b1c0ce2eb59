// How one attempt at a list of objects is looked after: what its job says, and what its own past
// adds. Written on the root, so that a server that starts again goes on in the same way. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "base/time.h"
#include "model/command.h"

namespace muster::clusters {

struct AttemptCare {
  model::ObjectCare care = {};
  bool has_hub = false;    // somebody waits to hear how it stands
  bool has_owner = false;  // its root goes with an object that is not ours
  int requeues = 0;        // of the job before it, because pods were not ready in time
  friend bool operator==(const AttemptCare&, const AttemptCare&) = default;

  bool may_be_requeued() const { return care.requeues_most < 0 || requeues < care.requeues_most; }
  /// Whether fewer ready pods than it needs are borne for a time only, also after it has started.
  bool has_limit() const { return care.ready_pods > 0 || care.ready_within.ms > 0; }
};

/// How long the attempt after so many requeues may take to get ready: t, t, 2t, 4t... or t, t, 2t,
/// 3t..., as MCAD has it. `otherwise`: of those that do not say.
Duration ready_limit(const model::ObjectCare& care, int requeues, Duration otherwise);

/// Whether trying again may help a gang that failed with this exit code.
bool is_worth_a_requeue(const model::ObjectCare& care, int exit_code);

/// "Insufficient number of Running and Completed pods, ...": MCAD's words, which its users' tools
/// look for.
std::string too_few_pods(std::int64_t minimum, std::int64_t running, std::int64_t completed);

std::string care_text(const model::ObjectCare& care);
/// What does not read is as if it was not said.
model::ObjectCare parse_care(std::string_view text);

}  // namespace muster::clusters
