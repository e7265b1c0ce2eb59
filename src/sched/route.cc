#include "sched/route.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "sched/counts.h"

namespace muster::sched {
namespace {

bool takes_jobs(model::Health health) {
  return health == model::Health::Ready || health == model::Health::Degraded;
}

/// The first kind of the gang's objects that the cluster does not serve.
std::optional<std::uint32_t> missing_kind(const Cluster& cluster, const model::Gang& gang) {
  if (!cluster.are_kinds_known) return std::nullopt;
  const auto is_missing = [&](const std::string& kind) {
    return !std::binary_search(cluster.kinds.begin(), cluster.kinds.end(), kind);
  };
  const auto first = std::find_if(gang.kinds.begin(), gang.kinds.end(), is_missing);
  if (first == gang.kinds.end()) return std::nullopt;
  return static_cast<std::uint32_t>(first - gang.kinds.begin());
}

/// Types a pod may use, in the order of names.
std::vector<TypeId> types_for(const World& world, const PodShapeRec& pod, const Rules& rules) {
  std::vector<TypeId> types;
  if (!pod.spec.gpu_types.empty() && rules.has(Rule::GpuTypes)) {
    for (const auto& name : pod.spec.gpu_types) {
      const TypeId type = world.fleet.find_type(name);
      if (!type.is_none()) types.push_back(type);
    }
  } else {
    for (std::size_t t = 1; t < world.fleet.type_count(); ++t) {
      types.push_back(TypeId{static_cast<std::uint16_t>(t)});
    }
  }
  std::sort(types.begin(), types.end(), [&](TypeId a, TypeId b) {
    return world.fleet.type_name(a) < world.fleet.type_name(b);
  });
  return types;
}

/// By set; none for sets without GPUs.
std::vector<std::vector<TypeId>> types_of_sets(const World& world, const Shape& shape,
                                               const Rules& rules) {
  std::vector<std::vector<TypeId>> types(shape.sets.size());
  for (std::size_t i = 0; i < shape.sets.size(); ++i) {
    const PodShapeRec& pod = world.shapes.pod(shape.sets[i].pod);
    if (pod.gpus > 0) types[i] = types_for(world, pod, rules);
  }
  return types;
}

/// Beyond so many venues of a gang in one cluster a set has only the first of its types.
constexpr std::size_t combinations_max = 16;

/// Each of the venues from `first` on with each of these types for the set.
void vary(std::vector<Venue>& venues, std::size_t first, std::size_t set,
          const std::vector<TypeId>& types) {
  const std::size_t found = venues.size() - first;
  const bool too_many = found * types.size() > combinations_max;
  for (std::size_t t = 0; t < (too_many ? 1 : types.size()); ++t) {
    for (std::size_t i = first; i < first + found; ++i) {
      if (t > 0) venues.push_back(Venue(venues[i]));
      (t > 0 ? venues.back() : venues[i]).types[set] = types[t];
    }
  }
}

/// One venue per type of the first GPU set; other sets use the same type where they may, else each
/// of their own.
template <typename IsThere>
void add_venues(World& world, const Shape& shape, std::vector<std::vector<TypeId>> types,
                ClusterId cluster, PoolId pool, const IsThere& is_there, std::vector<Venue>& out) {
  Venue base{cluster, pool, PerSet<TypeId>(shape.sets.size(), TypeId{0}), {}, 0};
  std::size_t lead = shape.sets.size();
  for (std::size_t i = 0; i < shape.sets.size(); ++i) {
    const SetRec& set = shape.sets[i];
    base.pods.push_back(
        pool.is_none() ? set.pod : world.shapes.in_pool(set.pod, pool, world.pool(pool).spec));
    if (world.shapes.pod(set.pod).gpus == 0) continue;
    std::erase_if(types[i], [&](TypeId type) { return !is_there(type); });
    if (types[i].empty()) return;
    lead = std::min(lead, i);
  }
  if (lead == shape.sets.size()) {
    out.push_back(std::move(base));
    return;
  }
  for (const TypeId type : types[lead]) {
    const std::size_t first = out.size();
    out.push_back(base);
    for (std::size_t i = lead; i < shape.sets.size(); ++i) {
      if (types[i].empty()) continue;
      const bool same = std::find(types[i].begin(), types[i].end(), type) != types[i].end();
      vary(out, first, i, same ? std::vector{type} : types[i]);
    }
  }
}

/// Venues with the same GPU types charge the same.
void add_charges(World& world, const Policy& policy, const Shape& shape, Venues& venues) {
  const Counts full = full_of(shape);
  const Counts least = least_of(shape);
  std::vector<const PerSet<TypeId>*> known;
  for (Venue& venue : venues.all) {
    const auto same = [&](const PerSet<TypeId>* types) { return *types == venue.types; };
    const auto it = std::find_if(known.begin(), known.end(), same);
    venue.charges = static_cast<std::uint32_t>(it - known.begin());
    if (it != known.end()) continue;
    known.push_back(&venue.types);
    venues.full.push_back(world.charges(shape, full, venue.types, policy));
    venues.least.push_back(least == full ? venues.full.back()
                                         : world.charges(shape, least, venue.types, policy));
  }
}

__extension__ using Wide = __int128;

/// Stops at the most that a thousand times as much is still a number of: see score_place().
std::int64_t price_of(const World& world, const Venue& venue, const Shape& shape) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 1000;
  const auto& prices = world.fleet.cluster(venue.cluster).spec.gpu_price_milli;
  Wide sum = 0;
  for (std::size_t i = 0; i < shape.sets.size(); ++i) {
    const PodShapeRec& pod = world.shapes.pod(shape.sets[i].pod);
    if (pod.gpus == 0) continue;
    const auto it = prices.find(world.fleet.type_name(venue.types[i]));
    if (it != prices.end()) sum += Wide(it->second) * pod.gpus * shape.sets[i].count;
  }
  return static_cast<std::int64_t>(std::min(sum, Wide(most)));
}

/// How much of a cluster is free of what the gang is about: GPUs, or CPU if it asks for no GPU.
struct FreePart {
  std::int64_t idle;
  std::int64_t all;

  FreePart(const Cluster& cluster, const Shape& shape)
      : idle(shape.gpu_milli > 0 ? cluster.idle_gpu_milli : cluster.idle_cpu),
        all(std::max<std::int64_t>(shape.gpu_milli > 0 ? cluster.gpu_milli : cluster.cpu, 1)) {}
  std::int64_t points() const { return static_cast<std::int64_t>(Wide(idle) * 1000 / all); }
  bool more_than(const FreePart& other) const {
    return Wide(idle) * other.all > Wide(other.idle) * all;
  }
};

/// From 1000 for the least there is downwards: half of that where there is twice as much and
/// `small` beside it. What is small makes no difference.
std::int64_t points_for_less(std::int64_t amount, std::int64_t least, std::int64_t small) {
  return static_cast<std::int64_t>(Wide(1000) * (Wide(small) + least) / (Wide(small) + amount));
}

/// 1000 when some node is left exactly full by the largest pods of the gang, less the more idle
/// devices its tightest node would keep.
std::int64_t snugness(const World& world, const Venue& venue, const Shape& shape) {
  std::int64_t worst = 1000;
  for (std::size_t i = 0; i < shape.sets.size(); ++i) {
    const PodShapeRec& pod = world.shapes.pod(shape.sets[i].pod);
    if (pod.gpus == 0) continue;
    const auto& nodes = world.fleet.cluster(venue.cluster).all[venue.types[i].index()];
    if (pod.spec.gpu.is_share()) continue;
    std::size_t whole = static_cast<std::size_t>(pod.gpus);
    while (whole < nodes.size() && nodes[whole] == 0) ++whole;
    const auto left = static_cast<std::int64_t>(whole) - pod.gpus;
    worst = std::min(worst, 1000 - std::min<std::int64_t>(left * 100, 1000));
  }
  return worst;
}

std::int64_t& at(ClusterScore& score, Part part) {
  return score.points[static_cast<std::size_t>(part)];
}

void add_up(ClusterScore& score, const ClusterWeights& weights) {
  score.total = 0;
  for (std::size_t p = 0; p < part_count; ++p) {
    score.total += score.points[p] * weight_of(static_cast<Part>(p), weights);
  }
  score.total /= 1000;
}

/// What is known of a venue whenever the gang would start there. Fit is halved where the cluster is
/// degraded.
void score_place(const World& world, const Shape& shape, const Venue& venue, std::int64_t price,
                 std::int64_t least_price, ClusterScore& score) {
  const Cluster& cluster = world.fleet.cluster(venue.cluster);
  score.cluster = venue.cluster;
  for (const TypeId type : venue.types) {
    if (type.v != 0) score.type = type;
  }
  const bool near =
      shape.gang.data_label.empty() || cluster.spec.labels.contains(shape.gang.data_label);
  if (cluster.health == model::Health::Degraded) at(score, Part::Fit) /= 2;
  at(score, Part::Price) =
      price == 0 ? 1000 : 1000 * std::max<std::int64_t>(least_price, 1) / price;
  at(score, Part::Data) = near ? 1000 : 0;
  at(score, Part::Spread) = FreePart(cluster, shape).points();
}

using Place = std::pair<ClusterId, PoolId>;

/// Clusters that the gang may use and that take jobs, through its pools if it names one, in the
/// order of their names; counts the others.
std::vector<Place> places_for(const World& world, const Rules& rules, const model::Gang& gang,
                              Venues& venues) {
  std::vector<PoolId> pools;
  if (!gang.pool.empty() && rules.has(Rule::Pools)) {
    if (const auto* members = world.find_fleet_pool(gang.pool)) {
      for (const auto& name : *members) pools.push_back(world.find_pool(name));
    } else {
      pools.push_back(world.find_pool(gang.pool));
    }
  }
  std::vector<Place> places;
  for (const ClusterId id : world.fleet.by_name()) {
    const Cluster& cluster = world.fleet.cluster(id);
    if (!cluster.joined) continue;
    if (rules.has(Rule::ClusterPins) &&
        (is_pinned_elsewhere(gang, cluster.spec.name) || excludes(gang, cluster.spec.name))) {
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
    if (const auto kind = missing_kind(cluster, gang); kind && rules.has(Rule::ClusterKinds)) {
      ++venues.lacking;
      venues.lacks = *kind;
      continue;
    }
    for (const PoolId pool : here) places.emplace_back(id, pool);
  }
  return places;
}

}  // namespace

bool is_pinned_elsewhere(const model::Gang& gang, const std::string& cluster) {
  const auto& pins = gang.clusters;
  return !pins.empty() && std::find(pins.begin(), pins.end(), cluster) == pins.end();
}

bool excludes(const model::Gang& gang, const std::string& cluster) {
  const auto& names = gang.excluded_clusters;
  return std::find(names.begin(), names.end(), cluster) != names.end();
}

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

NoCluster no_cluster(const Venues& venues, ShapeId shape) {
  NoCluster why{venues.excluded, venues.unhealthy, venues.lacking, ShapeId::none(), 0};
  if (venues.lacking == 0) return why;
  why.shape = shape;
  why.lacks = venues.lacks;
  return why;
}

Venues venues_of(World& world, const Policy& policy, const Shape& shape) {
  Venues venues;
  const std::vector<Place> places = places_for(world, policy.rules, shape.gang, venues);
  const auto types = types_of_sets(world, shape, policy.rules);
  venues.all.reserve(2 * places.size());
  for (const auto& [cluster, pool] : places) {
    const auto& seen = world.fleet.cluster(cluster).seen;
    const auto some_node = [&](TypeId t) { return t.index() < seen.size() && seen[t.index()] > 0; };
    add_venues(world, shape, types, cluster, pool, some_node, venues.all);
  }
  if (venues.all.empty()) {  // no node has what it asks for: who looks for room will say so
    for (const auto& [cluster, pool] : places) {
      const std::size_t known = world.fleet.cluster(cluster).buckets.size();
      const auto is_known = [&](TypeId type) { return type.index() < known; };
      add_venues(world, shape, types, cluster, pool, is_known, venues.all);
    }
  }
  add_charges(world, policy, shape, venues);
  return venues;
}

std::int64_t wait_points(Duration wait, Duration least) {
  return points_for_less(wait.ms, least.ms, hours(1).ms);
}

Duration longest_wait(std::int64_t points, Duration least) {
  constexpr Duration longest = hours(24 * 365 * 100);
  if (points <= 0) return longest;
  const Wide ms = Wide(1000) * (Wide(hours(1).ms) + least.ms) / points - hours(1).ms;
  return Duration{static_cast<std::int64_t>(std::min(ms, Wide(longest.ms)))};
}

std::int64_t damage_points(std::int64_t lost_gpu_ms, std::int64_t least) {
  return points_for_less(lost_gpu_ms, least, hours(1).ms);
}

std::vector<ClusterScore> score_venues(const World& world, const Policy& policy, const Shape& shape,
                                       const Venues& venues) {
  std::vector<ClusterScore> scores;
  scores.reserve(venues.all.size());
  std::int64_t least_price = std::numeric_limits<std::int64_t>::max();
  for (const Venue& venue : venues.all)
    least_price = std::min(least_price, price_of(world, venue, shape));
  for (const Venue& venue : venues.all) {
    ClusterScore& score = scores.emplace_back();
    score.points.fill(1000);
    score_place(world, shape, venue, price_of(world, venue, shape), least_price, score);
    add_up(score, policy.cluster_weights);
  }
  return scores;
}

void set_points(ClusterScore& score, Part part, std::int64_t points,
                const ClusterWeights& weights) {
  at(score, part) = points;
  add_up(score, weights);
}

void rank_clusters(const World& world, const Policy& policy, const Shape& shape,
                   const std::vector<int>& counts, std::vector<Candidate>& candidates) {
  std::int64_t least_price = std::numeric_limits<std::int64_t>::max();
  for (Candidate& c : candidates) {
    at(c.score, Part::Price) = price_of(world, *c.venue, shape);
    least_price = std::min(least_price, at(c.score, Part::Price));
  }
  const int pods = std::accumulate(counts.begin(), counts.end(), 0);
  struct Group {  // the candidates of one cluster, which stand together
    std::size_t from;
    std::size_t to;
    std::int64_t best;
  };
  std::vector<Group> groups;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Candidate& c = candidates[i];
    at(c.score, Part::Fit) = 1000 * pods / std::max(shape.pods, 1);
    at(c.score, Part::Fragmentation) = snugness(world, *c.venue, shape);
    at(c.score, Part::Wait) = 1000;
    at(c.score, Part::Damage) = 1000;
    score_place(world, shape, *c.venue, at(c.score, Part::Price), least_price, c.score);
    add_up(c.score, policy.cluster_weights);
    if (groups.empty() || candidates[groups.back().from].score.cluster != c.score.cluster)
      groups.push_back({i, i, c.score.total});
    groups.back().to = i + 1;
    groups.back().best = std::max(groups.back().best, c.score.total);
  }
  // Gangs without GPUs are small beside a cluster: thousandths of it would not tell clusters apart
  // before many of them stand in the first. Venues come in the order of cluster names, so the order
  // found first breaks the last ties.
  const auto free_part = [&](const Group& group) {
    return FreePart(world.fleet.cluster(candidates[group.from].score.cluster), shape);
  };
  std::sort(groups.begin(), groups.end(), [&](const Group& a, const Group& b) {
    if (a.best != b.best) return a.best > b.best;
    if (shape.gpu_milli == 0 && policy.cluster_weights.spread > 0) {
      if (free_part(a).more_than(free_part(b))) return true;
      if (free_part(b).more_than(free_part(a))) return false;
    }
    return a.from < b.from;
  });
  std::vector<Candidate> ranked;
  ranked.reserve(candidates.size());
  for (const Group& group : groups) {
    const auto from =
        ranked.insert(ranked.end(), candidates.begin() + static_cast<std::ptrdiff_t>(group.from),
                      candidates.begin() + static_cast<std::ptrdiff_t>(group.to));
    std::sort(from, ranked.end(), [&](const Candidate& a, const Candidate& b) {
      if (a.score.total != b.score.total) return a.score.total > b.score.total;
      return world.fleet.type_name(a.score.type) < world.fleet.type_name(b.score.type);
    });
  }
  candidates = std::move(ranked);
}

void rank_inside_cluster(const World& world, const Policy& policy,
                         std::span<Candidate> candidates) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Candidate& c : candidates) least = std::min(least, c.view.cost);
  for (Candidate& c : candidates) {
    // One unit of cost is about six thousandths of a GPU: what a pod spoils beyond the best, a
    // whole GPU giving 0.
    at(c.score, Part::Fragmentation) =
        1000 - std::min<std::int64_t>(1000, (c.view.cost - least) * 6);
    add_up(c.score, policy.cluster_weights);
  }
  std::sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
    if (a.score.total != b.score.total) return a.score.total > b.score.total;
    if (a.view.cost != b.view.cost) return a.view.cost < b.view.cost;
    if (a.view.rank != b.view.rank) return a.view.rank < b.view.rank;
    return world.fleet.type_name(a.score.type) < world.fleet.type_name(b.score.type);
  });
}

}  // namespace muster::sched
