// The state of a job as it stands in a sentence: "waiting". In JSON it is "Waiting".
#pragma once

#include <string>

#include "model/state.h"

namespace muster::view {

std::string state_word(model::JobState state);

}  // namespace muster::view
