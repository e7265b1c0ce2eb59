// The server's end of run_supervisors(): a process started once, and again when it died.
// Not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "clusters/files.h"

namespace muster::clusters {

class Launcher {
 public:
  /// `command`: a program and arguments that call run_supervisors with the directory, which is
  /// added as the last argument.
  Launcher(std::vector<std::string> command, std::string directory)
      : command_(std::move(command)), directory_(std::move(directory)) {}
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  /// So that the first start does not wait for it.
  Status prepare();
  /// Has a supervisor take up this attempt; never waits for it. When too many are on their way
  /// nothing happens: nobody claims the attempt then, and it is to be started again.
  Status start(const std::string& name);

 private:
  void end();

  std::vector<std::string> command_;
  std::string directory_;
  Fd socket_;
  int pid_ = 0;
};

}  // namespace muster::clusters
