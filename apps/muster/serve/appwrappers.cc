#include "apps/muster/serve/appwrappers.h"

#include "work/wrapped/node_health.h"
#include "work/wrapped/rights.h"

namespace muster::app {

api::HubOptions hub_of(const config::Config& config) {
  const config::AppWrappers& wanted = *config.appwrappers;
  api::HubOptions options;
  options.cluster = wanted.cluster;
  options.ns = wanted.kube_namespace;
  options.wrap.hub = wanted.cluster;
  options.wrap.queue = wanted.queue.empty() ? config.defaults.queue : wanted.queue;
  options.wrap.priority = config.defaults.priority;
  options.wrap.is_mcad = wanted.profile == config::WrapperProfile::Mcad;
  if (!wanted.kinds.empty()) {
    options.wrap.kinds = wanted.kinds;
  } else if (!options.wrap.is_mcad) {
    options.wrap.kinds = work::usual_kinds();
  }
  options.wrap.node_health = wanted.node_health.value_or(work::autopilot_health());
  options.asks_creators = wanted.creators;
  options.has_quota = wanted.quota;
  options.installs = options.wrap.is_mcad;
  for (const config::Cluster& cluster : config.clusters) {
    if (cluster.type == config::ClusterType::Kubernetes) {
      options.wrap.clusters.push_back({cluster.name, cluster.labels});
    } else {
      options.unfit_clusters.push_back(cluster.name);
    }
  }
  return options;
}

}  // namespace muster::app
