#include "sched/route.h"

#include <algorithm>
#include <limits>

namespace muster::sched {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool takes_jobs(model::Health health) {
  return health == model::Health::Ready || health == model::Health::Degraded;
}

/// Types a pod may use in a cluster, most wanted first; any type in the order of names.
std::vector<TypeId> types_for(const World& world, const PodShapeRec& pod, ClusterId cluster,
                              const Rules& rules) {
  std::vector<TypeId> types;
  if (!pod.spec.gpu_types.empty() && rules.has(Rule::GpuTypes)) {
    for (const auto& name : pod.spec.gpu_types) {
      const TypeId type = world.fleet.find_type(name);
      if (!type.is_none()) types.push_back(type);
    }
  } else {
    for (std::size_t t = 1; t < world.fleet.type_count(); ++t)
      types.push_back(TypeId{static_cast<std::uint16_t>(t)});
    std::sort(types.begin(), types.end(), [&](TypeId a, TypeId b) {
      return world.fleet.type_name(a) < world.fleet.type_name(b);
    });
  }
  const std::size_t known = world.fleet.cluster(cluster).buckets.size();
  std::erase_if(types, [&](TypeId t) { return t.index() >= known; });
  return types;
}

/// One venue per type of the first GPU set; other sets use the same type where they may, else their
/// own first choice.
void add_venues(World& world, const Policy& policy, const Shape& shape, ClusterId cluster,
                PoolId pool, std::vector<Venue>& out) {
  Venue base{cluster, pool, std::vector<TypeId>(shape.sets.size(), TypeId{0}), {}};
  for (const SetRec& set : shape.sets) {
    base.pods.push_back(
        pool.is_none() ? set.pod : world.shapes.in_pool(set.pod, pool, world.pool(pool).spec));
  }
  std::vector<std::vector<TypeId>> types(shape.sets.size());
  std::size_t lead = shape.sets.size();
  for (std::size_t i = 0; i < shape.sets.size(); ++i) {
    const PodShapeRec& pod = world.shapes.pod(shape.sets[i].pod);
    if (pod.gpus == 0) continue;
    types[i] = types_for(world, pod, cluster, policy.rules);
    if (types[i].empty()) return;
    if (lead == shape.sets.size()) lead = i;
  }
  if (lead == shape.sets.size()) {
    out.push_back(std::move(base));
    return;
  }
  for (const TypeId type : types[lead]) {
    Venue venue = base;
    for (std::size_t i = 0; i < shape.sets.size(); ++i) {
      if (types[i].empty()) continue;
      const bool same = std::find(types[i].begin(), types[i].end(), type) != types[i].end();
      venue.types[i] = same ? type : types[i].front();
    }
    out.push_back(std::move(venue));
  }
}

std::int64_t price_of(const World& world, const Venue& venue, const Shape& shape) {
  const auto& prices = world.fleet.cluster(venue.cluster).spec.gpu_price_milli;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < shape.sets.size(); ++i) {
    const PodShapeRec& pod = world.shapes.pod(shape.sets[i].pod);
    if (pod.gpus == 0) continue;
    const auto it = prices.find(world.fleet.type_name(venue.types[i]));
    if (it != prices.end()) sum += it->second * pod.gpus * shape.sets[i].count;
  }
  return sum;
}

std::int64_t free_part(const Cluster& cluster) {
  std::int64_t free = 0;
  std::int64_t nodes = 0;
  for (const auto& type : cluster.all) {
    for (std::size_t whole = 0; whole < type.size(); ++whole) {
      free += static_cast<std::int64_t>(whole) * type[whole];
      nodes += type[whole];
    }
  }
  return nodes == 0 ? 0 : std::min<std::int64_t>(1000, free * 1000 / (nodes * 8));
}

}  // namespace

std::string_view to_text(Part part) {
  constexpr std::array<std::string_view, part_count> names = {
      "fit", "fragmentation", "price", "wait", "data", "spread", "damage"};
  return names[static_cast<std::size_t>(part)];
}

std::int64_t weight_of(Part part, const ClusterWeights& w) {
  switch (part) {
    case Part::Fit:
      return w.fit;
    case Part::Fragmentation:
      return w.fragmentation;
    case Part::Price:
      return w.price;
    case Part::Wait:
      return w.wait;
    case Part::Data:
      return w.data;
    case Part::Spread:
      return w.spread;
    case Part::Damage:
      return w.damage;
    case Part::Count:
      break;
  }
  return 0;
}

Venues venues_of(World& world, const Policy& policy, const Shape& shape) {
  Venues venues;
  const model::Gang& gang = shape.gang;
  const Rules& rules = policy.rules;
  std::vector<PoolId> pools;
  if (!gang.pool.empty() && rules.has(Rule::Pools)) {
    if (const auto* members = world.find_fleet_pool(gang.pool)) {
      for (const auto& name : *members) pools.push_back(world.find_pool(name));
    } else {
      pools.push_back(world.find_pool(gang.pool));
    }
  }
  for (const ClusterId id : world.fleet.by_name()) {
    const Cluster& cluster = world.fleet.cluster(id);
    if (!cluster.joined) continue;
    if (rules.has(Rule::ClusterPins) &&
        ((!gang.clusters.empty() && !contains(gang.clusters, cluster.spec.name)) ||
         contains(gang.excluded_clusters, cluster.spec.name))) {
      ++venues.excluded;
      continue;
    }
    std::vector<PoolId> here;
    for (const PoolId pool : pools) {
      if (!pool.is_none() && world.pool(pool).spec.cluster == cluster.spec.name)
        here.push_back(pool);
    }
    if (gang.pool.empty() || !rules.has(Rule::Pools)) {
      here.push_back(PoolId::none());
    } else if (here.empty()) {
      ++venues.excluded;
      continue;
    }
    if (!takes_jobs(cluster.health) && rules.has(Rule::ClusterHealth)) {
      ++venues.unhealthy;
      continue;
    }
    for (const PoolId pool : here) add_venues(world, policy, shape, id, pool, venues.all);
  }
  return venues;
}

void rank_candidates(const World& world, const Policy& policy, const Shape& shape,
                     std::vector<Candidate>& candidates) {
  std::int64_t least_cost = std::numeric_limits<std::int64_t>::max();
  std::int64_t least_price = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> prices;
  for (const Candidate& c : candidates) {
    least_cost = std::min(least_cost, c.view.cost);
    prices.push_back(price_of(world, *c.venue, shape));
    least_price = std::min(least_price, prices.back());
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Candidate& c = candidates[i];
    const Cluster& cluster = world.fleet.cluster(c.venue->cluster);
    auto& points = c.score.points;
    const auto at = [&](Part part) -> std::int64_t& {
      return points[static_cast<std::size_t>(part)];
    };
    int pods = 0;
    for (const int n : c.counts) pods += n;
    c.score.cluster = c.venue->cluster;
    for (const TypeId type : c.venue->types) {
      if (type.v != 0) c.score.type = type;
    }
    at(Part::Fit) =
        1000 * pods / std::max(shape.pods, 1) / (cluster.health == model::Health::Degraded ? 2 : 1);
    // One unit of cost is four thousandths of a GPU: what a pod spoils beyond the best, a whole GPU
    // giving 0.
    at(Part::Fragmentation) = 1000 - std::min<std::int64_t>(1000, (c.view.cost - least_cost) * 4);
    at(Part::Price) =
        prices[i] == 0 ? 1000 : 1000 * std::max<std::int64_t>(least_price, 1) / prices[i];
    at(Part::Wait) = 1000;
    at(Part::Data) =
        shape.gang.data_label.empty() || cluster.spec.labels.contains(shape.gang.data_label) ? 1000
                                                                                             : 0;
    at(Part::Spread) = free_part(cluster);
    at(Part::Damage) = 1000;
    c.score.total = 0;
    for (std::size_t p = 0; p < part_count; ++p) {
      c.score.total += points[p] * weight_of(static_cast<Part>(p), policy.cluster_weights);
    }
    c.score.total /= 1000;
  }
  std::sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
    if (a.score.total != b.score.total) return a.score.total > b.score.total;
    if (a.view.cost != b.view.cost) return a.view.cost < b.view.cost;
    if (a.venue->cluster != b.venue->cluster) {
      return world.fleet.cluster(a.venue->cluster).spec.name <
             world.fleet.cluster(b.venue->cluster).spec.name;
    }
    if (a.view.rank != b.view.rank) return a.view.rank < b.view.rank;
    return world.fleet.type_name(a.score.type) < world.fleet.type_name(b.score.type);
  });
}

}  // namespace muster::sched
