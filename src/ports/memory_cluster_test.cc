#include "ports/memory_cluster.h"

#include "ports/cluster_contract.h"
#include "ports/memory_inbox.h"

namespace muster::ports {
namespace {

struct MemoryHarness {
  Cluster& cluster() { return memory; }
  std::vector<model::Event> heard() { return inbox.take(1000); }
  int creations(const Attempt& attempt) const { return memory.creations(attempt); }
  void set_reachable(bool reachable) { memory.set_reachable(reachable); }

  static model::NodeSpec node() {
    model::NodeSpec spec;
    spec.name = "n1";
    spec.allocatable.cpu = {8000};
    return spec;
  }
  MemoryInbox inbox{1000};
  MemoryCluster memory{"c1", {node()}, inbox};
};
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, ClusterContract, MemoryHarness);

}  // namespace
}  // namespace muster::ports
