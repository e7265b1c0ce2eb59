// Scripts that let a shell complete commands and options, made from the tree of commands itself,
// and names that the server knows, for which they ask `muster complete-names`. Pure.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/result.h"

namespace muster::cli {

/// For bash, zsh or fish.
Result<std::string> completion_script(const CLI::App& app, const std::string& shell);

}  // namespace muster::cli
