// How much room a pod set has in a venue while jobs leave, one after the other, without touching
// the world.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "sched/gang.h"

namespace muster::sched {

/// One set of pods that look at nothing but nodes: room by count is room.
bool is_simple(const World& world, const Shape& shape);

class RoomWalk {
 public:
  /// With a domain only its nodes count.
  RoomWalk(Placer& placer, const Venue& venue, std::size_t set, int per_node, const Asker& asker,
           std::optional<Placer::Domain> domain = std::nullopt);

  /// A pod of the set could go to the node if it were empty. One look at what pods and nodes are
  /// known to be.
  static bool could_hold(Placer& placer, const Venue& venue, std::size_t set, const Asker& asker,
                         NodeId node);

  /// What leaves this node can make room.
  bool counts(NodeId node) const;
  std::int64_t room() const { return room_; }
  /// These pods leave.
  void release(const std::vector<PodOn>& pods);
  /// They stay after all.
  void take_back(const std::vector<PodOn>& pods);
  /// Nodes that hold `count` pods at this point, in the order of their names: those with room
  /// already first, then those that become free, in the order in which they do.
  std::vector<NodeId> take(int count) const;

 private:
  struct Freed {
    NodeId node;
    NodeClass state;
    DeviceFree devices{};
    int pods = 0;
  };
  int limited(int pods) const { return per_node_ > 0 ? std::min(pods, per_node_) : pods; }
  const Placer::Domain* domain() const { return domain_ ? &*domain_ : nullptr; }
  int pods_on(const Freed& freed) const;
  void recount(Freed& freed);

  Placer& placer_;
  const Venue& venue_;
  std::size_t set_;
  int per_node_;
  Asker asker_;
  std::optional<Placer::Domain> domain_;
  std::int64_t room_ = 0;
  std::vector<Freed> freed_;
  boost::unordered_flat_map<NodeId, std::size_t, std::hash<NodeId>> freed_at_;  // lookup-only
};

}  // namespace muster::sched
