// Which clusters a gang may run in, and which of them is best: a table of named, weighted parts,
// one nominee at a time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sched/gang.h"
#include "sched/ids.h"
#include "sched/policy.h"
#include "sched/verdict.h"
#include "sched/world.h"

namespace muster::sched {

enum class Part { Fit, Fragmentation, Price, Wait, Data, Spread, Damage, Count };
constexpr std::size_t part_count = static_cast<std::size_t>(Part::Count);
std::string_view to_text(Part part);
std::int64_t weight_of(Part part, const ClusterWeights& weights);

/// One row of the table: a candidate cluster and the points it got, each part from 0 (bad) to 1000
/// (good).
struct ClusterScore {
  ClusterId cluster;
  TypeId type{0};  // of the last set with GPUs
  std::array<std::int64_t, part_count> points{};
  std::int64_t total = 0;      // weighted sum / 1000
  bool failed_before = false;  // a start of the job failed there: others come first
};

struct Venues {
  std::vector<Venue> all;
  // What the gang and the smallest that may start charge, by the GPU types they may use:
  std::vector<Charges> full;
  std::vector<Charges> least;
  int excluded = 0;         // clusters the job may not use by pin, exclusion or pool
  int lacking = 0;          // allowed, but without a kind of its objects
  int unhealthy = 0;        // allowed, but not taking jobs now
  std::uint32_t lacks = 0;  // of those that lack one, which the last did: index in Gang::kinds
};

/// Venues of a gang in the order of cluster names and wanted types. Looked up once per shape until
/// something changes.
Venues venues_of(World& world, const Policy& policy, const Shape& shape);

/// By its pins; by its exclusions.
bool is_pinned_elsewhere(const model::Gang& gang, const std::string& cluster);
bool excludes(const model::Gang& gang, const std::string& cluster);

/// Of a shape without venues.
NoCluster no_cluster(const Venues& venues, ShapeId shape);

struct Candidate {
  const Venue* venue = nullptr;
  VenueView view;
  ClusterScore score;
  bool inside = false;  // of the guarantee of its queue
};

/// Scores the candidates and sorts them: clusters by their best score, then name; inside a cluster
/// by score. Fragmentation is judged from counts of idle devices here: whether a node is left that
/// the gang's pods fill exactly.
void rank_clusters(const World& world, const Policy& policy, const Shape& shape,
                   const std::vector<int>& counts, std::vector<Candidate>& candidates);

/// Points of a start after so long a wait, 1000 for the shortest there is.
std::int64_t wait_points(Duration wait, Duration least);
/// The longest wait that gets so many points; an upper bound.
Duration longest_wait(std::int64_t points, Duration least);
/// Points of so much lost GPU-time, 1000 for the least.
std::int64_t damage_points(std::int64_t lost_gpu_ms, std::int64_t least);
/// Of each venue, in their order: what is known before anybody has looked for room or for victims;
/// fragmentation, wait and damage are full.
std::vector<ClusterScore> score_venues(const World& world, const Policy& policy, const Shape& shape,
                                       const Venues& venues);
/// The total follows.
void set_points(ClusterScore& score, Part part, std::int64_t points, const ClusterWeights& weights);

/// Sorts the candidates of one cluster anew by what its best nodes really cost (Placer::price).
void rank_inside_cluster(const World& world, const Policy& policy, std::span<Candidate> candidates);

}  // namespace muster::sched
