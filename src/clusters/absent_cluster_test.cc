#include "clusters/absent_cluster.h"

#include <gtest/gtest.h>

#include "ports/memory_inbox.h"

namespace muster::clusters {
namespace {

TEST(AbsentCluster, IsUnreachableAndSaysWhyWhateverIsAskedOfIt) {
  ports::MemoryInbox inbox(10);
  AbsentCluster cluster("east", "kubeconfig: no such file", inbox);
  EXPECT_EQ(cluster.problem(), "kubeconfig: no such file");
  EXPECT_EQ(cluster.identity(), "");
  cluster.apply({ports::Verb::Create, {"a", 1}, "east", {}});
  cluster.relist({});
  const auto events = inbox.take(10);
  ASSERT_EQ(events.size(), 1u);
  const auto* health = std::get_if<model::ClusterHealth>(&events[0].body);
  ASSERT_NE(health, nullptr);
  EXPECT_EQ(health->cluster, "east");
  EXPECT_EQ(health->health, model::Health::Unreachable);
}

}  // namespace
}  // namespace muster::clusters
