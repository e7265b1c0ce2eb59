// ResourceQuotas and LimitRanges of a namespace, or of all there are, kept up to date. Whoever may
// not read them goes without: the API server judges then, pod by pod.
#pragma once

#include <memory>
#include <string>

#include "clusters/kubernetes/namespace_rules.h"
#include "kube/client.h"

namespace muster::clusters {

class NamespaceWatch {
 public:
  /// The client must outlive it. No namespace: all of them.
  NamespaceWatch(kube::Client& client, const std::string& ns);
  ~NamespaceWatch();

  /// Of one of them, as far as they are known. Any thread.
  NamespaceRules rules(const std::string& ns) const;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace muster::clusters
