// One pod as a process: made and set up completely, then held at a barrier until its whole gang can
// go. Only for a process with one thread (the supervisor): it forks without exec. A pod that is the
// whole gang waits for nobody: its process borrows the supervisor's memory until its program runs,
// which saves most of the cost of a fork.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "clusters/files.h"
#include "clusters/local/attempt_files.h"
#include "clusters/local/pod_cgroup.h"

namespace muster::clusters {

/// Where all pods of a gang wait. One go per pod lets them run; without it, also when the
/// supervisor dies, they exit.
struct Barrier {
  Pipe pipe;
  bool open(std::size_t pods) const;
};

struct PodProcess {
  pid_t pid = 0;
  Fd out, err;  // to read from
  Fd report;    // what went wrong; ends when the program runs
};

/// What the program is: found as a shell would find it, in the pod's own PATH and directory.
struct Program {
  std::string path;
  int exit_code = 0;  // 127: there is none; 126: it cannot be executed
  std::string reason;
};
Program find_program(const PodSpec& pod, const std::string& directory);

struct PodSetup {
  const PodSpec& pod;
  const std::string& program;
  const std::string& directory;  // to run in
  const PodCgroup& cgroup;
  const Barrier& barrier;
  bool alone = false;            // the barrier is open already
  std::int64_t descriptors = 0;  // as in AttemptSpec
};
/// Forks. The child leads a process group of its own, dies with the supervisor, and waits.
Result<PodProcess> fork_pod(const PodSetup& setup);
/// Waits until the pod stands at the barrier, or says why it cannot.
Status wait_ready(const PodProcess& process);
/// Waits until the program runs, or says why it does not.
Status wait_running(const PodProcess& process);

}  // namespace muster::clusters
