// What every Store must do. A kind of store passes a Harness with `Store& store()`, empty at first,
// and `Store& reopened()`: the same journal as a new process sees it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ports/store.h"

namespace muster::ports {

template <typename Harness>
class StoreContract : public testing::Test {
 protected:
  static std::vector<model::Event> holds(std::initializer_list<const char*> jobs) {
    std::vector<model::Event> batch;
    for (const char* job : jobs) {
      batch.push_back({Time{static_cast<std::int64_t>(batch.size())}, model::JobHeld{job}});
    }
    return batch;
  }
  static std::string read_text(const Store& store, std::uint64_t from) {
    std::string text;
    const Status status = store.read(from, [&](const Entry& entry) {
      text += fmt::format("{}:{}@{} ", entry.sequence,
                          std::get<model::JobHeld>(entry.event.body).job, entry.event.at.ms);
    });
    return status ? text : status.error().message;
  }
  Harness harness;
};
TYPED_TEST_SUITE_P(StoreContract);

TYPED_TEST_P(StoreContract, AnEmptyJournalEndsAtZero) {
  Store& store = this->harness.store();
  EXPECT_EQ(store.last(), 0u);
  EXPECT_EQ(this->read_text(store, 0), "");
  EXPECT_EQ(*store.commit({}), 0u);
}

TYPED_TEST_P(StoreContract, SequencesAreContiguousOverBatches) {
  Store& store = this->harness.store();
  EXPECT_EQ(*store.commit(this->holds({"a", "b"})), 2u);
  EXPECT_EQ(*store.commit({}), 2u);
  EXPECT_EQ(*store.commit(this->holds({"c"})), 3u);
  EXPECT_EQ(this->read_text(store, 0), "1:a@0 2:b@1 3:c@0 ");
}

TYPED_TEST_P(StoreContract, ReadsFromASequenceOn) {
  Store& store = this->harness.store();
  ASSERT_TRUE(store.commit(this->holds({"a", "b", "c"})));
  EXPECT_EQ(this->read_text(store, 2), "2:b@1 3:c@2 ");
  EXPECT_EQ(this->read_text(store, 4), "");
  EXPECT_EQ(this->read_text(store, 99), "");
}

TYPED_TEST_P(StoreContract, WhatIsCommittedIsThereAfterReopening) {
  ASSERT_TRUE(this->harness.store().commit(this->holds({"a", "b"})));
  Store& again = this->harness.reopened();
  EXPECT_EQ(again.last(), 2u);
  EXPECT_EQ(*again.commit(this->holds({"c"})), 3u);
  EXPECT_EQ(this->read_text(again, 1), "1:a@0 2:b@1 3:c@0 ");
}

REGISTER_TYPED_TEST_SUITE_P(StoreContract, AnEmptyJournalEndsAtZero,
                            SequencesAreContiguousOverBatches, ReadsFromASequenceOn,
                            WhatIsCommittedIsThereAfterReopening);

}  // namespace muster::ports
