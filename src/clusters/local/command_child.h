// The process of a command in a pod (pod_command.h), forked off a server with many threads: what it
// needs is made before, and between fork and exec only what is safe there is called.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "clusters/files.h"
#include "clusters/local/cgroup_base.h"

namespace muster::clusters {

struct CommandSetup {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // NAME=value
  std::string program;
  std::string directory;
  CgroupDirs cgroup;
  pid_t like = 0;  // the process whose limits it gets
  bool has_input = false;
  bool has_terminal = false;
};

/// Our ends. With a terminal `in` and `out` are both its master, and there is no `err`.
struct CommandChild {
  pid_t pid = 0;
  Fd in, out, err;
};

/// The child leads a session of its own and dies with the calling thread.
Result<CommandChild> fork_command(const CommandSetup& setup);

}  // namespace muster::clusters
