// What every Store must do: the journal and snapshots here, the tables, payloads and retention in
// store_tables_contract.h. A kind of store passes a Harness with `Store& store()`, empty at first,
// `Store& reopened()`: the same data as a new process sees it after the first one ended, and
// `std::unique_ptr<Store> another()`: as a second process beside the first sees it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ports/store.h"

namespace muster::ports {

template <typename Harness>
class StoreContract : public testing::Test {
 protected:
  using Events = std::vector<model::Event>;

  void SetUp() override {
    if (!harness.skip().empty()) GTEST_SKIP() << harness.skip();
  }

  static Events holds(std::initializer_list<const char*> jobs) {
    Events batch;
    for (const char* job : jobs) {
      batch.push_back({Time{static_cast<std::int64_t>(batch.size())}, model::JobHeld{job}});
    }
    return batch;
  }
  static model::JobSubmitted submit(const std::string& id) {
    model::JobSubmitted event;
    event.spec.id = id;
    event.spec.user = "ada";
    event.spec.queue = "research";
    event.spec.gang.sets.resize(1);
    return event;
  }
  static Events submits(const std::vector<std::string>& ids) {
    Events batch;
    for (const std::string& id : ids) batch.push_back({Time{5}, submit(id)});
    return batch;
  }
  static std::string read_text(const Store& store, std::uint64_t from) {
    std::string text;
    const Status status = store.read(from, [&](const Entry& entry) {
      text += fmt::format("{}:{}@{} ", entry.sequence, *model::job_of(entry.event.body),
                          entry.event.at.ms);
    });
    return status ? text : status.error().message;
  }
  /// All pages of a list, a page in brackets.
  static std::string list(const Store& store, const JobFilter& filter, std::size_t limit) {
    std::string text;
    std::uint64_t before = 0;
    do {
      const auto page = store.jobs(filter, before, limit);
      if (!page) return page.error().message;
      text += '[';
      for (const model::JobRow& row : page->jobs) text += row.id;
      text += ']';
      before = page->next;
    } while (before != 0);
    return text;
  }
  static NextBook books(std::vector<std::string> all) {
    return
        [all = std::move(all), i = std::size_t{0}]() mutable -> std::optional<model::BookRecord> {
          if (i == all.size()) return std::nullopt;
          return model::BookNode{0, all[i++]};
        };
  }
  static std::string snapshot(const Store& store) {
    std::string text;
    const auto sequence = store.read_snapshot([&](const model::BookRecord& book) -> Status {
      text += fmt::format(" {}", std::get<model::BookNode>(book).name);
      return Ok{};
    });
    return sequence ? fmt::format("{}:{}", *sequence, text) : sequence.error().message;
  }
  static Fault fault_of(const Result<std::uint64_t>& result) {
    return result ? Fault::Invalid : result.error().fault;
  }
  Harness harness;
};
TYPED_TEST_SUITE_P(StoreContract);

// ---- the journal

TYPED_TEST_P(StoreContract, AnEmptyJournalEndsAtZero) {
  Store& store = this->harness.store();
  EXPECT_EQ(store.last(), 0u);
  EXPECT_EQ(this->read_text(store, 0), "");
  EXPECT_EQ(*store.commit({}), 0u);
}

TYPED_TEST_P(StoreContract, ItsIdentityIsTheSameAfterReopening) {
  const auto identity = this->harness.store().identity();
  ASSERT_TRUE(identity.ok());
  EXPECT_FALSE(identity->empty());
  EXPECT_EQ(identity->find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789"), std::string::npos);
  EXPECT_EQ(*this->harness.reopened().identity(), *identity);
}

TYPED_TEST_P(StoreContract, SequencesAreContiguousOverBatches) {
  Store& store = this->harness.store();
  EXPECT_EQ(*store.commit({this->holds({"a", "b"})}), 2u);
  EXPECT_EQ(*store.commit({}), 2u);
  EXPECT_EQ(*store.commit({this->holds({"c"})}), 3u);
  EXPECT_EQ(this->read_text(store, 0), "1:a@0 2:b@1 3:c@0 ");
}

TYPED_TEST_P(StoreContract, ReadsFromASequenceOn) {
  Store& store = this->harness.store();
  ASSERT_TRUE(store.commit({this->holds({"a", "b", "c"})}));
  EXPECT_EQ(this->read_text(store, 2), "2:b@1 3:c@2 ");
  EXPECT_EQ(this->read_text(store, 4), "");
  EXPECT_EQ(this->read_text(store, 99), "");
}

TYPED_TEST_P(StoreContract, WhatIsCommittedIsThereAfterReopening) {
  ASSERT_TRUE(this->harness.store().commit({this->holds({"a", "b"})}));
  Store& again = this->harness.reopened();
  EXPECT_EQ(again.last(), 2u);
  EXPECT_EQ(*again.commit({this->holds({"c"})}), 3u);
  EXPECT_EQ(this->read_text(again, 1), "1:a@0 2:b@1 3:c@0 ");
}

TYPED_TEST_P(StoreContract, ManyEventsComeBackInOrder) {
  Store& store = this->harness.store();
  std::vector<std::string> ids;
  for (int i = 0; i < 5000; ++i) ids.push_back(fmt::format("job-{}", i));
  ASSERT_EQ(*store.commit({this->submits(ids)}), 5000u);
  std::uint64_t next = 1;
  ASSERT_TRUE(store.read(1, [&](const Entry& entry) {
    ASSERT_EQ(entry.sequence, next);
    ASSERT_EQ(*model::job_of(entry.event.body), ids[next - 1]);
    ++next;
  }));
  EXPECT_EQ(next, 5001u);
}

TYPED_TEST_P(StoreContract, ADeposedLeaderCannotCommit) {
  Store& first = this->harness.store();
  ASSERT_EQ(*first.lead(), 1u);
  ASSERT_EQ(*first.commit({this->holds({"a"})}), 1u);
  const auto second = this->harness.another();
  EXPECT_EQ(second->last(), 1u);
  ASSERT_EQ(*second->lead(), 2u);
  EXPECT_EQ(this->fault_of(first.commit({this->holds({"b"})})), Fault::Conflict);
  EXPECT_EQ(*second->commit({this->holds({"c"})}), 2u);
  EXPECT_EQ(this->fault_of(first.commit({this->holds({"d"})})), Fault::Conflict);
  EXPECT_EQ(this->read_text(*second, 1), "1:a@0 2:c@0 ");
  EXPECT_EQ(*first.lead(), 3u);
  EXPECT_EQ(*first.commit({this->holds({"e"})}), 3u);
  EXPECT_EQ(this->fault_of(second->commit({this->holds({"f"})})), Fault::Conflict);
}

TYPED_TEST_P(StoreContract, TwoWritersWithoutALeaderAreNoticed) {
  Store& first = this->harness.store();
  const auto second = this->harness.another();
  ASSERT_EQ(*first.commit({this->holds({"a"})}), 1u);
  EXPECT_EQ(this->fault_of(second->commit({this->holds({"b"})})), Fault::Conflict);
  EXPECT_EQ(this->read_text(first, 1), "1:a@0 ");
}

// ---- snapshots

TYPED_TEST_P(StoreContract, TheNewestCompleteSnapshotIsRead) {
  Store& store = this->harness.store();
  EXPECT_EQ(this->snapshot(store), "0:");
  ASSERT_TRUE(store.commit({this->holds({"a", "b", "c"})}));
  ASSERT_TRUE(store.save_snapshot(2, this->books({"one", "two"})));
  EXPECT_EQ(this->snapshot(store), "2: one two");
  ASSERT_TRUE(store.save_snapshot(3, this->books({"three"})));
  EXPECT_EQ(this->snapshot(this->harness.reopened()), "3: three");
}

TYPED_TEST_P(StoreContract, AnUnfinishedSnapshotIsIgnored) {
  Store& store = this->harness.store();
  ASSERT_TRUE(store.commit({this->holds({"a", "b", "c"})}));
  ASSERT_TRUE(store.save_snapshot(1, this->books({"old"})));
  int given = 0;
  std::string seen;
  ASSERT_TRUE(store.save_snapshot(3, [&]() -> std::optional<model::BookRecord> {
    seen = this->snapshot(store);  // half of the new one is written
    EXPECT_TRUE(store.commit({this->holds({"x"})}));
    if (++given == 3) return std::nullopt;
    return model::BookNode{0, "new"};
  }));
  EXPECT_EQ(seen, "1: old");
  EXPECT_EQ(this->snapshot(store), "3: new new");
  EXPECT_EQ(store.last(), 6u);
}

TYPED_TEST_P(StoreContract, ALargeSnapshotComesBackWholeAndReadingMayStop) {
  Store& store = this->harness.store();
  ASSERT_TRUE(store.commit({this->holds({"a"})}));
  const std::string large(100'000, 'x');
  ASSERT_TRUE(store.save_snapshot(1, this->books(std::vector<std::string>(30, large))));
  int read = 0;
  const auto all = store.read_snapshot([&](const model::BookRecord& book) -> Status {
    if (std::get<model::BookNode>(book).name == large) ++read;
    return Ok{};
  });
  ASSERT_TRUE(all);
  EXPECT_EQ(read, 30);
  const auto some = store.read_snapshot([&](const model::BookRecord&) -> Status {
    return ++read < 33 ? Status(Ok{}) : Status(invalid("enough"));
  });
  ASSERT_FALSE(some);
  EXPECT_EQ(some.error().message, "enough");
  EXPECT_EQ(read, 33);
}

TYPED_TEST_P(StoreContract, OnlyWhatASnapshotHoldsIsTrimmed) {
  Store& store = this->harness.store();
  for (const char* job : {"a", "b", "c", "d"}) ASSERT_TRUE(store.commit({this->holds({job})}));
  EXPECT_EQ(*store.trim(4), 0u);
  ASSERT_TRUE(store.save_snapshot(2, this->books({"world"})));
  EXPECT_EQ(*store.trim(4), 2u);
  EXPECT_EQ(this->read_text(store, 3), "3:c@0 4:d@0 ");
  const Status gone = store.read(2, [](const Entry&) {});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().fault, Fault::NotFound);
  Store& again = this->harness.reopened();
  EXPECT_EQ(again.last(), 4u);
  EXPECT_EQ(*again.commit({this->holds({"e"})}), 5u);
  ASSERT_TRUE(again.save_snapshot(5, this->books({"all"})));
  EXPECT_EQ(*again.trim(6), 3u);
  EXPECT_EQ(this->read_text(again, 6), "");
  EXPECT_EQ(*again.commit({this->holds({"f"})}), 6u);
}

REGISTER_TYPED_TEST_SUITE_P(StoreContract, AnEmptyJournalEndsAtZero,
                            ItsIdentityIsTheSameAfterReopening, SequencesAreContiguousOverBatches,
                            ReadsFromASequenceOn, WhatIsCommittedIsThereAfterReopening,
                            ManyEventsComeBackInOrder, ADeposedLeaderCannotCommit,
                            TwoWritersWithoutALeaderAreNoticed, TheNewestCompleteSnapshotIsRead,
                            AnUnfinishedSnapshotIsIgnored,
                            ALargeSnapshotComesBackWholeAndReadingMayStop,
                            OnlyWhatASnapshotHoldsIsTrimmed);

}  // namespace muster::ports
