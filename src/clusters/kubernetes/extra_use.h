// What pods of ours take that the books do not count: what a LimitRange, a RuntimeClass or a
// webhook put into them, and pods that their controller added later (a Ray cluster or a Deployment
// that was scaled up). A node has no room for others there, so it is told as the use of one foreign
// pod a node.
//
// Pure: sight is an argument. Not thread-safe; of the cluster's thread.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "clusters/kubernetes/gang_state.h"
#include "clusters/kubernetes/sight_changes.h"
#include "manifest/pod_use.h"
#include "model/event.h"
#include "ports/cluster.h"

namespace muster::clusters {

class ExtraUse {
 public:
  ExtraUse(std::string cluster, manifest::GpuNaming gpus)
      : cluster_(std::move(cluster)), gpus_(std::move(gpus)) {}

  /// What the books count for a pod of each set.
  void expect(const ports::Attempt& attempt, std::vector<model::Resources> counted);
  /// Its pods, and where the books have them. Nothing is told of one that is not expected.
  void look(const ports::Attempt& attempt, const std::vector<model::PodPlace>& booked,
            const std::vector<PodSight>& pods);
  void forget(const std::function<bool(const ports::Attempt&)>& is_over);

  /// Of nodes where it is another than was told.
  void tell(SightChanges& changes);
  /// Of all nodes where there is any.
  void tell_everything(SightChanges& changes);

 private:
  using ByNode = std::map<std::string, manifest::PodUse>;
  void put(const ports::Attempt& attempt, ByNode extra);
  void tell(const std::string& node, SightChanges& changes) const;

  const std::string cluster_;
  const manifest::GpuNaming gpus_;
  std::map<ports::Attempt, std::vector<model::Resources>> counted_;
  std::map<ports::Attempt, ByNode> extra_;  // of those that have any
  std::map<std::string, std::set<ports::Attempt>> on_node_;
  std::set<std::string> changed_;
};

}  // namespace muster::clusters
