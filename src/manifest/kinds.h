// The kinds of Kubernetes objects that Muster knows by name: their API groups, and their plurals,
// by which RBAC and paths name them. Everything else is asked of a cluster. Pure.
#pragma once

#include <boost/json/value.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// "ray.io/v1/RayCluster", "v1/Pod": a kind in one of its versions, as clusters serve it.
std::string served_kind(std::string_view api_version, std::string_view kind);
/// Of these objects, in order, each once; but for those that every Kubernetes serves.
std::vector<std::string> kinds_to_serve(std::span<const boost::json::value> objects);

}  // namespace muster::manifest
