// Whether the pods of each attempt are on the nodes that the books have them on. The cluster's own
// scheduler binds them, and with node binding `prefer` or `none`, or to a set of nodes, it may
// choose otherwise than planned. What differs is told once for the gang: when all its pods are
// bound, or a while after the first one was found elsewhere.
//
// Pure: time and sight are arguments. Not thread-safe; of the cluster's thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "clusters/kubernetes/gang_state.h"
#include "model/event.h"
#include "ports/cluster.h"

namespace muster::clusters {

class BoundPods {
 public:
  /// The GPU type of a node; none: it is not seen.
  using TypeOf = std::function<std::optional<std::string>(const std::string& node)>;

  /// The books have its pods there.
  void expect(const ports::Attempt& attempt, std::vector<model::PodPlace> places);
  /// What is to be told; from then on that is what the books have.
  std::optional<model::PodsBound> look(const ports::Attempt& attempt,
                                       const std::vector<PodSight>& pods, const TypeOf& type_of,
                                       Time now);
  /// Where the books have its pods; nowhere, if it is not expected.
  const std::vector<model::PodPlace>& booked(const ports::Attempt& attempt) const;
  /// Attempts that are to be looked at again although nothing of them changed.
  std::vector<ports::Attempt> due(Time now) const;
  void forget(const std::function<bool(const ports::Attempt&)>& is_over);

 private:
  std::map<ports::Attempt, std::vector<model::PodPlace>> places_;
  std::map<ports::Attempt, Time> due_;  // some of its pods are elsewhere, others not bound yet
};

}  // namespace muster::clusters
