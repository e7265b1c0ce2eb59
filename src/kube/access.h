// How to reach one cluster and who to be there: what a kubeconfig's context comes down to. Plain
// values; names of files are absolute or relative to the working directory.
#pragma once

#include <boost/json/value.hpp>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace muster::kube {

/// PEM text given in place, or in a file that may be replaced while we run. The text wins.
struct PemSource {
  std::string data = {};
  std::string file = {};
  bool empty() const { return data.empty() && file.empty(); }
  friend bool operator==(const PemSource&, const PemSource&) = default;
};

struct ClusterEntry {
  std::string name = {};
  std::string origin = {};  // the file it was read from, for messages
  std::string server = {};  // "https://host:6443", maybe with a path
  std::string tls_server_name = {};
  bool verify = true;  // false: insecure-skip-tls-verify
  PemSource ca = {};
  std::string proxy_url = {};
  bool disable_compression = false;
  /// Of the extension client.authentication.k8s.io/exec, for credential plugins.
  boost::json::value exec_config = {};
};

/// A program that prints credentials.
struct ExecPlugin {
  std::string api_version = {};  // client.authentication.k8s.io/v1 or /v1beta1
  std::string command = {};
  std::vector<std::string> args = {};
  std::vector<std::pair<std::string, std::string>> env = {};
  std::string install_hint = {};
  bool provide_cluster_info = false;
};

struct Impersonation {
  std::string user = {};
  std::string uid = {};
  std::vector<std::string> groups = {};
  std::map<std::string, std::vector<std::string>> extra = {};
};

struct UserEntry {
  std::string name = {};
  std::string origin = {};
  std::string token = {};
  std::string token_file = {};  // read again and again; wins over token once it could be read
  std::string username = {};
  std::string password = {};
  PemSource cert = {};
  PemSource key = {};
  std::optional<ExecPlugin> exec = {};
  Impersonation impersonate = {};
  std::string problem = {};  // why it cannot be used; "": it can
};

struct Access {
  std::string context = {};    // "" when there was none, as inside a cluster
  std::string ns = "default";  // namespace for requests that name none
  ClusterEntry cluster = {};
  UserEntry user = {};
};

}  // namespace muster::kube
