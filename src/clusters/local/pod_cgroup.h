// The cgroups of a pod where the machine lets us make them: everything the pod starts stays in
// them, so that all of it is found and ended, and cpu and memory are limited where the controllers
// are ours to use.
#pragma once

#include <sys/types.h>

#include <utility>

#include "base/result.h"
#include "clusters/local/cgroup_base.h"
#include "model/amount.h"

namespace muster::clusters {

/// Of a child: a copy, or the parent's own, which then waits until the child runs another program
/// or ends. The child may change nothing of it but its stack.
enum class Memory { Copied, Borrowed };

class PodCgroup {
 public:
  PodCgroup() = default;  // none
  /// Finds those that are there, without limits.
  explicit PodCgroup(CgroupDirs dirs) : dirs_(std::move(dirs)) {}
  /// In version 1 only those of which the pod has a limit.
  static Result<PodCgroup> make(CgroupDirs dirs, model::MilliCpu cpu, model::Bytes memory);

  bool limits_cpu() const { return limits_cpu_; }
  bool limits_memory() const { return limits_memory_; }
  /// Makes a child that is in it from its first moment; moving a process later costs milliseconds.
  /// Without a cgroup it stays in that of the parent. The child runs `child(of)` and exits with its
  /// result. Only for a process with one thread.
  pid_t fork_into(int (*child)(const void*), const void* of, Memory memory) const;
  /// Puts what runs in it already where version 1 limits its cpu, if nothing else is limited: that
  /// takes some ten milliseconds when nobody did so lately, for which no start waits. A pod whose
  /// memory is limited is in all of them from its first moment.
  void gather() const;
  void kill() const;
  /// No process is in it.
  bool is_empty() const;
  /// The kernel ended something in it because of the memory limit.
  bool ran_out_of_memory() const;
  void remove();

 private:
  bool limit_cpu(model::MilliCpu cpu) const;
  bool limit_memory(model::Bytes memory) const;

  CgroupDirs dirs_;
  bool limits_cpu_ = false;
  bool limits_memory_ = false;
};

}  // namespace muster::clusters
