// What a command sees of the machine: where it writes, the environment, the clock, the terminal.
// Tests put their own in place; system_host() is this process.
//
// Thread contract: a command calls all of it from one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace muster::cli {

struct Host {
  std::function<void(std::string_view)> out;
  std::function<void(std::string_view)> err;
  std::function<std::string(const std::string&)> variable;  // "" when it is not set
  std::function<Time()> now;
  std::function<void(Duration)> sleep;  // shorter when the user interrupts
  std::function<int()> interrupts;  // how often Ctrl-C was pressed, or TERM came; from the first
                                    // call on they do not end the process any more
  std::function<int()> columns;     // of the terminal; 0: there is none
  std::function<int()> rows;
  std::function<Result<std::string>(const std::string&)> read_file;  // "-" is the standard input
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool in_is_terminal = false;
  /// What comes on the standard input within that time, "" if nothing does; Fault::NotFound at its
  /// end. The one function that may be called from a thread of its own.
  std::function<Result<std::string>(Duration)> read_input;
  /// Every key as it is pressed, without echo and signals, until the handle goes away.
  std::function<std::shared_ptr<void>()> raw_terminal;
};

Host system_host();

/// Colours on a terminal that can show them, unless NO_COLOR says not to.
bool wants_color(const Host& host);

}  // namespace muster::cli
