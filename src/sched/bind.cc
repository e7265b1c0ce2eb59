// Pods that the cluster's own scheduler bound elsewhere than planned: the books follow them.
//
// Only the event and the books decide, never what is seen of nodes, so that a restart folds to the
// same: the event says the GPU types, and devices are chosen by what our own pods have. A node may
// be over-committed by that, or not be known yet; it then has no room until it has.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "sched/world.h"

namespace muster::sched {
namespace {

/// A pod of the gang, and the place that it is in now.
struct Move {
  std::size_t pod;
  std::size_t place;
};

/// Pods that are in one of the places stay as they are; the others take what is left, set by set.
/// None: these places are not those of this gang.
std::optional<std::vector<Move>> moves_of(const Fleet& fleet, const Active& active,
                                          const std::vector<model::PodPlace>& places) {
  if (places.size() != active.pods.size()) return std::nullopt;
  std::map<std::pair<std::uint32_t, NodeId>, std::vector<std::size_t>> standing;
  for (std::size_t i = active.pods.size(); i-- > 0;)
    standing[{active.pods[i].set, active.pods[i].node}].push_back(i);
  std::map<std::uint32_t, std::vector<std::size_t>> elsewhere;  // places, by set
  for (std::size_t i = 0; i < places.size(); ++i) {
    const NodeId node = fleet.find_node(active.cluster, places[i].node);
    const auto at = standing.find({places[i].set, node});
    if (at == standing.end() || at->second.empty()) {
      elsewhere[places[i].set].push_back(i);
    } else {
      at->second.pop_back();
    }
  }
  std::vector<std::size_t> leaving;
  for (const auto& [where, pods] : standing)
    leaving.insert(leaving.end(), pods.begin(), pods.end());
  std::sort(leaving.begin(), leaving.end());  // nodes are numbered as they were met
  std::vector<Move> moves;
  std::map<std::uint32_t, std::size_t> taken;
  for (const std::size_t pod : leaving) {
    const std::uint32_t set = active.pods[pod].set;
    const std::vector<std::size_t>& free = elsewhere[set];
    const std::size_t next = taken[set]++;
    if (next >= free.size()) return std::nullopt;  // fewer pods of this set, more of another
    moves.push_back({pod, free[next]});
  }
  return moves;
}

}  // namespace

std::vector<model::PodPlace> places_of(const World& world, const Active& active) {
  std::vector<model::PodPlace> places;
  places.reserve(active.pods.size());
  for (const PodOn& pod : active.pods) {
    const model::NodeSpec& node = world.fleet.node(pod.node).spec;
    places.push_back(
        {pod.set, node.name, pod.devices != 0 ? node.gpu_type : "", pod.devices, pod.each});
  }
  return places;
}

bool World::bind(JobSlot slot, const std::vector<model::PodPlace>& places, Time at,
                 const Policy& policy) {
  Job& job = jobs_[slot.index()];
  Active& active = *job.active;
  const auto moves = moves_of(fleet, active, places);
  if (!moves || moves->empty()) return false;
  if (!active.stopping) count_running(slot, -1);
  for (const Move& move : *moves) fleet.vacate(active.pods[move.pod], shapes);
  for (const Move& move : *moves) {
    PodOn& pod = active.pods[move.pod];
    pod.node = fleet.node_for(active.cluster, places[move.place].node);
    pod.devices = fleet.seat(pod.node, pod.each == 0 ? 0 : shapes.pod(pod.pod).gpus, pod.each);
    fleet.occupy(pod, shapes);
  }
  recharge(slot, charges(shapes[job.shape], places, policy), at, policy.half_life);
  if (!active.stopping) count_running(slot, +1);
  attempt_changed(slot);
  changes.started.push_back(slot);
  return true;
}

void World::recharge(JobSlot slot, Charges charges, Time at, Duration half_life) {
  Job& job = jobs_[slot.index()];
  std::vector<QueueId> queues = job.extra_queues;
  queues.insert(queues.begin(), job.queue);
  for (const QueueId queue : queues) {
    quota.charge(queue, job.active->charges, -1, at, half_life);
    quota.charge(queue, charges, +1, at, half_life);
    changes.freed.push_back(queue);
  }
  job.active->charges = std::move(charges);
  settle_guarantee(slot);
}

}  // namespace muster::sched
