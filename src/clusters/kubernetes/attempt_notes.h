// What is told of an attempt beside the cluster's own events: what does not go, what does not come.
// Pure.
#pragma once

#include <string>

#include "base/time.h"
#include "clusters/kubernetes/gang_state.h"
#include "clusters/kubernetes/luggage.h"
#include "model/pod_note.h"
#include "ports/cluster.h"

namespace muster::clusters {

/// A pod that was deleted and does not go.
model::PodNote stuck_note(const PodSight& pod, Time now);
/// An object ("Job m-x-1") that stays when the last pod of its attempt is gone.
model::PodNote held_note(const ports::Attempt& attempt, const std::string& title, Time now);
/// What stays in the hub.
model::PodNote left_behind_note(const ports::Attempt& attempt, const LuggageNote& note, Time now);
/// The cluster does not take its objects, and is asked again: each of its reasons once.
model::PodNote not_made_note(const ports::Attempt& attempt, const std::string& why, Time now);

}  // namespace muster::clusters
