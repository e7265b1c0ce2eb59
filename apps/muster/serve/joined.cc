#include "apps/muster/serve/joined.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "auth/private_file.h"

namespace muster::app {

Result<JoinedClusters> JoinedClusters::open(std::string file) {
  JoinedClusters joined(std::move(file));
  std::ifstream in(joined.file_, std::ios::binary);
  if (!in) return joined;
  std::ostringstream text;
  text << in.rdbuf();
  config::Checked checked = config::check(text.str());
  if (!checked.ok())
    return invalid(fmt::format("{} cannot be read: {}", joined.file_,
                               config::to_text(checked.problems.front(), joined.file_)));
  joined.clusters_ = std::move(checked.config.clusters);
  return joined;
}

Status JoinedClusters::add(const config::Cluster& cluster) {
  std::vector<config::Cluster> clusters = clusters_;
  std::erase_if(clusters, [&](const config::Cluster& c) { return c.name == cluster.name; });
  clusters.push_back(cluster);
  return write(std::move(clusters));
}

Status JoinedClusters::remove(const std::string& name) {
  std::vector<config::Cluster> clusters = clusters_;
  if (std::erase_if(clusters, [&](const config::Cluster& c) { return c.name == name; }) == 0)
    return Ok{};
  return write(std::move(clusters));
}

Status JoinedClusters::write(std::vector<config::Cluster> clusters) {
  config::Config all;
  all.clusters = clusters;
  if (Status written = auth::write_private_file(file_, config::to_yaml(all)); !written)
    return written;
  clusters_ = std::move(clusters);
  return Ok{};
}

const config::Cluster* JoinedClusters::find(const std::string& name) const {
  const auto found =
      std::find_if(clusters_.begin(), clusters_.end(),
                   [&](const config::Cluster& cluster) { return cluster.name == name; });
  return found == clusters_.end() ? nullptr : &*found;
}

config::Config JoinedClusters::with(config::Config config) const {
  for (const config::Cluster& cluster : clusters_) {
    const bool known =
        std::any_of(config.clusters.begin(), config.clusters.end(),
                    [&](const config::Cluster& c) { return c.name == cluster.name; });
    if (!known) config.clusters.push_back(cluster);
  }
  return config;
}

}  // namespace muster::app
