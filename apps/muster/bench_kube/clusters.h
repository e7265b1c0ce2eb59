// Real control planes for a benchmark: tests/e2e/clusters.py as a child process, each time with a
// fresh etcd. They end with this object, or with this process.
//
// Thread contract: one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/muster/measuring/child_process.h"
#include "base/result.h"
#include "kube/client.h"

namespace muster::app {

struct ClustersWanted {
  std::string program;  // clusters.py
  int count = 1;
  int nodes = 200;          // of each, played by kwok
  bool is_bare = false;     // only etcd and the API server: no controllers, no nodes
  bool is_audited = false;  // what servers write is in audit_log()
};

class BenchClusters {
 public:
  /// All nodes are ready when it returns.
  static Result<std::unique_ptr<BenchClusters>> start(const ClustersWanted& wanted);

  /// Contexts of the kubeconfig, one a cluster.
  const std::vector<std::string>& names() const { return names_; }
  Result<std::unique_ptr<kube::Client>> client(const std::string& name) const;
  Result<std::vector<std::unique_ptr<kube::Client>>> clients() const;
  /// The configuration of a server that has all of them. Of audited clusters it is another user
  /// than the clients are.
  std::string server_yaml() const;
  /// The API server's own record of each write, a JSON line each.
  std::string audit_log(const std::string& name) const;

 private:
  BenchClusters() = default;
  Status spawn(const ClustersWanted& wanted);

  std::string kubeconfig_;
  bool is_audited_ = false;
  std::vector<std::string> names_;
  ChildProcess process_;  // ends with its input, and with it the clusters
};

}  // namespace muster::app
