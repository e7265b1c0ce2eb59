// Runs a program to its end and returns what it printed, within limits of time and output. It gets
// no input, its own process group (so that its children end with it) and exactly the environment
// given.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace muster::kube {

struct Command {
  std::string program = {};  // with a slash: a path; without: looked up in PATH of this process
  std::vector<std::string> args = {};
  std::vector<std::pair<std::string, std::string>> env = {};
  Duration time_limit = seconds(60);
  std::size_t output_bytes_max = 1U << 20;
  /// Asked some times a second: true ends the program. May be empty.
  std::function<bool()> is_stopped = {};
};

struct CommandOutput {
  int exit_code = 0;        // 128 + the number of a signal
  std::string out = {};     // of standard output
  std::string errors = {};  // of standard error, its end when there was much
};

/// Blocks. Fault::NotFound: there is no such program; Unavailable: a limit was passed.
Result<CommandOutput> run_command(const Command& command);

/// The environment of this process with `more` on top.
std::vector<std::pair<std::string, std::string>> environment_with(
    const std::vector<std::pair<std::string, std::string>>& more);

}  // namespace muster::kube
