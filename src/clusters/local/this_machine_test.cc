#include "clusters/local/this_machine.h"

#include <gtest/gtest.h>

namespace muster::clusters {
namespace {

TEST(ThisMachine, HasWhatTheMachineHas) {
  const auto node = this_machine({});
  ASSERT_TRUE(node);
  EXPECT_NE(node->name, "");
  EXPECT_GE(node->allocatable.cpu.v, 1000);
  EXPECT_GT(node->allocatable.memory.v, 1 << 20);
  EXPECT_EQ(node->gpu_count, 0);
  EXPECT_EQ(node->gpu_type, "");
  EXPECT_TRUE(node->ready);
}

TEST(ThisMachine, HasWhatIsConfiguredInstead) {
  MachineOptions options;
  options.name = "box";
  options.slots = 4;
  options.cpu = {500};
  options.memory = {12345};
  const auto node = this_machine(options);
  ASSERT_TRUE(node);
  EXPECT_EQ(node->name, "box");
  EXPECT_EQ(node->allocatable.cpu.v, 500);
  EXPECT_EQ(node->allocatable.memory.v, 12345);
  EXPECT_EQ(node->gpu_count, 4);
  EXPECT_EQ(node->gpu_type, "local");
}

TEST(ThisMachine, MoreSlotsThanAPlacementCanNameAreRefused) {
  MachineOptions options;
  options.slots = 33;
  EXPECT_FALSE(this_machine(options));
  options.slots = -1;
  EXPECT_FALSE(this_machine(options));
  options.slots = 32;
  EXPECT_TRUE(this_machine(options));
}

}  // namespace
}  // namespace muster::clusters
