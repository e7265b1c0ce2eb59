// A program started for a benchmark, which says on its standard output when it is ready. It is
// waited for when the object goes away.
//
// Thread contract: one thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "clusters/files.h"

namespace muster::app {

class ChildProcess {
 public:
  struct Options {
    std::vector<std::string> words = {};  // the program and its arguments
    std::string hello = {};               // ready when it prints a line with this
    std::string error_file = {};          // gets its standard error; "": ours
  };
  ChildProcess() = default;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() { end(); }

  /// What follows the hello in its line. Unavailable if it ends before.
  Result<std::string> start(Options options);
  pid_t pid() const { return pid_; }
  /// Closes its standard input, which is to end it, and waits for that.
  void end();
  /// kill -9, and gone when it returns.
  void kill();

 private:
  Status spawn(Options options, int output);

  clusters::Fd input_;
  pid_t pid_ = 0;  // 0: none
};

}  // namespace muster::app
