// The pods of one attempt while they run, from the side of their supervisor. All start or none: the
// pods are set up one by one, wait, and are let go together. The first that fails ends the gang;
// the others get TERM, and after the grace everything that the gang ever started gets KILL.
//
// Invariant: when start() says an end, or run() returns, no process of the gang is left. That
// includes daemons: the supervisor is the reaper of all its descendants (and each pod has a cgroup
// of its own where there are cgroups).
//
// Not thread-safe; one to a process, and that process has one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "clusters/local/attempt_files.h"
#include "clusters/local/pod_cgroup.h"
#include "clusters/local/pod_output.h"
#include "clusters/local/pod_process.h"

namespace muster::clusters {

class Gang {
 public:
  struct End {
    Outcome outcome = Outcome::None;
    int exit_code = 0;
    std::string reason;
  };

  /// `dir`: the absolute path of the attempt's directory. `signals`: a signalfd of SIGCHLD and
  /// SIGTERM. `control`: becomes readable when the gang is to stop.
  Gang(AttemptSpec spec, std::string dir, int signals, int control);

  /// Every program runs when this returns none.
  std::optional<End> start();
  /// Until nothing of it runs.
  End run();
  std::vector<PodState> states() const;

 private:
  struct Pod {
    PodSpec spec;
    std::string directory;  // it runs here
    std::string program;
    PodCgroup cgroup;
    PodProcess process;
    std::optional<OutputFile> output;
    PodState state;
    bool alive = false;
  };

  std::optional<End> prepare();
  Status prepare_pod(std::size_t rank, std::string_view peers);
  Status make_cgroup(std::size_t rank);
  Status fork_all(const Barrier& barrier);
  End failed_start(const Pod* pod, const Error& error);

  void stop(End end);
  void look();         // waits for something to happen, at the latest until the grace is over
  bool read_output();  // false: there was none
  void read_signals();
  bool reap();  // true: the supervisor has no child left
  void ended(Pod& pod, int status);
  void kill_everything();
  void clear();
  bool any_alive() const;

  AttemptSpec spec_;
  const std::string dir_;
  const int signals_;
  const int control_;
  std::vector<Pod> pods_;  // by rank
  std::optional<End> end_;
  Time kill_at_ = Time::never();  // by the monotonic clock
};

}  // namespace muster::clusters
