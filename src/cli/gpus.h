// Idle and all GPUs of a cluster or a pool, by type, for people.
#pragma once

#include <string>

#include "cli/json.h"

namespace muster::cli {

/// "A100 3/8, H100 0/4"; "" without GPUs.
std::string gpus_text(const json::value& object);

}  // namespace muster::cli
