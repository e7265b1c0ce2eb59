#include "clusters/kubernetes/bound_pods.h"

#include <utility>

namespace muster::clusters {

namespace {

constexpr Duration patience = seconds(5);  // for the pods that are not bound yet

/// How many pods of a set have this node, in the order of sets and nodes.
using Bound = std::map<std::pair<std::uint32_t, std::string>, int>;

/// Pods that come or stay first; of those that go, as many as are needed to make up the gang.
Bound bound_of(const std::vector<PodSight>& pods, const std::vector<model::PodPlace>& places) {
  std::map<std::uint32_t, int> wanted;
  for (const model::PodPlace& place : places) ++wanted[place.set];
  Bound bound;
  const auto add = [&](bool stays) {
    for (const PodSight& pod : pods) {
      if (pod.node.empty() || !pod.set || (pod.is_live() && !pod.is_deleting) != stays) continue;
      int& left = wanted[*pod.set];
      if (left == 0) continue;
      --left;
      ++bound[{*pod.set, pod.node}];
    }
  };
  add(true);
  add(false);
  return bound;
}

struct Moved {
  bool any = false;
  bool are_all_bound = true;
};

/// Pods that are where they were planned stay there in the list; the others move in it, as far as
/// they are bound.
Moved put_into(std::vector<model::PodPlace>& places, Bound bound) {
  std::vector<model::PodPlace*> open;
  for (model::PodPlace& place : places) {
    const auto at = bound.find({place.set, place.node});
    if (at == bound.end() || at->second == 0) {
      open.push_back(&place);
    } else {
      --at->second;
    }
  }
  std::erase_if(bound, [](const auto& one) { return one.second == 0; });
  Moved moved;
  for (model::PodPlace* place : open) {
    const auto at = bound.lower_bound({place->set, ""});
    if (at == bound.end() || at->first.first != place->set) {
      moved.are_all_bound = false;
      continue;
    }
    place->node = at->first.second;
    moved.any = true;
    if (--at->second == 0) bound.erase(at);
  }
  return moved;
}

}  // namespace

void BoundPods::expect(const ports::Attempt& attempt, std::vector<model::PodPlace> places) {
  places_[attempt] = std::move(places);
}

std::optional<model::PodsBound> BoundPods::look(const ports::Attempt& attempt,
                                                const std::vector<PodSight>& pods,
                                                const TypeOf& type_of, Time now) {
  const auto at = places_.find(attempt);
  if (at == places_.end()) return std::nullopt;
  std::vector<model::PodPlace> places = at->second;
  const Moved moved = put_into(places, bound_of(pods, places));
  if (moved.any && !moved.are_all_bound) {
    const auto [due, is_new] = due_.try_emplace(attempt, now + patience);
    if (now < due->second) return std::nullopt;
  }
  due_.erase(attempt);
  if (!moved.any) return std::nullopt;
  for (model::PodPlace& place : places) {
    if (place.devices != 0) place.gpu_type = type_of(place.node).value_or(place.gpu_type);
  }
  at->second = places;
  return model::PodsBound{attempt.job, attempt.number, std::move(places)};
}

const std::vector<model::PodPlace>& BoundPods::booked(const ports::Attempt& attempt) const {
  static const std::vector<model::PodPlace> nowhere;
  const auto at = places_.find(attempt);
  return at == places_.end() ? nowhere : at->second;
}

std::vector<ports::Attempt> BoundPods::due(Time now) const {
  std::vector<ports::Attempt> found;
  for (const auto& [attempt, when] : due_) {
    if (when <= now) found.push_back(attempt);
  }
  return found;
}

void BoundPods::forget(const std::function<bool(const ports::Attempt&)>& is_over) {
  std::erase_if(places_, [&](const auto& one) { return is_over(one.first); });
  std::erase_if(due_, [&](const auto& one) { return is_over(one.first); });
}

}  // namespace muster::clusters
