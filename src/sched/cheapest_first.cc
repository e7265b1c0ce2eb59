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
      classes_.push_back({cost, c.first_rank, c.id, c.generation, true});
    } else if (const auto found = judge(c.id)) {
      classes_.push_back(*found);
    }
    return true;
  });
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
  classes_.push_back(*found);
  if (in_order_) std::push_heap(classes_.begin(), classes_.end(), worse);
}

void CheapestFirst::put_in_order() {
  if (!in_order_) std::make_heap(classes_.begin(), classes_.end(), worse);
  in_order_ = true;
}

CheapestFirst::Found CheapestFirst::take_best() {
  if (in_order_) {
    std::pop_heap(classes_.begin(), classes_.end(), worse);
  } else {
    std::swap(*std::max_element(classes_.begin(), classes_.end(), worse), classes_.back());
  }
  const Found best = classes_.back();
  classes_.pop_back();
  return best;
}

std::optional<CheapestFirst::Found> CheapestFirst::next() {
  if (asked_) put_in_order();
  asked_ = true;
  while (!classes_.empty()) {
    const Found best = take_best();
    const NodeClass& c = placer_.world_.fleet.node_class(best.cls);
    if (c.generation != best.generation) continue;
    // Its first node may have left, or a better one joined.
    if (!best.is_bound && c.first_rank == best.rank) return best;
    const auto found = judge(best.cls);
    // A bound that says the truth: nobody else's is below it.
    if (found && found->cost == best.cost && found->rank == best.rank) return found;
    put_in_order();
    if (!found) continue;
    classes_.push_back(*found);
    std::push_heap(classes_.begin(), classes_.end(), worse);
  }
  return std::nullopt;
}

}  // namespace muster::sched
