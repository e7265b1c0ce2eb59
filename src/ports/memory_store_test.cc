#include "ports/memory_store.h"

#include "ports/store_contract.h"

namespace muster::ports {
namespace {

struct MemoryHarness {
  Store& store() { return memory; }
  Store& reopened() { return memory; }
  MemoryStore memory;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreContract, MemoryHarness);

TEST(MemoryStore, ABusyStoreKeepsNothingOfTheRefusedBatch) {
  MemoryStore store;
  const std::vector<model::Event> batch{{Time{0}, model::JobHeld{"a"}}};
  store.be_busy(1);
  const auto refused = store.commit(batch);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::Unavailable);
  EXPECT_EQ(store.last(), 0u);
  EXPECT_EQ(*store.commit(batch), 1u);
}

}  // namespace
}  // namespace muster::ports
