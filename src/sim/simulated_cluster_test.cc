#include "sim/simulated_cluster.h"

#include <gmock/gmock.h>

#include "ports/cluster_contract.h"
#include "ports/memory_inbox.h"

namespace muster::sim {
namespace {

Workload small_workload() {
  Workload w;
  w.clusters.push_back({"c1", {}, {}, minutes(5)});
  model::NodeSpec node;
  node.name = "n1";
  node.allocatable.cpu = {2000};
  w.machines.push_back({"c1", node});
  for (const char* id : {"a", "b", "c", "d"}) {
    SimJob job;
    job.spec.id = id;
    model::PodSet set;
    set.pod.requests.cpu = {1000};
    job.spec.gang.sets.push_back(set);
    job.run_time = hours(100);
    w.jobs.push_back(job);
  }
  return w;
}

struct SimulatedHarness {
  ports::Cluster& cluster() { return simulated; }
  std::vector<model::Event> heard() {
    timeline.run_until(timeline.now() + minutes(5));
    return inbox.take(1000);
  }
  int creations(const ports::Attempt& attempt) const {
    int count = 0;
    for (const Run& run : record.runs()) {
      const bool same = workload.jobs[run.job].spec.id == attempt.job;
      count += same && run.attempt == attempt.number ? 1 : 0;
    }
    return count;
  }
  void set_reachable(bool reachable) { simulated.set_reachable(reachable); }

  Workload workload = small_workload();
  Timeline timeline;
  ports::MemoryInbox inbox{1000};
  Record record{workload};
  SimulatedCluster simulated{0, {workload, timeline, inbox, record, nullptr}};
};

}  // namespace
}  // namespace muster::sim

namespace muster::ports {
INSTANTIATE_TYPED_TEST_SUITE_P(Simulated, ClusterContract, sim::SimulatedHarness);
}  // namespace muster::ports

namespace muster::sim {
namespace {

ports::Action create(const std::string& job, std::uint32_t attempt) {
  return {ports::Verb::Create, {job, attempt}, "c1", {{0, "n1", "", 0, 0}}};
}

TEST(SimulatedCluster, TwoAttemptsOfAJobAtOnceAreNoticed) {
  SimulatedHarness h;
  h.simulated.apply(create("a", 1));
  h.heard();
  EXPECT_EQ(h.record.violation(), "");
  h.simulated.apply(create("a", 2));
  h.heard();
  EXPECT_THAT(h.record.violation(), testing::HasSubstr("runs twice"));
}

TEST(SimulatedCluster, AnOverfullNodeIsNoticed) {
  SimulatedHarness h;
  for (const char* job : {"a", "b", "c"}) h.simulated.apply(create(job, 1));
  h.heard();
  EXPECT_THAT(h.record.violation(), testing::HasSubstr("over its cpu"));
}

TEST(SimulatedCluster, AHalfGangIsNoticed) {
  SimulatedHarness h;
  ports::Action action = create("a", 1);
  action.pods.clear();
  h.simulated.apply(action);
  h.heard();
  EXPECT_THAT(h.record.violation(), testing::HasSubstr("gang not whole"));
}

TEST(SimulatedCluster, AFailedNodeTakesItsGangsWithIt) {
  SimulatedHarness h;
  h.simulated.apply(create("a", 1));
  h.heard();
  h.simulated.node_down("n1");
  const auto events = h.heard();
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const model::Event& event) {
    return std::holds_alternative<model::StartFailed>(event.body);
  }));
  EXPECT_EQ(h.record.alive(), 0u);
  EXPECT_EQ(h.record.runs().at(0).how, End::Lost);
}

}  // namespace
}  // namespace muster::sim
