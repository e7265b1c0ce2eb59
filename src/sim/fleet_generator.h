// A fleet as a large operator has it, from a seed: clusters of nodes with 8 GPUs in racks, blocks
// and zones, queues in three levels, and a long list of waiting gangs. Everything comes as events,
// so a benchmark, a test or a simulation can apply it like anything else that happens.
//
// Each cluster has one main GPU type (seven nodes of ten) and a second one. A rack is 16 nodes, a
// block four racks; both have one GPU type and one zone. Gang sizes: 70 % one pod, 20 % 2 to 8,
// 9 % 16 to 64, 1 % 128 to 512 pods; a pod of a gang below 8 pods takes one GPU, others a whole
// node's. One gang in five asks for GPU types, zones or a topology domain. A team (a queue of the
// lowest level) draws from a few dozen shapes of its own, with a usual run-time limit each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "base/time.h"
#include "model/event.h"

namespace muster::sim {

struct FleetSize {
  int clusters = 10;
  int nodes = 10'000;
  int queues = 1'000;  // teams; the two levels above them come on top
  std::int64_t jobs = 1'000'000;
  int shapes = 2'500;  // distinct gangs to draw from
  std::uint64_t seed = 1;
  /// Top queues are promised this part of the fleet's GPUs in all; 0: nobody is promised anything.
  int guaranteed_percent = 0;
  /// And they promise all of that on, evenly, to the queues below them, those to their teams.
  bool nested_guarantees = false;
};

constexpr int fleet_gpus_per_node = 8;

class FleetGenerator {
 public:
  using Take = std::function<void(model::Event)>;

  FleetGenerator(const FleetSize& size, Time at);

  /// Clusters, nodes and queues.
  std::vector<model::Event> fleet() const;
  /// Foreign pods of 1, 2, 4 and 8 GPUs on random nodes until this part of all GPUs is taken; their
  /// CPU and memory vary, so that hardly two nodes are left in the same state.
  std::vector<model::Event> occupation(int percent) const;
  /// Jobs `first` to `last` (not included) in the order of their sequence, which starts at 1. Any
  /// part of the list can be made by itself and is always the same.
  void jobs(std::int64_t first, std::int64_t last, const Take& take) const;
  model::Event job(std::int64_t number) const;

  const FleetSize& size() const { return size_; }

 private:
  enum class Bucket { One, Small, Medium, Large };
  static constexpr std::size_t bucket_count = 4;
  struct Template {
    std::uint32_t gang = 0;  // index in gangs_
    Duration usual_limit;
    Duration other_limit;
  };
  struct Team {
    std::string queue;
    std::vector<Template> templates[bucket_count];
  };

  void make_gangs(Prng& prng);
  void make_teams(Prng& prng);
  model::Gang gang_of(Bucket bucket, bool constrained, Prng& prng) const;
  void constrain(model::Gang& gang, Prng& prng) const;
  std::vector<model::Event> nodes_of(int cluster) const;
  std::string cluster_name(int cluster) const;
  int nodes_in(int cluster) const;

  FleetSize size_;
  Time at_;
  std::vector<model::Gang> gangs_;
  std::vector<std::uint32_t> of_bucket_[bucket_count];  // indexes in gangs_
  std::vector<Team> teams_;
};

}  // namespace muster::sim
