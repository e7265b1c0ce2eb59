#include "sched/fit.h"

#include <gtest/gtest.h>

#include "sched/testing/site.h"

namespace muster::sched {
namespace {

using testing::node_spec;
using testing::Site;

TEST(Fit, AsManyPodsAsTheScarcestAmountAllows) {
  struct Row {
    std::int64_t pod_cpu, pod_memory;
    int pod_gpus;
    std::uint16_t each;
    std::int64_t cpu, memory;
    int slots;
    std::vector<std::uint16_t> devices;
    int pods;
  };
  const Row rows[] = {
      {1000, 0, 0, 0, 4000, 0, 10, {}, 4},                  // by cpu
      {1000, 10, 0, 0, 4000, 25, 10, {}, 2},                // by memory
      {1, 1, 0, 0, 4000, 4000, 3, {}, 3},                   // by pods of the node
      {0, 0, 0, 0, 0, 0, 5, {}, 5},                         // asks for nothing
      {1000, 0, 0, 0, -500, 0, 10, {}, 0},                  // overcommitted by others
      {0, 0, 0, 0, -500, 0, 10, {}, 10},                    // which it does not mind
      {0, 0, 2, 1000, 0, 0, 10, {1000, 1000, 1000, 0}, 1},  // whole devices
      {0, 0, 2, 1000, 0, 0, 10, {1000, 999, 999, 0}, 0},    // partly used ones are not whole
      {0, 0, 1, 500, 0, 0, 10, {1000, 500, 499, 0}, 3},     // shares of one device each
      {0, 0, 1, 300, 0, 0, 10, {1000, 600, 200, 0}, 5},     //
      {0, 0, 1, 1, 0, 0, 10'000, {1000, 0}, 1000},          //
      {0, 0, 1, 600, 0, 0, 10, {500, 500, 500, 500}, 0},    // never of two
      {0, 0, 1, 1000, 0, 0, 0, {1000}, 0},                  // no pod allowed
      {0, 0, 1, 1000, 0, 0, -1, {1000}, 0},
  };
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    const Row& row = rows[i];
    PodShapeRec pod;
    pod.cpu = row.pod_cpu;
    pod.memory = row.pod_memory;
    pod.gpus = row.pod_gpus;
    NodeClass node;
    node.cpu = row.cpu;
    node.memory = row.memory;
    node.pod_slots = row.slots;
    GpuStates states;
    DeviceFree devices{};
    std::copy(row.devices.begin(), row.devices.end(), devices.begin());
    const GpuState& gpu = states[states.intern(devices, static_cast<int>(row.devices.size()))];
    EXPECT_EQ(pods_that_fit(pod, row.each, node, gpu, Rules{}), row.pods) << "row " << i;
  }
}

TEST(Fit, ExtendedResourcesCount) {
  PodShapeRec pod;
  pod.extended = {{1, 2}};
  NodeClass node;
  node.pod_slots = 10;
  EXPECT_EQ(pods_that_fit(pod, 0, node, GpuState{}, Rules{}), 0);
  node.extended = {9};
  EXPECT_EQ(pods_that_fit(pod, 0, node, GpuState{}, Rules{}), 0) << "of another resource";
  node.extended = {0, 5};
  EXPECT_EQ(pods_that_fit(pod, 0, node, GpuState{}, Rules{}), 2);
  node.extended = {0, -5};
  EXPECT_EQ(pods_that_fit(pod, 0, node, GpuState{}, Rules{}), 0);
}

/// The match of one pod with one node, both given as changes of a plain pair that fits.
Match match_of(const std::function<void(model::PodShape&)>& pod,
               const std::function<void(model::NodeSpec&)>& node) {
  Site site;
  site.cluster("a");
  site.queue("q");
  model::JobSpec spec = testing::job_spec("job", "q", 1, 1);
  pod(spec.gang.sets[0].pod);
  site.submit(spec);
  model::NodeSpec machine = node_spec("n", 4);
  node(machine);
  site.node("a", machine);
  site.world.fleet.settle(site.world.shapes);
  FitCache cache;
  return cache.match(site.world, site.policy, site.world.shapes[site.job("job").shape].sets[0].pod,
                     site.node_of("a", "n").profile);
}

TEST(Fit, DemandsOnTheNodeItself) {
  using Pod = model::PodShape;
  using Machine = model::NodeSpec;
  struct Row {
    const char* what;
    std::function<void(Pod&)> pod;
    std::function<void(Machine&)> node;
    bool allowed;
  };
  const auto no_pod = [](Pod&) {};
  const auto no_node = [](Machine&) {};
  const auto zone_x = [](Machine& n) { n.labels["zone"] = "x"; };
  const auto tainted = [](Machine& n) {
    n.taints.push_back({"team", "red", model::TaintEffect::NoSchedule});
  };
  const Row rows[] = {
      {"plain", no_pod, no_node, true},
      {"selector", [](Pod& p) { p.node_selector["zone"] = "x"; }, zone_x, true},
      {"selector of another value", [](Pod& p) { p.node_selector["zone"] = "y"; }, zone_x, false},
      {"selector of a missing label", [](Pod& p) { p.node_selector["zone"] = "x"; }, no_node,
       false},
      {"taint", no_pod, tainted, false},
      {"tolerated taint", [](Pod& p) { p.tolerations.push_back({"team", false, "red", ""}); },
       tainted, true},
      {"soft taint", no_pod,
       [](Machine& n) { n.taints.push_back({"k", "v", model::TaintEffect::PreferNoSchedule}); },
       true},
      {"GPU type", [](Pod& p) { p.gpu_types = {"A100"}; }, no_node, true},
      {"one of two GPU types", [](Pod& p) { p.gpu_types = {"H100", "A100"}; }, no_node, true},
      {"another GPU type", [](Pod& p) { p.gpu_types = {"H100"}; }, no_node, false},
      {"more devices than there are", [](Pod& p) { p.gpu.count = 5; }, no_node, false},
      {"zone of its volume", [](Pod& p) { p.volume_zones = {"x"}; },
       [](Machine& n) { n.labels["topology.kubernetes.io/zone"] = "x"; }, true},
      {"another zone than its volume's", [](Pod& p) { p.volume_zones = {"x"}; },
       [](Machine& n) { n.labels["topology.kubernetes.io/zone"] = "y"; }, false},
      {"a term that matches nothing", [](Pod& p) { p.required_affinity = {model::NodeTerm{}}; },
       no_node, false},
      {"any of two terms",
       [](Pod& p) {
         p.required_affinity = {
             {{{"zone", model::Operator::In, {"y"}}}, {}},
             {{{"zone", model::Operator::In, {"x"}}}, {}},
         };
       },
       zone_x, true},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(match_of(row.pod, row.node).allowed, row.allowed) << row.what;
  }
}

TEST(Fit, AShareByMemoryFollowsTheDevice) {
  struct Row {
    std::int64_t asked, device;
    bool allowed;
    int each;
  };
  constexpr std::int64_t gi = std::int64_t{1} << 30;
  const Row rows[] = {{10 * gi, 40 * gi, true, 250},  {10 * gi, 30 * gi, true, 334},
                      {40 * gi, 40 * gi, true, 1000}, {41 * gi, 40 * gi, false, 0},
                      {10 * gi, 0, false, 0},         {1, 40 * gi, true, 1}};
  for (const Row& row : rows) {
    const Match m = match_of([&](model::PodShape& p) { p.gpu.memory_each = {row.asked}; },
                             [&](model::NodeSpec& n) { n.gpu_memory = {row.device}; });
    EXPECT_EQ(m.allowed, row.allowed) << row.asked << " of " << row.device;
    if (row.allowed) EXPECT_EQ(m.each, row.each) << row.asked << " of " << row.device;
  }
}

TEST(Fit, PreferencesAddUp) {
  const auto prefers = [](model::PodShape& p) {
    p.preferred_affinity.push_back({30, {{{"zone", model::Operator::In, {"x"}}}, {}}});
    p.preferred_affinity.push_back({5, {{{"zone", model::Operator::Exists, {}}}, {}}});
  };
  EXPECT_EQ(match_of(prefers, [](model::NodeSpec& n) { n.labels["zone"] = "x"; }).preference, 35);
  EXPECT_EQ(match_of(prefers, [](model::NodeSpec& n) { n.labels["zone"] = "y"; }).preference, 5);
  EXPECT_EQ(match_of(prefers, [](model::NodeSpec&) {}).preference, 0);
}

TEST(Fit, TheCacheSeesAClassThatChanged) {
  Site site;
  site.cluster("a");
  site.queue("q");
  site.submit(testing::job_spec("job", "q", 1, 2));
  site.node("a", node_spec("n", 4));
  site.world.fleet.settle(site.world.shapes);
  FitCache cache;
  const PodShapeId pod = site.world.shapes[site.job("job").shape].sets[0].pod;
  EXPECT_EQ(cache.room(site.world, site.policy, pod, site.node_of("a", "n").cls), 2);
  const PodOn on{site.world.find_job("job"),
                 0,
                 pod,
                 site.world.fleet.find_node(site.cluster_id("a"), "n"),
                 0b1,
                 1000};
  site.world.fleet.occupy(on, site.world.shapes);
  EXPECT_EQ(cache.room(site.world, site.policy, pod, site.node_of("a", "n").cls), 1);
  site.world.fleet.vacate(on, site.world.shapes);
  EXPECT_EQ(cache.room(site.world, site.policy, pod, site.node_of("a", "n").cls), 2);
}

}  // namespace
}  // namespace muster::sched
