// Kueue beside Muster: whether it is installed, and what it manages then.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>

#include "kube/json.h"
#include "kube/requests.h"

namespace muster::api {

/// Answered where Kueue's definitions are; 404 elsewhere.
inline kube::ApiRequest kueue_request() {
  kube::ApiRequest request;
  request.path = "/apis/kueue.x-k8s.io";
  return request;
}

inline bool is_labelled_for_kueue(const boost::json::value& object) {
  constexpr std::string_view label = "kueue.x-k8s.io/queue-name";
  return kube::find(object, {"metadata", "labels", label}) != nullptr;
}

}  // namespace muster::api
