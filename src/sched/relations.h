// Demands of a pod that look at other pods or at single nodes: pod affinity and anti-affinity (both
// ways), topology spread, host ports, named nodes. Built for one pod shape in one cluster, kept up
// to date while a gang is placed pod by pod.
//
// Gangs whose victims are leaving have a promise: nobody starts meanwhile who would keep them away
// from the nodes they were promised. Which of those nodes each of their pods will take is not
// known, so each counts on all of them; nobody may rely on them to be there.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sched/ids.h"
#include "sched/policy.h"
#include "sched/world.h"

namespace muster::sched {

struct Asker;

class Relations {
 public:
  Relations(const World& world, const Policy& policy, ClusterId cluster, PodShapeId pod,
            const Asker& asker);

  /// Whether one more pod may go to this node.
  bool allows(NodeId node) const;
  /// Soft spread: how many matching pods the node's domains hold already, 0 being best.
  std::int64_t crowding(NodeId node) const;
  /// Weights of the preferred terms with matchFields that hold there; those that ask for labels
  /// only are in the cost of the node's class.
  std::int64_t preference(NodeId node) const;
  /// A pod of some shape was placed on the node.
  void placed(PodShapeId pod, NodeId node);

 private:
  using Domains = std::map<std::string, int>;  // label value -> matching pods
  struct Term {
    const model::LabelSelector* selector;
    std::string key;
    Domains counts;
  };
  struct SpreadTerm {
    const model::Spread* spread;
    Domains counts;
  };
  bool is_looked_for(const model::Labels& labels) const;
  void count(const model::Labels& labels, NodeId node);
  void count_others(const model::Labels& labels, NodeId node);
  bool is_leaving(JobSlot job, ClusterId cluster) const;
  void leaving(PodShapeId pod, NodeId node);
  void count_promises(ClusterId cluster, const Asker& asker);
  void promised(const PodShapeRec& other, NodeId node);
  void forbid(const std::string& key, NodeId node);
  void repel(const PodShapeRec& other, NodeId node);
  const std::string* domain(NodeId node, const std::string& key) const;
  bool counts_for_spread(NodeId node) const;
  bool names_allow(NodeId node) const;
  bool ports_allow(NodeId node) const;

  const World& world_;
  const Policy& policy_;
  const PodShapeRec& pod_;
  std::vector<Term> near_;
  int neighbours_ = 0;  // pods in the cluster that match all of those
  std::vector<Term> away_;
  std::vector<SpreadTerm> spread_;
  std::set<std::pair<std::string, std::string>>
      forbidden_;  // (key, value) that pods there keep this one out of
};

}  // namespace muster::sched
