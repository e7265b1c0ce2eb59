// A command run for somebody in a pod of this machine: a process beside the pod's own, in the pod's
// directory, environment, limits and cgroup, with pipes or a terminal of its own. It ends with the
// pod, with the server, and when it is cancelled: its whole process group is killed.
//
// Thread contract: LocalCommands from any thread; each command has a thread, which calls back.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"
#include "clusters/local/attempt_files.h"
#include "ports/pod_commands.h"

namespace muster::clusters {

class PodCommandProcess;

/// The commands of a cluster.
class LocalCommands {
 public:
  LocalCommands() = default;
  LocalCommands(const LocalCommands&) = delete;
  LocalCommands& operator=(const LocalCommands&) = delete;
  /// Ends those that run, and waits for it.
  ~LocalCommands();

  /// `dir`: of the attempt.
  Result<std::shared_ptr<ports::PodCommandSession>> run(const std::string& dir,
                                                        const ports::PodCommand& command,
                                                        ports::PodCommandCallbacks callbacks);

 private:
  struct Running {
    std::shared_ptr<PodCommandProcess> process;
    std::thread thread;
  };
  void join_ended();

  std::mutex mutex_;
  std::list<Running> running_;  // guarded by mutex_
};

}  // namespace muster::clusters
