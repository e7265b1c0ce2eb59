// How the binary begins and ends: what it gives to CLI11, and what becomes of a command line that
// could not be read or a command that ended otherwise than well.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/host.h"

namespace muster::cli {

/// What stands before a word that CLI11 would take apart: one in brackets after `--`. add_words
/// takes it away again.
constexpr char shield = '\x01';
/// The words after the name of the program, as CLI::App::parse takes them: the last one first.
std::vector<std::string> shielded(std::vector<std::string> words);

/// The exit code. Help that was asked for is written out; a wrong command line becomes one line
/// that says where to look, and 2. One that stops at a noun gets help about it on the error stream.
int report(const CLI::App& app, const CLI::ParseError& error, const Host& host);

}  // namespace muster::cli
