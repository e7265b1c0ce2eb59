// Whether a Kubernetes cluster can be joined: it answers, it is known who we are there, and what we
// may do (SelfSubjectAccessReviews of permissions.h).
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "clusters/kubernetes/permissions.h"
#include "kube/access.h"

namespace muster::clusters {

struct JoinReport {
  std::string problem = {};   // why it does not answer, or who we are is not known; "": it does
  std::string version = {};   // "v1.34.4"
  std::string user = {};      // as whom we are known there; "": it did not say
  std::string identity = {};  // UID of the namespace kube-system; "": it may not be read
  std::vector<std::string> missing = {};  // permissions without which it cannot be used
  std::vector<std::string> wanted = {};   // and those without which it works less well
  std::string rbac = {};                  // the manifest that grants them; "": nothing is missing

  bool can_be_used() const { return problem.empty() && missing.empty(); }
};

/// Waits for the answers: at most a few times `timeout`.
JoinReport check_join(const kube::Access& access, const PermissionAsk& ask,
                      Duration timeout = seconds(10));

/// UID of the namespace kube-system: another one in every cluster.
constexpr const char* identity_namespace = "kube-system";

}  // namespace muster::clusters
