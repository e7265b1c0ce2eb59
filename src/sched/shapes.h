// Interned shapes. A pod shape is what one pod needs where it is sent (the pool's selector and
// tolerations are folded in); a shape is a gang of them. A million jobs of a few thousand shapes
// cost a few thousand entries here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/cluster.h"
#include "model/job.h"
#include "sched/ids.h"
#include "sched/spare_labels.h"

namespace muster::sched {

struct PodShapeRec {
  model::PodShape spec;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  int gpus = 0;
  std::vector<std::pair<std::uint32_t, std::int64_t>> extended;  // (index of the name, amount)
  std::uint32_t need =
      0;  // pods equal in amounts and GPUs share this: room and cost are remembered by it
  bool asks_labels = false;  // of nodes
  std::int64_t demand = 0;   // pods of this shape asked for so far
  bool relational =
      false;  // looks at other pods or at single nodes: placed pod by pod, node by node
};

struct SetRec {
  PodShapeId pod;
  int count = 1;
  int least = 1;
  int pods_per_node = 0;
};

struct Shape {
  model::Gang gang;
  std::vector<SetRec> sets;
  int pods = 0;
  int least_pods = 0;
  std::int64_t gpu_milli = 0;  // whole gang, 0 for CPU-only; shares by memory count as one device
  std::int64_t least_gpu_milli = 0;  // of the smallest gang that may start
  bool elastic = false;
  bool relational = false;  // some pod of it is
  bool keeps_away = false;  // some pod of it is choosy about what comes near: others are looked at
  std::uint64_t hash = 0;
  std::size_t jobs = 0;  // in the table; without any it is idle, and dropped after a while
};

class Shapes {
 public:
  ShapeId intern(const model::Gang& gang);
  /// The same pod sent through a pool: the pool's selector and tolerations added.
  PodShapeId in_pool(PodShapeId pod, PoolId pool, const model::PoolSpec& spec);

  /// Counts pods asked for, so that node choice knows what is usually asked.
  void expect(PodShapeId pod, std::int64_t count) {
    pods_[pod.index()].demand += count;
    demand_ += count;
  }
  std::int64_t demand() const { return demand_; }
  std::int64_t demand(PodShapeId pod) const { return pods_[pod.index()].demand; }

  /// A job of this shape is in the table from now on, or not any more.
  void add_job(ShapeId id) { idle_ -= shapes_[id.index()].jobs++ == 0 ? 1 : 0; }
  void drop_job(ShapeId id) { idle_ += --shapes_[id.index()].jobs == 0 ? 1 : 0; }
  std::size_t idle() const { return idle_; }
  /// By their numbers so far those from now on; none() for what is gone.
  struct Renumbered {
    std::vector<ShapeId> shapes;
    std::vector<PodShapeId> pods;
  };
  /// Drops those that no job has, what was asked for by them, and all that pools made of pods.
  Renumbered drop_idle();

  const Shape& operator[](ShapeId id) const { return shapes_[id.index()]; }
  const PodShapeRec& pod(PodShapeId id) const { return pods_[id.index()]; }
  std::size_t size() const { return shapes_.size(); }
  std::size_t pod_count() const { return pods_.size(); }
  std::size_t need_count() const { return needs_.size(); }

  std::uint32_t extended_index(const std::string& name);
  const std::vector<std::string>& extended_names() const { return extended_names_; }
  /// Makes a label key part of profiles.
  void ask_key(const std::string& key);
  /// By selectors of pods: other labels are in no shape (spare_labels.h). Forgotten with the shapes
  /// of those who asked.
  const AskedLabels& asked_labels() const { return asked_labels_; }
  void ask_labels(const AskedLabels& asked) { asked_labels_.add(asked); }
  /// Label keys that some pod asks about, for Fleet's profiles. Grows only.
  const std::vector<std::string>& asked_keys() const { return asked_keys_; }

 private:
  PodShapeId intern_pod(const model::PodShape& spec);

  std::vector<Shape> shapes_;
  std::vector<PodShapeRec> pods_;
  std::int64_t demand_ = 0;
  std::size_t idle_ = 0;  // shapes without jobs
  using Need = std::vector<std::int64_t>;
  std::map<Need, std::uint32_t> needs_;
  std::vector<std::string> extended_names_;
  std::vector<std::string> asked_keys_;
  AskedLabels asked_labels_;
  std::unordered_multimap<std::uint64_t, ShapeId> shape_ids_;   // lookup-only
  std::unordered_multimap<std::uint64_t, PodShapeId> pod_ids_;  // lookup-only
  std::unordered_map<std::uint64_t, PodShapeId> pooled_;        // lookup-only
};

std::uint64_t hash_of(const model::PodShape& pod);
std::uint64_t hash_of(const model::Gang& gang);

}  // namespace muster::sched
