// The last try for a gang of several sets: all ways to put its pods, cheapest nodes first, until
// one holds them all or a limit is reached. Sets that choose nodes one after the other can miss the
// one way there is; small gangs in small places are found if they fit at all.
#include <algorithm>
#include <tuple>
#include <utility>

#include "sched/gang.h"

namespace muster::sched {
namespace {

constexpr int pods_most = 32;
constexpr int looks_most = 4'000;  // at classes of nodes: about a millisecond

}  // namespace

struct Placer::Search {
  const Whole& whole;
  std::vector<PodOn>& out;
  int looks_left = looks_most;
  std::vector<NodeId> hidden = {};  // nodes that have as many pods of the set as they may
};

bool Placer::search(const Whole& whole, std::vector<PodOn>& out) {
  int pods = 0;
  for (const std::size_t i : whole.order) {
    pods += whole.counts[i];
    if (looks_at_others(whole.venue.pods[i])) return false;
  }
  if (pods > pods_most || !policy_.rules.has(Rule::GangWhole)) return false;
  Search state{whole, out};
  const bool found = search_on(state, 0, whole.counts[whole.order[0]], 0);
  for (const NodeId node : state.hidden) world_.fleet.hide(node, false);
  return found;
}

/// Puts the pods that are left, `left` of the set that is next in order and all of those behind it.
/// Pods of a set are alike: each goes to the same node as the one before it or to a later one.
bool Placer::search_on(Search& search, std::size_t set_at, int left, std::uint32_t least_rank) {
  const Whole& whole = search.whole;
  if (left == 0) {
    if (set_at + 1 == whole.order.size()) return true;
    for (const NodeId node : search.hidden) world_.fleet.hide(node, false);
    std::vector<NodeId> hidden = std::exchange(search.hidden, {});
    if (search_on(search, set_at + 1, whole.counts[whole.order[set_at + 1]], 0)) return true;
    search.hidden = std::move(hidden);
    for (const NodeId node : search.hidden) world_.fleet.hide(node, true);
    return false;
  }
  const std::size_t set = whole.order[set_at];
  const PodShapeId pod = whole.venue.pods[set];
  const Ask ask{whole.venue, set, whole.shape.sets[set].pods_per_node, whole.asker, whole.domain};
  std::vector<std::tuple<std::int64_t, std::uint32_t, ClassId>> classes;  // cost, first rank
  each_class(ask, [&](const ListedClass& listed) {
    if (--search.looks_left < 0) return false;
    if (listed.first_rank < least_rank) return true;
    const NodeClass& c = world_.fleet.node_class(listed.id);
    if (!open_to(c, ask) || !in_domain(c, ask.domain)) return true;
    if (const auto cost = cache_.cost(world_, policy_, pod, listed.id))
      classes.emplace_back(cost->cost, listed.first_rank, listed.id);
    return true;
  });
  std::sort(classes.begin(), classes.end());
  std::vector<NodeId> nodes;  // classes come and go while pods are tried on their nodes
  for (const auto& [cost, rank, cls] : classes) nodes.push_back(world_.fleet.first_member(cls));
  for (const NodeId node : nodes) {
    if (search.looks_left < 0) return false;
    const ClassId cls = world_.fleet.node(node).cls;
    search.out.push_back(put(ask, node, cache_.cost(world_, policy_, pod, cls)->device));
    const bool full = ask.per_node > 0 && policy_.rules.has(Rule::PodsPerNode) &&
                      of_set_on(node, ask) >= ask.per_node;
    if (full) {
      world_.fleet.hide(node, true);
      search.hidden.push_back(node);
    }
    if (search_on(search, set_at, left - 1, world_.fleet.node(node).rank)) return true;
    if (full) {
      world_.fleet.hide(node, false);
      search.hidden.pop_back();
    }
    world_.fleet.vacate(search.out.back(), world_.shapes);
    search.out.pop_back();
  }
  return false;
}

}  // namespace muster::sched
