// `muster serve`: the server.
#pragma once

#include <CLI/CLI.hpp>

namespace muster::app {

void add_serve(CLI::App& app);

}  // namespace muster::app
