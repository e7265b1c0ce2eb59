// Nodes, pools and fleet pools as JSON, in the conventions of view/json.h. The world must be
// settled (Fleet::settle), so that ranks and profiles are those of the nodes seen.
//
// Bounds: a page of nodes looks at nodes_looked_max nodes at most, whatever its filter; a pool
// looks once at every node of its cluster and compares labels once per profile.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sched/world.h"

namespace muster::view {

constexpr std::size_t nodes_looked_max = 20'000;

/// Which nodes, by cluster and name. Empty names do not filter.
struct NodeAsk {
  std::string cluster;
  std::string pool;
  std::string cursor;  // `next` of the page before
  std::size_t limit = 100;
};

/// {"nodes": [...], "next": cursor or null}. NotFound names the cluster or pool that is not there.
Result<std::string> nodes_json(const sched::World& world, const NodeAsk& ask);
/// NotFound if the cluster is not joined or has no such node.
Result<std::string> node_json(const sched::World& world, const std::string& cluster,
                              const std::string& node);
/// NotFound if there is no such pool.
Result<std::string> pool_json(const sched::World& world, const std::string& name);
/// A node in several of its pools counts once.
Result<std::string> fleet_pool_json(const sched::World& world, const std::string& name);

/// "key=value:NoSchedule" as kubectl writes it.
std::string taint_text(const model::Taint& taint);
/// "key=value:NoSchedule", "key", "everything".
std::string toleration_text(const model::Toleration& toleration);

}  // namespace muster::view
