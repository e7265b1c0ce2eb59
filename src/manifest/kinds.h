// The kinds of Kubernetes objects that Muster knows by name: their API groups, and their plurals,
// by which RBAC and paths name them. Everything else is asked of a cluster. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace muster::manifest {

struct KnownKind {
  std::string_view group;   // "ray.io"
  std::string_view kind;    // "RayCluster"
  std::string_view plural;  // "rayclusters"
  /// A workload, or what goes with one, of a namespace, that gives nobody rights.
  bool is_usual = true;
};
/// In groups. A name may be there twice, in two API groups.
std::span<const KnownKind> known_kinds();

/// "batch/Job", "Pod": a kind as the configuration and people name it.
std::string kind_text(std::string_view group, std::string_view kind);

}  // namespace muster::manifest
