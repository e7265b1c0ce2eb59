#include "ports/memory_store.h"

#include "ports/store_filters_contract.h"
#include "ports/store_payloads_contract.h"
#include "ports/store_tables_contract.h"

namespace muster::ports {
namespace {

struct MemoryHarness {
  static std::string skip() { return {}; }
  Store& store() { return memory; }
  Store& reopened() { return *(again = memory.another()); }
  std::unique_ptr<Store> another() { return memory.another(); }
  MemoryStore memory;
  std::unique_ptr<Store> again;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreContract, MemoryHarness);
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreTablesContract, MemoryHarness);
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StoreFiltersContract, MemoryHarness);
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StorePayloadsContract, MemoryHarness);

TEST(MemoryStore, ABusyStoreKeepsNothingOfTheRefusedBatch) {
  MemoryStore store;
  const std::vector<model::Event> batch{{Time{0}, model::JobHeld{"a"}}};
  store.be_busy(1);
  const auto refused = store.commit({batch});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::Unavailable);
  EXPECT_EQ(store.last(), 0u);
  EXPECT_EQ(*store.commit({batch}), 1u);
}

}  // namespace
}  // namespace muster::ports
