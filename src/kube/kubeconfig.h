// Kubeconfig files, read and merged as kubectl does. Pure but for the functions that say "load".
//
// Of several files the first one that has an entry or a setting wins, entry by entry. Relative
// paths in a file mean beside that file. Errors name the file and the field. Unknown fields are
// ignored, as other tools keep theirs there.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/access.h"

namespace muster::kube {

struct ContextEntry {
  std::string name = {};
  std::string origin = {};
  std::string cluster = {};
  std::string user = {};
  std::string ns = {};
};

struct Kubeconfig {
  std::string current_context = {};
  std::vector<std::string> files = {};  // read, in the order of their weight
  std::vector<ClusterEntry> clusters = {};
  std::vector<UserEntry> users = {};
  std::vector<ContextEntry> contexts = {};
};

/// The text of one file. `path` stands in messages, and its folder is where relative names begin.
Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& path);

/// Earlier ones win.
Kubeconfig merge_kubeconfigs(std::vector<Kubeconfig> configs);

/// The files a KUBECONFIG variable names ("a:b"); "" stands for .kube/config in the home folder.
std::vector<std::string> kubeconfig_paths(std::string_view variable, std::string_view home);

/// Exactly this file.
Result<Kubeconfig> load_kubeconfig(const std::string& path);
/// Those of KUBECONFIG or of the home folder; missing files of a list are passed over, but one must
/// be there. `variable` is the environment.
Result<Kubeconfig> load_kubeconfigs(const std::function<const char*(const char*)>& variable);

/// What a context stands for; "" means the current one. The context, its cluster and its user have
/// to exist and to make sense together.
Result<Access> access_of(const Kubeconfig& config, std::string_view context = "");

/// A context's name may be anything, as "arn:aws:eks:eu-west-1:1:cluster/prod": what is behind the
/// last slash of it, with letters, digits and . _ - only.
std::string plain_name(std::string_view context);

/// From within a pod: the service account's token and authority, the API server's address from the
/// environment. `root` is the folder of the service account.
Result<Access> in_cluster_access(
    const std::function<const char*(const char*)>& variable,
    const std::string& root = "/var/run/secrets/kubernetes.io/serviceaccount");

}  // namespace muster::kube
