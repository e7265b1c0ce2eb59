// The YAML of Kueue's performance generator (test/performance/scheduler/configs/*/generator.yaml).
#pragma once

#include <string>

#include "base/result.h"
#include "sim/workload.h"

namespace muster::sim {

/// `source` names the text in errors.
Result<Workload> read_kueue(const std::string& text, const std::string& source,
                            const ReadLimits& limits = {});

}  // namespace muster::sim
