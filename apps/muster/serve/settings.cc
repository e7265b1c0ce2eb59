#include "apps/muster/serve/settings.h"

#include <algorithm>
#include <utility>

namespace muster::app {

namespace {

/// For commands that bring none: of its own, or of one of its pools.
bool has_image(const config::Config& config, const config::Cluster& cluster) {
  const auto of = [](const std::optional<config::PodDefaults>& pod) {
    return pod && !pod->image.empty();
  };
  return cluster.image || of(cluster.pod) ||
         std::any_of(config.pools.begin(), config.pools.end(), [&](const config::Pool& pool) {
           return pool.cluster == cluster.name && of(pool.pod);
         });
}

}  // namespace

std::shared_ptr<const api::Settings> settings_of(const config::Config& config) {
  api::Settings settings;
  settings.version = version;
  settings.default_queue = config.defaults.queue;
  settings.default_priority = config.defaults.priority;
  settings.jobs_per_submit = static_cast<std::size_t>(config.limits.jobs_per_submit);
  settings.request_bytes = static_cast<std::size_t>(config.limits.request_bytes.v);
  settings.waiting_jobs = config.limits.waiting_jobs;
  for (const config::Cluster& cluster : config.clusters) {
    settings.clusters.push_back(cluster.name);
    if (cluster.type == config::ClusterType::Local)
      settings.without_containers.push_back(cluster.name);
    if (cluster.type == config::ClusterType::Kubernetes && !has_image(config, cluster))
      settings.without_image.push_back(cluster.name);
    if (cluster.type == config::ClusterType::Simulated) settings.simulated.push_back(cluster.name);
  }
  return std::make_shared<const api::Settings>(std::move(settings));
}

}  // namespace muster::app
