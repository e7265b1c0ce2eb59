// Puts a whole gang on the nodes of one cluster, or leaves everything as it was.
//
// Pods of a set are placed best node first: candidate classes stand in a heap by (cost, rank of
// their first node); a node that took a pod changes class and comes back with its new cost. Pods
// that look at other pods go the slow way, node by node.
#pragma once

#include <bit>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sched/fit.h"
#include "sched/ids.h"
#include "sched/policy.h"
#include "sched/world.h"

namespace muster::sched {

/// One value per set of a gang: most have one set or two.
template <typename T>
using PerSet = boost::container::small_vector<T, 2>;

/// A cluster seen by one gang: through which pool, and with which GPU type for each set.
struct Venue {
  ClusterId cluster;
  PoolId pool;
  PerSet<TypeId> types;       // type 0 for sets without GPUs
  PerSet<PodShapeId> pods;    // the pool folded in
  std::uint32_t charges = 0;  // position in Venues::full and Venues::least
};

/// Who asks, and how long it would stay: nodes reserved for others are open only to jobs that leave
/// in time.
struct Asker {
  JobSlot job;
  Time end;
  ReservationId own;
  int priority = 0;     // class
  bool inside = false;  // of its guarantee, where it asks
};

/// Nodes kept for another job are open to jobs that leave in time, to those that stand higher
/// (inside their guarantee, then class: they would evict it) and to those before it in its own
/// queue, but not while that other's victims are leaving.
bool may_use_reserved(const World& world, const Policy& policy, const Reservation& reservation,
                      const Asker& asker);

/// All its pods go under one value of a label, or none does.
bool needs_one_domain(const Policy& policy, const Shape& shape);

/// A quick look at a venue: whether there is room, each set looked at alone. Once there is enough
/// the exact room is not counted any further.
struct VenueView {
  int placeable = 0;           // pods of the gang that fit
  bool enough = false;         // every set has room for its count
  bool reserved_only = false;  // would be enough if nodes reserved for others were open
  int unreserved = 0;          // pods that fit on nodes reserved for nobody; exact if not `enough`
  // Filled in by price():
  std::int64_t cost = 0;   // sum over sets of the best node's cost
  std::uint32_t rank = 0;  // of the first set's best node, the last tie-break inside a cluster
  ClassId best;            // of the first set
};

/// What a try in vain found: so many pods of the gang fit there on nodes reserved for nobody.
struct VenueRoom {
  ClusterId cluster;
  TypeId type;  // of the only set
  int pods = 0;
};

class Placer {
 public:
  Placer(World& world, FitCache& cache, const Policy& policy)
      : world_(world), cache_(cache), policy_(policy) {}

  /// Nodes with one value of a label.
  struct Domain {
    std::string key;
    std::string value;
  };

  const World& world() const { return world_; }
  VenueView view(const Venue& venue, const Shape& shape, const std::vector<int>& counts,
                 const Asker& asker);
  /// Pods of each set that have room, each set looked at alone, at most `counts`.
  std::vector<int> rooms(const Venue& venue, const Shape& shape, const std::vector<int>& counts,
                         const Asker& asker);
  /// The best node of each set and what it costs. Only for a view that found enough room.
  void price(const Venue& venue, const Shape& shape, const Asker& asker, VenueView& view);
  /// A gang of one pod goes straight to the node price() found. Nothing if the gang is not that
  /// simple.
  std::optional<std::vector<PodOn>> place_one(const Venue& venue, const Shape& shape,
                                              const Asker& asker, const VenueView& view);
  /// Occupies nodes for all pods and returns them, or nothing. Undo with take_back().
  std::optional<std::vector<PodOn>> place(const Venue& venue, const Shape& shape,
                                          const std::vector<int>& counts, const Asker& asker);
  void take_back(const std::vector<PodOn>& pods);

 private:
  friend class RoomWalk;
  friend class CheapestFirst;
  struct Ask {
    const Venue& venue;
    std::size_t set;
    int per_node;
    const Asker& asker;
    const Domain* domain;
  };
  struct Room {
    std::int64_t open = 0;
    std::int64_t closed = 0;      // on nodes kept for others
    std::int64_t unreserved = 0;  // on nodes kept for nobody
  };
  Room room_for(const Ask& ask, int count);  // counted until it is enough
  template <typename Visit>
  void each_class(const Ask& ask, Visit&& visit);  // until visit says false
  bool open_to(const NodeClass& c, const Ask& ask) const;
  bool in_domain(const NodeClass& c, const Domain* domain) const;
  bool place_set(const Ask& ask, int count, std::vector<PodOn>& out, std::vector<NodeId>& hidden);
  bool place_related(const Ask& ask, int count, std::vector<PodOn>& out);
  /// What is asked for in one place, and the order in which its sets choose nodes.
  struct Whole {
    const Venue& venue;
    const Shape& shape;
    const std::vector<int>& counts;
    const Asker& asker;
    const Domain* domain;
    std::vector<std::size_t> order;
  };
  /// All sets, greedy, in one order or the other, then by search; nothing stays if none helps.
  bool place_within(const Venue& venue, const Shape& shape, const std::vector<int>& counts,
                    const Asker& asker, const Domain* domain, std::vector<PodOn>& out);
  bool place_in_order(const Whole& whole, std::vector<PodOn>& out);
  struct Search;
  bool search(const Whole& whole, std::vector<PodOn>& out);
  bool search_on(Search& search, std::size_t set_at, int left, std::uint32_t least_rank);
  std::vector<Domain> domains(const Venue& venue, const Shape& shape,
                              const std::vector<int>& counts, const Asker& asker);
  PodOn put(const Ask& ask, NodeId node, std::uint16_t device);
  int of_set_on(NodeId node, const Ask& ask) const;
  bool looks_at_others(PodShapeId pod) const;
  std::vector<std::size_t> most_demanding_first(const Venue& venue, const Shape& shape);

  World& world_;
  FitCache& cache_;
  const Policy& policy_;
};

/// Visits classes whose GPUs could hold one pod of the set; the pod's other demands are for the
/// visitor.
template <typename Visit>
void Placer::each_class(const Ask& ask, Visit&& visit) {
  const Cluster& cluster = world_.fleet.cluster(ask.venue.cluster);
  const PodShapeRec& pod = world_.shapes.pod(ask.venue.pods[ask.set]);
  const int least = pod.spec.gpu.is_share() ? 0 : pod.gpus;
  const std::size_t first = pod.gpus > 0 ? ask.venue.types[ask.set].index() : 0;
  const std::size_t last = pod.gpus > 0 ? first + 1 : cluster.buckets.size();
  if (least > gpus_per_node_max || last > cluster.buckets.size()) return;
  for (std::size_t type = first; type < last; ++type) {
    for (std::uint32_t left = cluster.filled[type] >> least << least; left != 0; left &= left - 1) {
      for (const ListedClass& cls :
           cluster.buckets[type][static_cast<std::size_t>(std::countr_zero(left))]) {
        if (!visit(cls)) return;
      }
    }
  }
}

}  // namespace muster::sched
