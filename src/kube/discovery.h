// What an API server serves: kinds, resources and verbs, also of CRDs, and the way from the kind a
// manifest names to the resource a path needs.
#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/api_error.h"
#include "kube/client.h"
#include "kube/resource.h"

namespace muster::kube {

/// Immutable once read.
class ApiResources {
 public:
  /// In the server's order of preference: groups, and versions of a group.
  explicit ApiResources(std::vector<Resource> all, std::vector<std::string> silent = {})
      : all_(std::move(all)), silent_(std::move(silent)) {}

  const std::vector<Resource>& all() const { return all_; }
  /// By what an object says: "batch/v1", "Job".
  const Resource* of_kind(std::string_view api_version, std::string_view kind) const;
  /// In the preferred version of the group.
  const Resource* of_group_kind(std::string_view group, std::string_view kind) const;
  /// As people write it: "pods", "pod", "po", "Pod", "jobs.batch", "jobs.v1.batch".
  const Resource* of_name(std::string_view name) const;
  /// Who serves "metrics.k8s.io/v1" did not answer: what is not here of it may be there.
  bool is_silent(std::string_view api_version) const;

 private:
  std::vector<Resource> all_;
  std::vector<std::string> silent_;
};

/// Both forms of discovery: the aggregated one (since Kubernetes 1.26) and one document per
/// version. Pure. `instead` is asked for the resources of a version whose server is down.
using InsteadOf = std::function<std::vector<Resource>(const std::string& api_version)>;
std::vector<Resource> parse_aggregated_discovery(const boost::json::value& group_list,
                                                 const InsteadOf& instead = {});
std::vector<Resource> parse_resource_list(const boost::json::value& resource_list);

/// Asks the server for all it has. A group whose server does not answer (an aggregated API that is
/// down) is as it was `before`, or left out; that is no error.
using DiscoveryDone = std::function<void(Reply<std::shared_ptr<const ApiResources>>)>;
void discover_later(Client& client, DiscoveryDone done,
                    std::shared_ptr<const ApiResources> before = nullptr);

/// Keeps what was discovered, and looks again when something is asked for that is not in it, as a
/// CRD may be new; not more often than once in `pause`. Thread-safe.
class RestMapper {
 public:
  /// The client must outlive it.
  explicit RestMapper(Client& client, Duration pause = seconds(2));

  using Done = std::function<void(Reply<Resource>)>;
  /// done comes at once when it is known, else on the I/O thread. Unknown kinds are a 404, those of
  /// a group whose server is down a 503.
  void find_later(std::string_view api_version, std::string_view kind, Done done);
  /// Waits.
  Reply<Resource> find(std::string_view api_version, std::string_view kind);
  /// Null before the first question.
  std::shared_ptr<const ApiResources> known() const;

 private:
  class Core;  // outlives this while it waits for the server
  std::shared_ptr<Core> core_;
};

}  // namespace muster::kube
