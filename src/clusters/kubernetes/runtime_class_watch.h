// RuntimeClasses of a cluster, kept up to date, for what the API server puts into their pods and
// into no template: overhead, a node selector, tolerations. Whoever may not read them goes without:
// then it is seen when the pods are there.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <memory>

#include "kube/client.h"
#include "manifest/amounts.h"
#include "model/runtime_class.h"

namespace muster::clusters {

class RuntimeClassWatch {
 public:
  /// The client must outlive it.
  RuntimeClassWatch(kube::Client& client, manifest::GpuNaming gpus);
  ~RuntimeClassWatch();

  /// As far as they are known. Any thread, as the next.
  model::RuntimeClasses all() const;
  /// The overhead that this pod, or a template's, will get: empty if it says it itself.
  boost::json::object overhead_of(const boost::json::value& pod) const;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace muster::clusters
