// Commands to try on a server with this configuration: they fit somewhere, and those whose output
// is worth seeing run where there is some. Pure.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace muster::config {

/// Whole command lines, one that prints and one that submits.
std::vector<std::string> example_jobs(const Config& config);

}  // namespace muster::config
