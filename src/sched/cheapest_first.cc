#include "sched/cheapest_first.h"

#include <algorithm>

namespace muster::sched {
namespace {

/// For a heap with the cheapest, then the first-named node on top.
bool worse(const CheapestFirst::Found& a, const CheapestFirst::Found& b) {
  if (a.cost != b.cost) return a.cost > b.cost;
  return a.rank > b.rank;
}

}  // namespace

CheapestFirst::CheapestFirst(Placer& placer, const Placer::Ask& ask) : placer_(placer), ask_(ask) {
  FitCache& cache = placer.cache_;
  const PodShapeId pod = ask.venue.pods[ask.set];
  // Few nodes are in a domain: the others are no bounds to be waded through.
  const auto least =
      ask.domain == nullptr ? cache.least_loss(placer.world_, placer.policy_, pod) : std::nullopt;
  placer.each_class(ask, [&](const ListedClass& c) {
    if (least) {
      const std::int64_t cost = cache.cost_at_least(placer.world_, *least, c);
      heap_.push_back({cost, c.first_rank, c.id, c.generation, true});
    } else if (const auto found = judge(c.id)) {
      heap_.push_back(*found);
    }
    return true;
  });
  std::make_heap(heap_.begin(), heap_.end(), worse);
}

std::optional<CheapestFirst::Found> CheapestFirst::judge(ClassId cls) const {
  const NodeClass& c = placer_.world_.fleet.node_class(cls);
  if (!placer_.open_to(c, ask_) || !placer_.in_domain(c, ask_.domain)) return std::nullopt;
  const auto there =
      placer_.cache_.cost(placer_.world_, placer_.policy_, ask_.venue.pods[ask_.set], cls);
  if (!there) return std::nullopt;
  return Found{there->cost, c.first_rank, cls, c.generation, false};
}

void CheapestFirst::offer(ClassId cls) {
  const auto found = judge(cls);
  if (!found) return;
  heap_.push_back(*found);
  std::push_heap(heap_.begin(), heap_.end(), worse);
}

std::optional<CheapestFirst::Found> CheapestFirst::next() {
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), worse);
    const Found top = heap_.back();
    heap_.pop_back();
    const NodeClass& c = placer_.world_.fleet.node_class(top.cls);
    if (c.generation != top.generation) continue;
    // Its first node may have left, or a better one joined.
    if (!top.is_bound && c.first_rank == top.rank) return top;
    offer(top.cls);
  }
  return std::nullopt;
}

}  // namespace muster::sched
