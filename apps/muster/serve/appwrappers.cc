#include "apps/muster/serve/appwrappers.h"

#include "work/wrapped/node_health.h"
#include "work/wrapped/rights.h"

namespace muster::app {

namespace {

api::EventTelling telling_of(config::WrapperEvents events) {
  switch (events) {
    case config::WrapperEvents::None:
      return api::EventTelling::None;
    case config::WrapperEvents::All:
      return api::EventTelling::All;
    case config::WrapperEvents::Problems:
      break;
  }
  return api::EventTelling::Problems;
}

}  // namespace

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
  options.events = telling_of(wanted.events);
  options.travel.makes_namespaces = wanted.travel.namespaces;
  options.travel.takes_config_maps = wanted.travel.configmaps;
  options.travel.takes_service_accounts = wanted.travel.service_accounts;
  options.travel.takes_secrets = wanted.travel.secrets == config::TravellingSecrets::Labelled;
  options.installs = options.wrap.is_mcad;
  return options;
}

std::vector<work::SelectableCluster> selectable_clusters(const config::Config& config) {
  std::vector<work::SelectableCluster> all;
  for (const config::Cluster& cluster : config.clusters) {
    work::SelectableCluster& one = all.emplace_back();
    one.name = cluster.name;
    one.labels = cluster.labels;
    one.makes_objects = cluster.type == config::ClusterType::Kubernetes;
    one.namespaces = cluster.namespaces;
    if (cluster.kube_namespace) one.namespaces.push_back(*cluster.kube_namespace);
    for (const config::Pool& pool : config.pools) {
      if (pool.cluster == cluster.name && pool.kube_namespace)
        one.namespaces.push_back(*pool.kube_namespace);
    }
    // What AppWrappers of the hub wrap is made where they stand.
    if (config.appwrappers && config.appwrappers->cluster == cluster.name) one.namespaces = {"*"};
  }
  return all;
}

}  // namespace muster::app
