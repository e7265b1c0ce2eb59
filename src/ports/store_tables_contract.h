// What every Store must do with the tables people query, and with retention. The Harness is that of
// store_contract.h.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "ports/store_contract.h"

namespace muster::ports {

template <typename Harness>
class StoreTablesContract : public StoreContract<Harness> {};
TYPED_TEST_SUITE_P(StoreTablesContract);

// ---- the tables

TYPED_TEST_P(StoreTablesContract, AJobsRowFollowsItsEvents) {
  Store& store = this->harness.store();
  model::JobSubmitted event = this->submit("a");
  event.spec.name = "train";
  event.spec.priority = -7;
  event.spec.payload = "abc";
  event.spec.run_limit = hours(2);
  event.spec.gang.max_retries = 1;
  event.spec.gang.sets[0].count = 3;
  event.spec.gang.sets[0].pod.gpu = {1, {1000}, {20LL << 30}};  // known when it is placed
  const std::vector<model::PodPlace> halves(3, {0, "n", "T4", 1, 500});
  typename StoreTablesContract<TypeParam>::Events events = {
      {Time{10}, event},
      {Time{20}, model::Placed{"a", 1, "east", "", halves}},
      {Time{30}, model::Started{"a", 1}},
      {Time{40}, model::Finished{"a", 1, false, 3, "it failed", model::Ailment::FailedPods}},
      {Time{50}, model::Placed{"a", 2, "west", "", {}}},
      {Time{60}, model::Started{"a", 2}},
      {Time{70}, model::Finished{"a", 1, true}},  // of an attempt that is no more
  };
  model::JobRow expected = model::row_of(event, Time{10}, 1);
  for (std::size_t i = 0; i < events.size(); ++i) {  // a commit each: rows are read back
    ASSERT_TRUE(store.commit({std::span(events).subspan(i, 1)}));
    if (i > 0) model::follow(expected, events[i]);
    EXPECT_EQ(*store.job("a"), expected) << i;
  }
  EXPECT_EQ(expected.state, model::JobState::Running);
  EXPECT_EQ(expected.cluster, "west");
  EXPECT_EQ(expected.failures, 1u);
  EXPECT_EQ(expected.gpus.v, 1'500);
  EXPECT_EQ(expected.ailment, model::Ailment::FailedPods);
  events = {{Time{80}, model::Finished{"a", 2, true}}, {Time{81}, this->submit("a")}};
  ASSERT_TRUE(store.commit({events}));
  const auto row = this->harness.reopened().job("a");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->state, model::JobState::Succeeded);
  EXPECT_EQ(row->started, Time{60});
  EXPECT_EQ(row->finished, Time{80});
  EXPECT_EQ(row->submit, 1u);
  EXPECT_EQ(row->why, model::EndWhy::Success);
}

TYPED_TEST_P(StoreTablesContract, SeveralEventsOfAJobInOneCommitCountInOrder) {
  Store& store = this->harness.store();
  typename StoreTablesContract<TypeParam>::Events events = {
      {Time{1}, this->submit("a")},        {Time{2}, this->submit("b")},
      {Time{3}, model::JobHeld{"a"}},      {Time{4}, model::QueueChanged{"a", "other"}},
      {Time{5}, model::JobCancelled{"b"}}, {Time{6}, model::PriorityChanged{"unknown", 3}},
  };
  ASSERT_TRUE(store.commit({events}));
  events = {{Time{7}, this->submit("b")}, {Time{8}, model::JobReleased{"b"}}};
  ASSERT_TRUE(store.commit({events}));
  EXPECT_EQ(store.job("a")->state, model::JobState::Held);
  EXPECT_EQ(store.job("a")->queue, "other");
  EXPECT_EQ(store.job("b")->state, model::JobState::Cancelled);
  EXPECT_EQ(store.job("b")->finished, Time{5});
  EXPECT_EQ(store.job("c").error().fault, Fault::NotFound);
}

TYPED_TEST_P(StoreTablesContract, ListsAreNewestFirstInPages) {
  Store& store = this->harness.store();
  EXPECT_EQ(this->list(store, {}, 10), "[]");
  ASSERT_TRUE(store.commit({this->submits({"a", "b", "c", "d", "e"})}));
  EXPECT_EQ(this->list(store, {}, 2), "[ed][cb][a]");
  EXPECT_EQ(this->list(store, {}, 5), "[edcba]");
  EXPECT_EQ(this->list(store, {}, 0), "[e][d][c][b][a]");
}

TYPED_TEST_P(StoreTablesContract, TheRowSaysInWhichPoolItWasPlaced) {
  Store& store = this->harness.store();
  typename StoreTablesContract<TypeParam>::Events events = {
      {Time{1}, this->submit("a")}, {Time{2}, model::Placed{"a", 1, "east", "fast", {}}}};
  ASSERT_TRUE(store.commit({events}));
  EXPECT_EQ(this->harness.reopened().job("a")->pool, "fast");
}

TYPED_TEST_P(StoreTablesContract, AuditAndKeysAreWrittenWithTheEvents) {
  Store& store = this->harness.store();
  const std::vector<AuditRow> audit = {{0, Time{1}, "ada", "r1", "submit", "a", "queue=x"},
                                       {0, Time{2}, "bob", "r2", "cancel", "a", ""}};
  const std::vector<SubmitKey> keys = {{"ada", "k1", "h1", {"a", "b:c", ""}, Time{100}}};
  ASSERT_EQ(*store.commit({this->submits({"a"}), audit, keys}), 1u);
  const std::vector<AuditRow> later = {{0, Time{3}, "eve", "r3", "login", "", ""}};
  ASSERT_EQ(*store.commit({{}, later, {}}), 1u);

  const Store& again = this->harness.reopened();
  auto page = again.audit({}, 0, 2);
  ASSERT_TRUE(page);
  ASSERT_EQ(page->rows.size(), 2u);
  EXPECT_EQ(page->rows[0].user, "eve");
  EXPECT_EQ(page->rows[1].verb, "cancel");
  page = again.audit({}, page->next, 2);
  ASSERT_EQ(page->rows.size(), 1u);
  AuditRow first = audit[0];
  first.number = page->rows[0].number;
  EXPECT_EQ(page->rows[0], first);
  EXPECT_EQ(page->next, 0u);

  const auto known = again.submit_key("ada", "k1", Time{99});
  ASSERT_TRUE(known && *known);
  EXPECT_EQ(**known, keys[0]);
  EXPECT_FALSE(*again.submit_key("ada", "k1", Time{100}));
  EXPECT_FALSE(*again.submit_key("bob", "k1", Time{0}));
}

// ---- retention

TYPED_TEST_P(StoreTablesContract, RetentionKeepsTheNewestAndWhatIsAlive) {
  Store& store = this->harness.store();
  ASSERT_TRUE(store.commit({this->submits({"a", "b", "c", "d"})}));
  typename StoreTablesContract<TypeParam>::Events events;
  for (const char* job : {"c", "a", "b"})
    events.push_back(
        {Time{static_cast<std::int64_t>(10 + events.size())}, model::JobCancelled{job}});
  const std::vector<AuditRow> audit = {{0, Time{1}, "ada", "", "", "old", ""},
                                       {0, Time{50}, "ada", "", "", "new", ""}};
  const std::vector<SubmitKey> keys = {{"ada", "k1", "", {}, Time{40}},
                                       {"ada", "k2", "", {}, Time{90}}};
  ASSERT_TRUE(store.commit({events, audit, keys}));
  ASSERT_TRUE(store.save_snapshot(7, this->books({"world"})));
  const Limits limits{.finished_jobs = hours(1),
                      .finished_jobs_most = 2,
                      .audit = milliseconds(30),
                      .journal = milliseconds(55)};
  Limits proven = limits;
  proven.proven = 7;
  EXPECT_EQ(*store.retain(Time{60}, limits), (Retained{.jobs = 1, .audit = 1, .keys = 1}));
  EXPECT_EQ(*store.retain(Time{60}, proven), Retained{.journal = 4});
  EXPECT_EQ(this->list(store, {}, 9), "[dba]");
  EXPECT_EQ(store.audit({}, 0, 9)->rows.at(0).object, "new");
  EXPECT_TRUE(*store.submit_key("ada", "k2", Time{60}));
  EXPECT_EQ(this->read_text(store, 5), "5:c@10 6:a@11 7:b@12 ");
  EXPECT_EQ(*store.retain(Time{60}, proven), Retained{});
  EXPECT_EQ(*store.retain(Time{70}, proven), Retained{.journal = 3});
  EXPECT_EQ(*store.commit({this->submits({"e"})}), 8u);
  EXPECT_EQ(store.retain(Time{900}, proven)->journal, 0u);
}

TYPED_TEST_P(StoreTablesContract, ReadersSeeWholeCommitsWhileOthersWrite) {
  Store& store = this->harness.store();
  std::atomic<bool> done{false};
  std::atomic<int> halves{0};
  std::atomic<int> looks{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      do {
        const auto page = store.jobs({.queue = "research"}, 0, 1000);
        if (!page || page->jobs.size() % 10 != 0) ++halves;
        ++looks;
      } while (!done);
    });
  }
  threads.emplace_back([&] {
    for (int i = 0; !done; ++i) {
      const std::string text = fmt::format("payload {}", i);
      const std::vector<std::string_view> one = {text};
      if (!store.put_payloads(one, Time{1})) ++halves;
      if (!store.retain(Time{2}, {})) ++halves;
    }
  });
  for (int batch = 0; batch < 20; ++batch) {
    std::vector<std::string> ids;
    for (int i = 0; i < 10; ++i) ids.push_back(fmt::format("{}-{}", batch, i));
    EXPECT_TRUE(store.commit({this->submits(ids)}));
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(halves, 0);
  EXPECT_GE(looks, 3);
}

REGISTER_TYPED_TEST_SUITE_P(StoreTablesContract, AJobsRowFollowsItsEvents,
                            SeveralEventsOfAJobInOneCommitCountInOrder, ListsAreNewestFirstInPages,
                            TheRowSaysInWhichPoolItWasPlaced, AuditAndKeysAreWrittenWithTheEvents,
                            RetentionKeepsTheNewestAndWhatIsAlive,
                            ReadersSeeWholeCommitsWhileOthersWrite);

}  // namespace muster::ports
