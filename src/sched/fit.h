// Which pods fit which nodes, remembered. Static demands (selector, affinity, taints, GPU type) are
// judged once per pod shape and profile, the cost once per pod shape and class. A cache: it can be
// dropped at any time without changing who fits where. With it goes what NodeChoice::Worth and Fgd
// have learned of what is usually asked for (CostModel), which is made anew from the world only now
// and then: a fresh one may choose other nodes among those that fit.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "base/time.h"
#include "sched/fleet.h"
#include "sched/ids.h"
#include "sched/node_cost.h"
#include "sched/policy.h"
#include "sched/shapes.h"
#include "sched/world.h"

namespace muster::sched {

struct Match {
  bool known = false;
  bool allowed = false;
  std::uint16_t each = 0;       // thousandths of a device for this pod on this profile
  std::int32_t preference = 0;  // weights of preferred terms that hold, less those of soft taints
};

/// A point of preference is worth more than any difference of cost.
constexpr int preference_shift = 40;

/// How many pods of this shape fit on a node with these free amounts.
int pods_that_fit(const PodShapeRec& pod, std::uint16_t each, const NodeClass& node,
                  const GpuState& gpu, const Rules& rules);

class FitCache {
 public:
  CostModel model;

  /// In this plan the model is made anew before the first cost is asked for: a plan that places
  /// nothing need not wait for it.
  void renew_model(Time now) { renew_at_ = now; }
  void keep_model() { renew_at_.reset(); }
  /// Pods have other numbers, and what is gone is not asked for any more.
  void forget_pods() {
    matches_.clear();
    fits_.clear();
    model.demand = 0;
  }

  const Match& match(const World& world, const Policy& policy, PodShapeId pod, ProfileId profile) {
    const std::size_t at = place_in_row(world, pod, profile);
    if (pod.index() < matches_.size() && at < matches_[pod.index()].size()) {
      const Match& m = matches_[pod.index()][at];
      if (m.known) return m;
    }
    return new_match(world, policy, pod, profile);
  }
  /// How many pods of the shape one node of the class can take. Counted anew each time: that takes
  /// less than to find it in a table of all pods and classes.
  int room(const World& world, const Policy& policy, PodShapeId pod, ClassId cls) {
    const NodeClass& node = world.fleet.node_class(cls);
    const Match& m = match(world, policy, pod, node.profile);
    if (!m.allowed) return 0;
    return pods_that_fit(world.shapes.pod(pod), m.each, node, world.fleet.gpu(node.gpu),
                         policy.rules);
  }
  /// What the first of them would cost there, preferences included; nothing if there is no room.
  std::optional<NodeCost> cost(const World& world, const Policy& policy, PodShapeId pod,
                               ClassId cls);
  /// Bounds of cost() for this pod on all classes it fits; nothing if there are none but the cost.
  std::optional<worth::LeastLoss> least_loss(const World& world, const Policy& policy,
                                             PodShapeId pod);
  std::int64_t cost_at_least(const World& world, const worth::LeastLoss& least,
                             const ListedClass& cls) {
    return least.score(appraisal(world, cls.id, cls.generation).table, cls.whole);
  }

 private:
  struct ClassFit {
    std::uint32_t generation = 0;  // of the class this was computed for
    std::uint16_t pods = 0;
    std::uint16_t device = 0;
    std::int64_t cost = unknown_cost;
  };
  // Made when one of its classes is asked for: of ten thousand classes a need meets hundreds.
  static constexpr std::size_t chunk_size = 16;
  using Chunk = std::array<ClassFit, chunk_size>;
  static constexpr std::int64_t unknown_cost = std::numeric_limits<std::int64_t>::min();
  ClassFit& entry(const World& world, const Policy& policy, const PodShapeRec& pod,
                  std::uint16_t each, ClassId cls, const NodeClass& node) {
    if (pod.need < fits_.size() && cls.index() / chunk_size < fits_[pod.need].size()) {
      if (const auto& chunk = fits_[pod.need][cls.index() / chunk_size]) {
        ClassFit& f = (*chunk)[cls.index() % chunk_size];
        if (f.generation == node.generation) return f;
      }
    }
    return new_entry(world, policy, pod, each, cls);
  }
  const worth::Appraisal& appraisal(const World& world, ClassId cls, std::uint32_t generation) {
    if (cls.index() < appraised_.size() && appraised_[cls.index()].generation == generation)
      return appraised_[cls.index()].is;
    return new_appraisal(world, cls);
  }
  const worth::Appraisal& new_appraisal(const World& world, ClassId cls);
  void make_model_anew(const World& world);
  /// Of a pod that asks for no label all profiles of a kind are one: its row stays short, however
  /// many racks there are.
  static std::size_t place_in_row(const World& world, PodShapeId pod, ProfileId profile) {
    return world.shapes.pod(pod).asks_labels ? profile.index() : world.fleet.kind_of(profile);
  }
  const Match& new_match(const World& world, const Policy& policy, PodShapeId pod,
                         ProfileId profile);
  ClassFit& new_entry(const World& world, const Policy& policy, const PodShapeRec& pod,
                      std::uint16_t each, ClassId cls);

  std::optional<Time> renew_at_;
  std::vector<std::vector<Match>> matches_;                // [pod shape][profile, or its kind]
  std::vector<std::vector<std::unique_ptr<Chunk>>> fits_;  // [need][class / chunk_size]
  struct Appraised {
    std::uint32_t generation = 0;
    worth::Appraisal is;
  };
  std::vector<Appraised> appraised_;  // by class
};

}  // namespace muster::sched
