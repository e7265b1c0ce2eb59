// How the binary ends when its command line could not be read, or when a command ended otherwise
// than well.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/host.h"

namespace muster::cli {

/// The exit code. Help that was asked for is written out; a wrong command line becomes one line
/// that says where to look, and 2.
int report(const CLI::App& app, const CLI::ParseError& error, const Host& host);

}  // namespace muster::cli
