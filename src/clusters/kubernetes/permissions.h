// What Muster may do in a Kubernetes cluster, each rule once: the check before a join, the manifest
// that `muster cluster rbac` prints and the table of docs/kubernetes.md are all made of it. Pure.
//
// Nothing needs cluster-admin. Reading nodes and pods is needed everywhere, everything else in the
// namespaces where jobs are made.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/access_review.h"

namespace muster::clusters {

/// A kind of lists of objects, as RBAC names it.
struct KindRule {
  std::string group = {};     // "ray.io"
  std::string resource = {};  // "rayclusters"
};
/// "RayCluster" or "ray.io/RayCluster" of those that Muster knows (a name without its group may
/// mean several), or "widgets.example.com".
Result<std::vector<KindRule>> kind_rules(std::string_view name);

/// For whom and what for.
struct PermissionAsk {
  std::string ns = "muster";                 // where jobs are made that name no other
  std::vector<std::string> namespaces = {};  // others that jobs may name; "*": all there are
  std::vector<KindRule> kinds = {};          // of lists of objects; with any, lists are allowed
  bool with_objects = false;                 // lists of objects, also without further kinds
  bool with_hub = false;          // to find other clusters' kubeconfigs and profiles there
  bool with_appwrappers = false;  // to take the AppWrappers there as jobs
  bool with_travel = false;       // AppWrappers come here from a hub, or with_appwrappers go away
  bool with_crds = false;         // to install definitions
};

/// One verb, to be asked of the API server.
struct NeededPermission {
  kube::Permission permission = {};
  bool is_vital = true;  // false: it works without, but less well
};
std::vector<NeededPermission> needed_permissions(const PermissionAsk& ask);

/// "everywhere | nodes, pods | list, watch": the rows of the table, without its head.
std::vector<std::string> permission_rows();

/// Who gets the permissions.
struct RbacSubject {
  std::string name = "muster";  // of the objects made, and of the service account
  /// Of somebody who is there already, as the API server calls them: "system:serviceaccount:ns:x",
  /// "jane". Empty: a service account is made in the namespace.
  std::string user = {};
};
/// YAML of ServiceAccount, ClusterRole, a Role for each namespace, and their bindings.
std::string rbac_manifest(const PermissionAsk& ask, const RbacSubject& subject);

}  // namespace muster::clusters
