// Clusters that stand in no configuration file, kept in a file of the data folder so that they are
// there after a restart. Their kubeconfigs are in it: only the server's user can read it. There are
// three such lists: joined through the API, found at a source, and leaving.
//
// Thread contract: the caller's lock.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"

namespace muster::app {

class JoinedClusters {
 public:
  /// Without a file there are none.
  static Result<JoinedClusters> open(std::string file);

  /// Instead of one of the same name.
  Status add(const config::Cluster& cluster);
  /// Nothing happens if it is not one of them.
  Status remove(const std::string& name);
  const std::vector<config::Cluster>& all() const { return clusters_; }
  /// Null if it is not one of them.
  const config::Cluster* find(const std::string& name) const;
  /// The configuration with these clusters; one of the same name in it wins.
  config::Config with(config::Config config) const;

 private:
  explicit JoinedClusters(std::string file) : file_(std::move(file)) {}
  Status write(std::vector<config::Cluster> clusters);

  std::string file_;
  std::vector<config::Cluster> clusters_;
};

}  // namespace muster::app
