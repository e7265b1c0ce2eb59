// What the configuration says about the pods of a cluster and of its pools, as the adapter takes
// it.
#pragma once

#include <string>

#include "clusters/kubernetes/kubernetes_cluster.h"
#include "config/cluster_part.h"

namespace muster::app {

/// Fills options.objects and options.pools. A pool's word goes before the cluster's; lists add up.
void put_pod_defaults(const config::ClusterPart& part, const std::string& ns,
                      clusters::KubernetesOptions& options);

}  // namespace muster::app
