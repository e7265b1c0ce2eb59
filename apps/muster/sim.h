// `muster sim ...`: the simulator on the command line.
#pragma once

#include <CLI/CLI.hpp>

void add_sim(CLI::App& muster);
