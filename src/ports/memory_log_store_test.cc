#include "ports/memory_log_store.h"

#include "ports/log_store_contract.h"

namespace muster::ports {
namespace {

struct MemoryLogHarness {
  LogStore& logs() { return memory; }
  LogStore& reopened() { return memory; }
  MemoryLogStore memory;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, LogStoreContract, MemoryLogHarness);

}  // namespace
}  // namespace muster::ports
