// A simulation as one HTML file that needs nothing else: pictures are SVG made here.
#pragma once

#include <string>

#include "sim/simulation.h"
#include "sim/summary.h"
#include "sim/workload.h"

namespace muster::sim {

std::string html_report(const Workload& workload, const Outcome& outcome, std::uint64_t seed);

}  // namespace muster::sim
