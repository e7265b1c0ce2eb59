// A cgroup (version 2) of each pod where the machine lets us make one: everything the pod starts
// stays in it, so that all of it is found and ended, and cpu and memory are limited where the
// controllers are ours to use.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "model/amount.h"

namespace muster::clusters {

/// A directory under our own cgroup in which cgroups of pods can be made, with the cpu and memory
/// controllers handed down as far as that is allowed; empty where cgroups cannot be written. A
/// process that is alone in a cgroup of its own (a service) moves into a leaf of it,
/// `muster-server`: a cgroup with processes in it limits nothing below. Started in such a leaf it
/// makes the directory beside it.
std::string make_cgroup_base(const std::string& name);

/// Of a child: a copy, or the parent's own, which then waits until the child runs another program
/// or ends. The child may change nothing of it but its stack.
enum class Memory { Copied, Borrowed };

class PodCgroup {
 public:
  PodCgroup() = default;  // none
  /// Finds one that is there, without limits.
  explicit PodCgroup(std::string dir) : dir_(std::move(dir)) {}
  static Result<PodCgroup> make(std::string dir, model::MilliCpu cpu, model::Bytes memory);

  bool exists() const { return !dir_.empty(); }
  bool limits_cpu() const { return limits_cpu_; }
  bool limits_memory() const { return limits_memory_; }
  /// Makes a child that is in it from its first moment; moving a process later costs milliseconds.
  /// Without a cgroup it stays in that of the parent. The child runs `child(of)` and exits with its
  /// result. Only for a process with one thread.
  pid_t fork_into(int (*child)(const void*), const void* of, Memory memory) const;
  void kill() const;
  /// No process is in it.
  bool is_empty() const;
  /// The kernel ended something in it because of the memory limit.
  bool ran_out_of_memory() const;
  void remove();

 private:
  std::string dir_;
  bool limits_cpu_ = false;
  bool limits_memory_ = false;
};

/// The directory of a pod's cgroup under the base.
std::string cgroup_path(const std::string& base, const std::string& job, std::uint32_t attempt,
                        std::size_t rank);

}  // namespace muster::clusters
