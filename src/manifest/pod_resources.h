// Pods that are described by what they need alone, as the custompodresources of an AppWrapper do:
// {replicas: 2, requests: {cpu: 1}, limits: {cpu: 2}}. Pure.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "manifest/amounts.h"

namespace muster::manifest {

struct PodResources {
  std::int64_t replicas = 0;
  Amounts requests = {};
  Amounts limits = {};
  friend bool operator==(const PodResources&, const PodResources&) = default;

  /// What one pod counts: a resource without a request, or with one of 0, counts its limit.
  Amounts counted() const;
};

/// Errors begin with the field: "custompodresources[1].requests.cpu: ...".
Result<std::vector<PodResources>> read_pod_resources(const boost::json::array& items,
                                                     std::string_view field);
/// As read_pod_resources reads them.
boost::json::object to_json(const PodResources& pods);

}  // namespace muster::manifest
