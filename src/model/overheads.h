// What RuntimeClasses cost.
#pragma once

#include <map>
#include <string>

#include "model/amount.h"

namespace muster::model {

/// What pods of a RuntimeClass take beside what their containers ask for, by its name.
using Overheads = std::map<std::string, Resources>;

}  // namespace muster::model
