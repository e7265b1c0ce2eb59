// `muster config ...`: looks at a configuration without a server.
#pragma once

#include <CLI/CLI.hpp>

namespace muster::app {

void add_config(CLI::App& app);

}  // namespace muster::app
