// The protocol of credential plugins (client.authentication.k8s.io/v1 and v1beta1): what a plugin
// is told, what it answers, and running it once. Nothing a plugin prints to standard output ever
// stands in a message: it holds secrets.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "kube/access.h"

namespace muster::kube {

struct ExecCredential {
  std::string token = {};
  std::string cert_pem = {};
  std::string key_pem = {};
  std::optional<Time> expires = {};
};

/// The value of KUBERNETES_EXEC_INFO.
std::string exec_info(const ExecPlugin& plugin, const ClusterEntry& cluster);

Result<ExecCredential> parse_exec_credential(std::string_view output,
                                             const std::string& api_version);

struct ExecLimits {
  Duration time = seconds(60);
  std::size_t output_bytes = 1U << 20;
  std::function<bool()> is_stopped = {};  // asked while it runs; true ends it
};

/// Runs the plugin and waits for it. Errors name the user's entry and carry the install hint when
/// the program is missing.
Result<ExecCredential> run_exec_plugin(const UserEntry& user, const ClusterEntry& cluster,
                                       const ExecLimits& limits = ExecLimits());

}  // namespace muster::kube
