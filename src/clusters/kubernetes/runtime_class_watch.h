// RuntimeClasses of a cluster, kept up to date, for what their pods take beside their containers:
// the API server puts that overhead into every pod of a class, and into no template. Whoever may
// not read them goes without: then it is seen when the pods are there.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <memory>

#include "kube/client.h"
#include "manifest/amounts.h"
#include "model/overheads.h"

namespace muster::clusters {

class RuntimeClassWatch {
 public:
  /// The client must outlive it.
  RuntimeClassWatch(kube::Client& client, manifest::GpuNaming gpus);
  ~RuntimeClassWatch();

  /// Of the classes that have one, as far as they are known. Any thread, as the next.
  model::Overheads overheads() const;
  /// What the API server will put into this pod, or a template's: empty if it says it itself.
  boost::json::object overhead_of(const boost::json::value& pod) const;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace muster::clusters
