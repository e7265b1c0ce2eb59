// A gang that fits is placed: on small fleets all ways to put its pods are tried by hand, and if
// one of them holds, the engine must start the gang. The other way round, too.
//
//   MUSTER_COMPLETE_RUNS  how many fleets (default: enough for CI)
//   MUSTER_COMPLETE_SEED  seed of the first one (default 1)
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/prng.h"
#include "sched/plan.h"
#include "sim/scenario.h"
#include "tests/properties/history.h"

namespace muster::properties {
namespace {

/// One cluster of up to four nodes, one gang of up to three sets and six pods.
class Small {
 public:
  explicit Small(std::uint64_t seed) : draw_(seed) {}

  History write() {
    History lines = {fmt::format("policy choice={}", pick({"best-fit", "worth", "spread", "fgd"})),
                     "cluster a"};
    const std::int64_t nodes = draw_.between(1, 4);
    for (std::int64_t i = 1; i <= nodes; ++i) lines.push_back(node(i));
    if (draw_.chance(30))
      lines.push_back(fmt::format("foreign a/n1 f gpu={} cpu=1", draw_.below(2)));
    lines.push_back("queue q");
    const bool in_rack = draw_.chance(20);
    lines.push_back(fmt::format("submit j queue=q{}", in_rack ? " topology=rack" : ""));
    std::int64_t left = 6;
    const std::int64_t sets = draw_.between(1, 3);
    for (std::int64_t i = 0; i < sets && left > 0; ++i) {
      const std::int64_t count = draw_.between(1, std::min<std::int64_t>(left, 3));
      left -= count;
      lines.push_back(set(i, count));
    }
    return lines;
  }

 private:
  std::string_view pick(const std::vector<std::string_view>& words) {
    return words[draw_.below(words.size())];
  }
  std::string node(std::int64_t number) {
    std::string line = fmt::format("node a/n{} cpu={} label:rack={}", number, draw_.between(2, 9),
                                   pick({"r1", "r1", "r2"}));
    if (draw_.chance(80)) line += fmt::format(" gpu={}xA100", pick({"1", "2", "3", "4"}));
    if (draw_.chance(30)) line += fmt::format(" pods={}", draw_.between(1, 4));
    if (draw_.chance(30)) line += fmt::format(" ext:nic={}", draw_.between(1, 3));
    if (draw_.chance(40)) line += " label:disk=ssd";
    return line;
  }
  std::string set(std::int64_t number, std::int64_t count) {
    std::string line = fmt::format("set s{} pods={} cpu={}", number, count, draw_.between(1, 5));
    if (draw_.chance(75)) line += fmt::format(" gpu={}", draw_.between(1, 3));
    if (draw_.chance(20)) line += fmt::format(" ext:nic={}", draw_.between(1, 2));
    if (draw_.chance(20)) line += " select:disk=ssd";
    if (draw_.chance(20)) line += fmt::format(" per-node={}", draw_.between(1, 2));
    return line;
  }
  Prng draw_;
};

/// Free amounts of a node, from its spec and the pods of others.
struct Free {
  const model::NodeSpec* spec;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  int gpus = 0;
  int pods = 0;
  std::int64_t nic = 0;
  int of_set = 0;
};

std::int64_t nic_of(const model::Resources& r) {
  const auto it = r.extended.find("nic");
  return it == r.extended.end() ? 0 : it->second;
}

class ByHand {
 public:
  explicit ByHand(const sched::World& world) : gang_(world.shapes[job(world).shape].gang) {
    const sched::ClusterId cluster = world.fleet.find_cluster("a");
    for (const sched::NodeId id : world.fleet.cluster(cluster).nodes) {
      const sched::Node& node = world.fleet.node(id);
      Free free{&node.spec,          node.spec.allocatable.cpu.v, node.spec.allocatable.memory.v,
                node.spec.gpu_count, node.spec.pods_max,          nic_of(node.spec.allocatable)};
      for (const auto& [uid, pod] : node.foreign) {
        free.cpu -= pod.requests.cpu.v;
        free.gpus -= std::min(pod.gpus, free.gpus);
        --free.pods;
      }
      nodes_.push_back(free);
    }
  }

  bool fits() { return next(0, 0, 0); }

 private:
  static const sched::Job& job(const sched::World& world) { return world.job(world.find_job("j")); }

  bool takes(const Free& node, const model::PodSet& set) const {
    for (const auto& [key, value] : set.pod.node_selector) {
      const auto it = node.spec->labels.find(key);
      if (it == node.spec->labels.end() || it->second != value) return false;
    }
    if (gang_.topology && rack_ && *rack_ != node.spec->labels.at("rack")) return false;
    return node.pods > 0 && node.gpus >= set.pod.gpu.count && node.cpu >= set.pod.requests.cpu.v &&
           node.memory >= set.pod.requests.memory.v && node.nic >= nic_of(set.pod.requests) &&
           (set.pods_per_node == 0 || node.of_set < set.pods_per_node);
  }

  void put(Free& node, const model::PodSet& set, int sign) {
    node.pods -= sign;
    node.of_set += sign;
    node.gpus -= sign * set.pod.gpu.count;
    node.cpu -= sign * set.pod.requests.cpu.v;
    node.memory -= sign * set.pod.requests.memory.v;
    node.nic -= sign * nic_of(set.pod.requests);
  }

  /// Pods of a set are alike: their nodes come in order.
  bool next(std::size_t set_at, int pod, std::size_t first_node) {
    if (set_at == gang_.sets.size()) return true;
    const model::PodSet& set = gang_.sets[set_at];
    if (pod == set.count) {
      std::vector<Free> kept = nodes_;
      for (Free& node : nodes_) node.of_set = 0;
      if (next(set_at + 1, 0, 0)) return true;
      nodes_ = std::move(kept);
      return false;
    }
    for (std::size_t n = first_node; n < nodes_.size(); ++n) {
      if (!takes(nodes_[n], set)) continue;
      const auto rack = rack_;
      rack_ = nodes_[n].spec->labels.at("rack");
      put(nodes_[n], set, +1);
      if (next(set_at, pod + 1, n)) return true;
      put(nodes_[n], set, -1);
      rack_ = rack;
    }
    return false;
  }

  const model::Gang& gang_;
  std::vector<Free> nodes_;
  std::optional<std::string> rack_;  // of the pods put so far
};

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(Complete, AGangThatFitsAFewNodesIsPlaced) {
  const std::uint64_t first = from_environment("MUSTER_COMPLETE_SEED", 1);
  const std::uint64_t runs = from_environment("MUSTER_COMPLETE_RUNS", 3000);
  std::size_t fitted = 0;
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    const History history = Small(seed).write();
    sim::Scenario scenario;
    for (const std::string& line : history) ASSERT_TRUE(scenario.run(line)) << line;
    ASSERT_TRUE(scenario.flush());
    const bool fits = ByHand(scenario.world()).fits();
    const sched::Plan plan =
        sched::plan(scenario.world(), scenario.agenda(), scenario.policy(), scenario.now());
    const bool placed = std::any_of(
        plan.decisions.begin(), plan.decisions.end(),
        [](const auto& decision) { return std::holds_alternative<model::Placed>(decision); });
    ASSERT_EQ(placed, fits) << "seed " << seed << "\n" << text_of(history);
    fitted += fits ? 1 : 0;
  }
  EXPECT_GT(fitted, runs / 8) << "the fleets are too small to say anything";
  EXPECT_LT(fitted, runs * 4 / 5) << "the fleets are too large to say anything";
}

}  // namespace
}  // namespace muster::properties
