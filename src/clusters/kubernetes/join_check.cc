#include "clusters/kubernetes/join_check.h"

#include <algorithm>
#include <utility>

#include "kube/access_review.h"
#include "kube/client.h"
#include "kube/json.h"
#include "kube/requests.h"
#include "kube/whoami.h"

namespace muster::clusters {

namespace {

void ask_permissions(kube::Client& client, const PermissionAsk& ask, JoinReport& report) {
  std::vector<kube::Permission> all;
  std::vector<kube::Permission> vital;
  for (NeededPermission& needed : needed_permissions(ask)) {
    if (needed.is_vital) vital.push_back(needed.permission);
    all.push_back(std::move(needed.permission));
  }
  const auto missing = kube::missing_permissions(client, all);
  if (!missing) {
    report.problem = missing.error().message;
    return;
  }
  for (const kube::Permission& permission : *missing) {
    const bool is_vital = std::find(vital.begin(), vital.end(), permission) != vital.end();
    (is_vital ? report.missing : report.wanted).push_back(permission.to_text());
  }
}

}  // namespace

JoinReport check_join(const kube::Access& access, const PermissionAsk& ask, Duration timeout) {
  JoinReport report;
  kube::ClientOptions options;
  options.connect_timeout = timeout;
  options.timeout = timeout;
  options.attempts_max = 2;
  options.read_attempts_max = 1;
  options.credentials.exec.time = timeout;
  const auto client = kube::Client::make(access, options);
  if (!client) {
    report.problem = client.error().message;
    return report;
  }
  ask_permissions(**client, ask, report);
  if (!report.problem.empty()) return report;
  kube::Whoami said = kube::whoami(**client);
  report.version = std::move(said.version);
  report.user = std::move(said.user);
  const auto identity =
      (*client)->send(kube::get_request(kube::resources::namespaces(), "", identity_namespace));
  if (identity) report.identity = kube::uid_of(*identity);
  if (!report.missing.empty() || !report.wanted.empty())
    report.rbac = rbac_manifest(ask, {.user = report.user});
  return report;
}

}  // namespace muster::clusters
