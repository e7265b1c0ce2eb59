// MCAD's quota trees, QuotaSubtree objects, as queues of Muster. Pure.
//
// A tree is what several objects with the same label `tree` say together. Its root has no parent;
// what the root's quota is, is all there is. A node's quota is promised to it; a soft node borrows
// what others of the tree do not use and gives it back when they want it, one with a hard limit
// never has more than its own. An AppWrapper names its node in each tree by a label that is called
// as the tree; one that does not is of the node `default`.
//
// The oldest tree orders jobs (it is Muster's main tree): one that is added to a running server
// must not take the place of another that jobs are in. Further ones only say yes or no.
#pragma once

#include <boost/json/value.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/queue.h"
#include "model/selector.h"

namespace muster::work {

/// The label of an AppWrapper without one, and the value it gets.
constexpr const char* default_node = "default";

struct QuotaForest {
  std::vector<std::string> trees = {};        // the oldest first
  std::vector<model::QueueSpec> queues = {};  // parents first
  std::vector<std::string> problems = {};     // what was left out, and why
};

/// Of all QuotaSubtree objects, in any order. What does not fit together is left out and told.
QuotaForest read_quota_forest(const std::vector<boost::json::value>& subtrees);

/// The queue of a node of a tree.
std::string queue_name(const std::string& tree, const std::string& node);

/// Which queues an AppWrapper charges.
struct Designation {
  std::string queue = {};                      // of the first tree
  std::vector<std::string> extra_queues = {};  // of the others
  model::Labels missing = {};                  // labels that it does not have, with what they mean
};
Designation designation_of(const model::Labels& labels, const std::vector<std::string>& trees);
/// Whether these labels may have named the queue, in whichever tree. One that they do not name
/// somebody else chose.
bool may_have_named(const model::Labels& labels, const std::string& queue);

}  // namespace muster::work
