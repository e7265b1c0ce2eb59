// Where the cgroups of pods are made: below our own, in the unified hierarchy (version 2), and in
// the older ones (version 1) for the controllers that the unified one does not have.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::clusters {

/// A directory in each hierarchy; empty: none there. A machine may have both versions at once.
struct CgroupDirs {
  std::string unified;  // everything the pod starts is in it, and is killed by it
  std::string cpu;      // of version 1, if the unified one does not limit this
  std::string memory;   // as well

  std::array<const std::string*, 3> all() const { return {&unified, &cpu, &memory}; }
  friend bool operator==(const CgroupDirs&, const CgroupDirs&) = default;
};

/// Makes directories under our own cgroups in which cgroups of pods can be made, as far as we may
/// write there. In the unified hierarchy the cpu and memory controllers are handed down: a process
/// that is alone in a cgroup of its own (a service) moves into a leaf of it, `muster-server`,
/// because a cgroup with processes in it limits nothing below. Started in such a leaf it makes the
/// directory beside it. Version 1 has no such rule.
CgroupDirs make_cgroup_base(const std::string& name);
/// As long as a pod is in one it stays.
void remove_cgroup_base(const CgroupDirs& base);
/// Makes a directory of a base that somebody removed.
bool remake_base(const std::string& dir);

/// Writes down in the cluster's directory where its base is, so that others can remove it. One that
/// was written down before and is elsewhere goes.
Status note_cgroup_base(const std::string& directory, const CgroupDirs& base);
/// For who outlives a server: removes the base unless a server is there. One that comes at this
/// very moment may lose its own: whoever makes a cgroup in it makes it again.
void remove_unused_base(const std::string& directory);

/// The directories of a pod under the base.
CgroupDirs cgroups_of_pod(const CgroupDirs& base, const std::string& job, std::uint32_t attempt,
                          std::size_t rank);

/// Writes to a file of the kernel; false if it refuses.
bool tell_kernel(const std::string& path, std::string_view text);

}  // namespace muster::clusters
