#include "ports/memory_inbox.h"

#include "ports/inbox_contract.h"

namespace muster::ports {
namespace {

struct MemoryHarness {
  Inbox& make(std::size_t capacity) {
    inbox = std::make_unique<MemoryInbox>(capacity);
    return *inbox;
  }
  std::unique_ptr<MemoryInbox> inbox;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, InboxContract, MemoryHarness);

TEST(MemoryInbox, WaitReturnsAtOnceWhenThereIsSomething) {
  MemoryInbox inbox(1);
  ASSERT_TRUE(inbox.put({Time{0}, model::Ticked{}}));
  inbox.wait(hours(1));
  EXPECT_EQ(inbox.size(), 1u);
}

}  // namespace
}  // namespace muster::ports
