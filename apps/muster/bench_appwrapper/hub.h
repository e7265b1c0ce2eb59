// One control plane with the definitions of AppWrapper, and a server whose hub it is.
//
// Thread contract: one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "apps/muster/bench_appwrapper/parts.h"
#include "apps/muster/bench_appwrapper/sightings.h"
#include "apps/muster/bench_kube/clusters.h"
#include "apps/muster/measuring/child_server.h"
#include "base/result.h"
#include "kube/client.h"

namespace muster::app {

enum class AuditLog { Kept, None };

class BenchHub {
 public:
  /// All nodes are ready when it returns. There is no server yet.
  static Result<std::unique_ptr<BenchHub>> start(const WrapperBenchOptions& options,
                                                 AuditLog audit = AuditLog::Kept);
  /// Sees all nodes when it returns, and takes AppWrappers.
  Status serve();

  kube::Client& client() { return *client_; }
  ChildServer& server() { return *server_; }
  Sightings& sightings() { return *sightings_; }
  std::string audit_log() const { return clusters_->audit_log(clusters_->names().front()); }

  /// Sends so many requests, some at once; seconds from the first to the last answer.
  Result<double> send(int count, const std::function<kube::ApiRequest(std::size_t)>& request);
  /// Creates an AppWrapper that fits: seconds from there to its Job.
  Result<double> canary(const std::string& name);

 private:
  BenchHub() = default;

  int nodes_ = 0;
  std::unique_ptr<BenchClusters> clusters_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<BenchFolder> folder_;
  std::unique_ptr<ChildServer> server_;
  std::unique_ptr<Sightings> sightings_;
};

inline constexpr int canaries_a_row = 5;
/// One canary after the other. The slowest is the value: the first comes while the server has most
/// to do.
Result<BenchRow> canary_row(BenchHub& hub, const std::string& title, const std::string& name);

}  // namespace muster::app
