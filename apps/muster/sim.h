// `muster sim ...`: the simulator on the command line.
#pragma once

#include <CLI/CLI.hpp>

namespace muster::app {

void add_sim(CLI::App& app);

}  // namespace muster::app
