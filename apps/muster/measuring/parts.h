// What the parts of benchmarks have in common.
#pragma once

#include <string_view>
#include <vector>

#include "apps/muster/measuring/sheet.h"
#include "base/result.h"
#include "base/time.h"

namespace muster::app {

double median(std::vector<double> values);

/// Shown on a terminal only.
void bench_progress(std::string_view what);

}  // namespace muster::app
