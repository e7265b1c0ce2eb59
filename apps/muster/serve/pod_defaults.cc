#include "apps/muster/serve/pod_defaults.h"

#include <algorithm>
#include <boost/json/parse.hpp>

#include "clusters/job_environment.h"
#include "config/container_fields.h"

namespace muster::app {
namespace {

clusters::NodeBinding binding_of(config::NodeBinding binding) {
  switch (binding) {
    case config::NodeBinding::Prefer:
      return clusters::NodeBinding::Prefer;
    case config::NodeBinding::None:
      return clusters::NodeBinding::None;
    case config::NodeBinding::Require:
      break;
  }
  return clusters::NodeBinding::Require;
}

void put(const config::PodDefaults& from, clusters::PodDefaults& pod) {
  const auto set = [](std::string& into, std::string_view value) {
    if (!value.empty()) into = value;
  };
  set(pod.image, from.image);
  set(pod.image_pull_policy, config::policy_word(from.image_pull_policy));
  set(pod.service_account, from.service_account);
  set(pod.runtime_class, from.runtime_class);
  set(pod.scheduler_name, from.scheduler_name);
  pod.pull_secrets.insert(pod.pull_secrets.end(), from.pull_secrets.begin(),
                          from.pull_secrets.end());
  clusters::put_over(pod.environment, from.env);
  clusters::put_over(pod.labels, from.labels);
  clusters::put_over(pod.annotations, from.annotations);
  for (const config::VolumeDoc& volume : from.volumes)
    pod.volumes.push_back(boost::json::parse(volume.json));  // written by the reader of documents
  pod.mounts.insert(pod.mounts.end(), from.mounts.begin(), from.mounts.end());
}

}  // namespace

void put_pod_defaults(const config::ClusterPart& part, const std::string& ns,
                      clusters::KubernetesOptions& options) {
  const config::Cluster& cluster = part.cluster;
  options.objects.pod.ns = ns;
  options.objects.namespaces = cluster.namespaces;
  options.objects.binding = binding_of(cluster.node_binding.value_or(config::NodeBinding::Require));
  if (cluster.pod) put(*cluster.pod, options.objects.pod);
  if (cluster.image) options.objects.pod.image = *cluster.image;
  for (const config::Pool& pool : part.pools) {
    clusters::PoolObjects& made = options.pools.emplace_back();
    made.pool = pool.name;
    made.pod = options.objects.pod;
    if (pool.kube_namespace) made.pod.ns = *pool.kube_namespace;
    if (pool.pod) put(*pool.pod, made.pod);
    for (const config::TolerationEntry& entry : pool.tolerations)
      made.pod.tolerations.push_back(config::toleration_of(entry));
    for (const config::FleetPool& fleet : part.fleet_pools) {
      if (std::find(fleet.pools.begin(), fleet.pools.end(), pool.name) != fleet.pools.end())
        made.fleet_pools.push_back(fleet.name);
    }
  }
}

}  // namespace muster::app
