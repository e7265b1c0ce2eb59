// May we? Asked of the API server itself (SelfSubjectAccessReview).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kube/api_error.h"
#include "kube/client.h"

namespace muster::kube {

struct Permission {
  std::string verb = {};      // "create"
  std::string group = {};     // "batch"
  std::string resource = {};  // "jobs"
  std::string subresource = {};
  std::string ns = {};  // "": in all namespaces, or of the cluster
  std::string name = {};

  /// "create jobs.batch in namespace team-a"
  std::string to_text() const;
  friend bool operator==(const Permission&, const Permission&) = default;
};

/// Those of the list that are not granted, in its order. Asks for all at once.
using MissingDone = std::function<void(Reply<std::vector<Permission>>)>;
void missing_permissions_later(Client& client, std::vector<Permission> wanted, MissingDone done);
/// Waits.
Reply<std::vector<Permission>> missing_permissions(Client& client, std::vector<Permission> wanted);

}  // namespace muster::kube
