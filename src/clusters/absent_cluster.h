// Stands for a cluster that cannot even be asked: its kubeconfig is missing or wrong. It is joined,
// unreachable, and says why; somebody else tries again and puts the real one in its place.
#pragma once

#include <string>
#include <utility>

#include "clusters/outgoing.h"
#include "ports/cluster.h"

namespace muster::clusters {

/// Thread contract: as every ports::Cluster; relist on one thread.
class AbsentCluster : public ports::Cluster {
 public:
  AbsentCluster(std::string name, std::string why, ports::Inbox& inbox)
      : name_(std::move(name)), why_(std::move(why)), outgoing_(inbox) {}

  void apply(const ports::Action&) override { outgoing_.flush(); }
  void relist(std::span<const ports::Expected>) override {
    outgoing_.say(model::ClusterHealth{name_, model::Health::Unreachable});
  }
  std::string problem() const override { return why_; }

 private:
  const std::string name_;
  const std::string why_;
  Outgoing outgoing_;
};

}  // namespace muster::clusters
