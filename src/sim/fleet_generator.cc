#include "sim/fleet_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "sched/shapes.h"

namespace muster::sim {
namespace {

constexpr std::array<std::string_view, 5> gpu_types = {"A100", "H100", "L40S", "T4", "V100"};
constexpr std::array<std::string_view, 3> zones = {"a", "b", "c"};
constexpr std::string_view zone_key = "topology.kubernetes.io/zone";
constexpr std::string_view rack_key = "muster.dev/rack";
constexpr std::string_view block_key = "muster.dev/block";
constexpr int nodes_per_rack = 16;
constexpr int racks_per_block = 4;
constexpr int main_type_percent = 70;

constexpr std::int64_t gib = std::int64_t{1} << 30;
constexpr std::int64_t node_cpu_milli = 96'000;
constexpr std::int64_t node_memory = 1024 * gib;

struct BucketRange {
  int percent_of_jobs;
  int percent_of_shapes;
  int shapes_of_a_team;
  int pods_low;
  int pods_high;
};
constexpr std::array<BucketRange, 4> ranges = {{
    {70, 24, 12, 1, 1},
    {20, 32, 8, 2, 8},
    {9, 32, 6, 16, 64},
    {1, 12, 2, 128, 512},
}};

constexpr std::array<Duration, 8> run_limits = {minutes(10), minutes(30), hours(1),  hours(2),
                                                hours(4),    hours(12),   hours(24), hours(72)};
constexpr int users_of_a_team = 8;
constexpr std::size_t constrained_every = 5;  // one gang in five has demands beyond amounts

// Independent streams of random numbers of one seed.
enum class Stream : std::uint64_t { Shapes = 1, Teams, Occupation, Jobs };
Prng stream(std::uint64_t seed, Stream which, std::uint64_t item = 0) {
  return Prng(seed * 0x9e3779b97f4a7c15ULL ^ (static_cast<std::uint64_t>(which) << 56) ^ item);
}

template <typename Items>
const auto& pick(const Items& items, Prng& prng) {
  return items[static_cast<std::size_t>(prng.below(items.size()))];
}

}  // namespace

FleetGenerator::FleetGenerator(const FleetSize& size, Time at) : size_(size), at_(at) {
  MUSTER_CHECK(size.clusters > 0 && size.nodes >= size.clusters && size.queues > 0,
               "a fleet needs a queue, a cluster and a node in each");
  Prng shapes = stream(size.seed, Stream::Shapes);
  make_gangs(shapes);
  Prng teams = stream(size.seed, Stream::Teams);
  make_teams(teams);
}

// ---------------------------------------------------------------------------------------- shapes

/// GPU types, zones or a topology domain that the gang could find on an empty fleet.
void FleetGenerator::constrain(model::Gang& gang, Prng& prng) const {
  model::PodSet& set = gang.sets.front();
  const std::uint64_t kind = prng.below(10);
  if (kind < 5 || set.count > 64) {
    const std::size_t first = prng.below(gpu_types.size());
    set.pod.gpu_types.emplace_back(gpu_types[first]);
    if (prng.chance(50)) {
      const std::size_t next = (first + 1 + prng.below(gpu_types.size() - 1)) % gpu_types.size();
      set.pod.gpu_types.emplace_back(gpu_types[next]);
    }
  } else if (kind < 8 || set.count == 1) {
    model::Requirement in_zones{std::string(zone_key), model::Operator::In, {}};
    in_zones.values.emplace_back(pick(zones, prng));
    set.pod.required_affinity.push_back({{std::move(in_zones)}, {}});
  } else {
    const bool in_rack = set.count <= nodes_per_rack;
    gang.topology = model::TopologyDomain{std::string(in_rack ? rack_key : block_key), true};
  }
}

model::Gang FleetGenerator::gang_of(Bucket bucket, bool constrained, Prng& prng) const {
  const BucketRange& range = ranges[static_cast<std::size_t>(bucket)];
  model::Gang gang;
  model::PodSet set;
  set.name = "worker";
  set.count = static_cast<int>(prng.between(range.pods_low, range.pods_high));
  const std::int64_t gpus = set.count < 8 ? 1 : fleet_gpus_per_node;
  set.pod.gpu.count = static_cast<int>(gpus);
  set.pod.requests.cpu.v = prng.between(8, 48) * 250 * gpus;         // 2 to 12 cores a GPU
  set.pod.requests.memory.v = prng.between(2, 15) * 8 * gib * gpus;  // 16 to 120 GiB a GPU
  gang.sets.push_back(std::move(set));
  if (constrained) constrain(gang, prng);
  return gang;
}

void FleetGenerator::make_gangs(Prng& prng) {
  std::set<std::uint64_t> seen;
  for (std::size_t b = 0; b < bucket_count; ++b) {
    const int wanted =
        std::max(ranges[b].shapes_of_a_team, size_.shapes * ranges[b].percent_of_shapes / 100);
    while (static_cast<int>(of_bucket_[b].size()) < wanted) {
      const bool constrained = of_bucket_[b].size() % constrained_every == 0;
      model::Gang gang = gang_of(static_cast<Bucket>(b), constrained, prng);
      if (!seen.insert(sched::hash_of(gang)).second) continue;
      of_bucket_[b].push_back(static_cast<std::uint32_t>(gangs_.size()));
      gangs_.push_back(std::move(gang));
    }
  }
}

void FleetGenerator::make_teams(Prng& prng) {
  const int branch = std::max(1, static_cast<int>(std::lround(std::cbrt(size_.queues))));
  for (int t = 0; t < size_.queues; ++t) {
    Team team;
    team.queue = fmt::format("team-{}-{}-{}", t % branch, t / branch % branch, t / branch / branch);
    for (std::size_t b = 0; b < bucket_count; ++b) {
      for (int i = 0; i < ranges[b].shapes_of_a_team; ++i) {
        const bool constrained = static_cast<std::size_t>(i + t) % constrained_every == 0;
        std::size_t at = prng.below(of_bucket_[b].size());
        while ((at % constrained_every == 0) != constrained) at = prng.below(of_bucket_[b].size());
        team.templates[b].push_back(
            {of_bucket_[b][at], pick(run_limits, prng), pick(run_limits, prng)});
      }
    }
    teams_.push_back(std::move(team));
  }
}

// ----------------------------------------------------------------------------------------- fleet

std::string FleetGenerator::cluster_name(int cluster) const {
  return fmt::format("cluster-{:02}", cluster);
}

int FleetGenerator::nodes_in(int cluster) const {
  return size_.nodes / size_.clusters + (cluster < size_.nodes % size_.clusters ? 1 : 0);
}

std::vector<model::Event> FleetGenerator::nodes_of(int cluster) const {
  std::vector<model::Event> events;
  const int count = nodes_in(cluster);
  const int blocks =
      (count + nodes_per_rack * racks_per_block - 1) / (nodes_per_rack * racks_per_block);
  const auto types = static_cast<int>(gpu_types.size());
  for (int n = 0; n < count; ++n) {
    const int rack = n / nodes_per_rack;
    const int block = rack / racks_per_block;
    const bool main = blocks == 1 || block * 100 < blocks * main_type_percent;
    const int type = (cluster + (main ? 0 : 1 + cluster / types % (types - 1))) % types;
    model::NodeSpec node;
    node.name = fmt::format("node-{:02}-{:05}", cluster, n);
    node.allocatable.cpu.v = node_cpu_milli;
    node.allocatable.memory.v = node_memory;
    node.gpu_count = fleet_gpus_per_node;
    node.gpu_type = gpu_types[static_cast<std::size_t>(type)];
    node.labels = {
        {std::string(zone_key), std::string(zones[static_cast<std::size_t>(block) % zones.size()])},
        {std::string(rack_key), fmt::format("r{:02}-{:04}", cluster, rack)},
        {std::string(block_key), fmt::format("b{:02}-{:03}", cluster, block)},
    };
    events.push_back({at_, model::NodeSeen{cluster_name(cluster), std::move(node)}});
  }
  return events;
}

std::vector<model::Event> FleetGenerator::fleet() const {
  std::vector<model::Event> events;
  for (int c = 0; c < size_.clusters; ++c) {
    model::ClusterSpec spec;
    spec.name = cluster_name(c);
    events.push_back({at_, model::ClusterSet{std::move(spec)}});
    for (model::Event& node : nodes_of(c)) events.push_back(std::move(node));
  }
  const int branch = std::max(1, static_cast<int>(std::lround(std::cbrt(size_.queues))));
  const std::int64_t promised =
      std::int64_t{size_.nodes} * fleet_gpus_per_node * 1000 * size_.guaranteed_percent / 100;
  /// `siblings`: how many there are of its level, in the whole tree.
  const auto set = [&](std::string name, std::string parent, std::uint32_t weight, int siblings) {
    model::QueueSpec spec;
    spec.name = std::move(name);
    spec.parent = std::move(parent);
    spec.weight = weight;
    if (promised > 0 && (spec.parent.empty() || size_.nested_guarantees))
      spec.limits["gpu"].guaranteed = promised / siblings;
    events.push_back({at_, model::QueueSet{std::move(spec)}});
  };
  for (int a = 0; a < branch; ++a) {
    set(fmt::format("org-{}", a), "", 1 + static_cast<std::uint32_t>(a) % 3, branch);
    for (int b = 0; b < branch; ++b)
      set(fmt::format("group-{}-{}", a, b), fmt::format("org-{}", a), 1, branch * branch);
  }
  for (int t = 0; t < size_.queues; ++t) {
    set(teams_[static_cast<std::size_t>(t)].queue,
        fmt::format("group-{}-{}", t % branch, t / branch % branch),
        1 + static_cast<std::uint32_t>(t) % 4, size_.queues);
  }
  return events;
}

std::vector<model::Event> FleetGenerator::occupation(int percent) const {
  struct Left {
    int gpus = fleet_gpus_per_node;
    std::int64_t cpu = node_cpu_milli;
    std::int64_t memory = node_memory;
  };
  std::vector<std::vector<Left>> left;
  for (int c = 0; c < size_.clusters; ++c) left.emplace_back(static_cast<std::size_t>(nodes_in(c)));
  Prng prng = stream(size_.seed, Stream::Occupation);
  std::vector<model::Event> events;
  const std::int64_t wanted = std::int64_t{size_.nodes} * fleet_gpus_per_node * percent / 100;
  constexpr std::array<int, 10> sizes = {1, 1, 1, 1, 1, 2, 2, 4, 8, 8};
  for (std::int64_t taken = 0; taken < wanted;) {
    const auto c = static_cast<std::size_t>(prng.below(left.size()));
    const auto n = static_cast<std::size_t>(prng.below(left[c].size()));
    Left& node = left[c][n];
    model::ForeignPod pod;
    pod.gpus = static_cast<int>(std::min<std::int64_t>(pick(sizes, prng), wanted - taken));
    pod.requests.cpu.v = prng.between(4, 48) * 250 * pod.gpus;
    pod.requests.memory.v = prng.between(8, 120) * gib * pod.gpus;
    if (pod.gpus > node.gpus || pod.requests.cpu.v > node.cpu ||
        pod.requests.memory.v > node.memory)
      continue;
    node.gpus -= pod.gpus;
    node.cpu -= pod.requests.cpu.v;
    node.memory -= pod.requests.memory.v;
    taken += pod.gpus;
    pod.uid = fmt::format("foreign-{}", events.size());
    pod.node = fmt::format("node-{:02}-{:05}", c, n);
    events.push_back(
        {at_, model::ForeignPodSeen{cluster_name(static_cast<int>(c)), std::move(pod)}});
  }
  return events;
}

// ------------------------------------------------------------------------------------------ jobs

model::Event FleetGenerator::job(std::int64_t number) const {
  Prng prng = stream(size_.seed, Stream::Jobs, static_cast<std::uint64_t>(number));
  const std::size_t team_number = prng.below(teams_.size());
  const Team& team = teams_[team_number];
  std::size_t bucket = 0;
  for (auto draw = static_cast<int>(prng.below(100)); draw >= ranges[bucket].percent_of_jobs;
       ++bucket)
    draw -= ranges[bucket].percent_of_jobs;
  const std::size_t chosen = prng.below(team.templates[bucket].size());
  const Template& from = team.templates[bucket][chosen];
  model::JobSpec spec;
  spec.id = fmt::format("job-{:07}", number);
  spec.name = fmt::format("{}-{}", bucket, chosen);
  spec.user = fmt::format("user-{}-{}", team_number, prng.below(users_of_a_team));
  spec.queue = team.queue;
  spec.gang = gangs_[from.gang];
  spec.run_limit = prng.chance(85) ? from.usual_limit : from.other_limit;
  const std::uint64_t lot = prng.below(1000);
  if (lot < 3 && bucket < 2) {
    spec.priority = 70;  // somebody sits before the screen
  } else if (lot >= 950) {
    spec.priority = 30;  // when there is room
  }
  return {at_, model::JobSubmitted{std::move(spec), static_cast<std::uint64_t>(number) + 1}};
}

void FleetGenerator::jobs(std::int64_t first, std::int64_t last, const Take& take) const {
  for (std::int64_t n = first; n < last; ++n) take(job(n));
}

}  // namespace muster::sim
