// A line on the standard error that is written over again while a command works, on a terminal
// only. It goes away with the object, or when something else is to be written.
//
// Thread contract: one thread.
#pragma once

#include <cstddef>
#include <string>

#include "cli/host.h"

namespace muster::cli {

class ProgressLine {
 public:
  explicit ProgressLine(const Host& host) : host_(&host) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Cut to the width of the terminal.
  void show(std::string text);
  void clear();

 private:
  const Host* host_;
  std::size_t shown_ = 0;  // bytes on the line
};

}  // namespace muster::cli
