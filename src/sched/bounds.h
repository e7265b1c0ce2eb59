// Numbers that the engine can add up, and names that it can look up. People's input is checked
// where it comes in (model::validate, config), so what the journal and the clusters hold is within
// these bounds; whatever is not is refused as a whole, and breaks no sum and no table.
#pragma once

#include "model/event.h"

namespace muster::sched {

bool within_bounds(const model::Event& event);

}  // namespace muster::sched
