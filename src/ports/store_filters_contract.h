// What every Store must find in the tables people query, by the parts of a filter. The Harness is
// that of store_contract.h.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "ports/store_contract.h"

namespace muster::ports {

template <typename Harness>
class StoreFiltersContract : public StoreContract<Harness> {};
TYPED_TEST_SUITE_P(StoreFiltersContract);

TYPED_TEST_P(StoreFiltersContract, FiltersChooseAmongJobs) {
  Store& store = this->harness.store();
  typename StoreFiltersContract<TypeParam>::Events events;
  const std::vector<std::string> names = {"train-1", "train-2", "eval", "trainer", "", "tram"};
  for (std::size_t i = 0; i < 6; ++i) {
    model::JobSubmitted event = this->submit(std::string(1, static_cast<char>('a' + i)));
    event.spec.name = names[i];
    if (i % 2 == 1) event.spec.user = "bob";
    if (i % 3 == 2) event.spec.queue = "prod";
    events.push_back({Time{1}, event});
  }
  for (const char* job : {"a", "b", "c"})
    events.push_back({Time{2}, model::Placed{job, 1, *job == 'c' ? "west" : "east", "", {}}});
  events.push_back({Time{3}, model::JobCancelled{"e"}});
  ASSERT_TRUE(store.commit({events}));
  using enum model::JobState;
  EXPECT_EQ(this->list(store, {.states = {Starting}}, 9), "[cba]");
  EXPECT_EQ(this->list(store, {.states = {Cancelled, Starting, Starting}}, 9), "[ecba]");
  EXPECT_EQ(this->list(store, {.states = {Starting, Waiting}}, 2), "[fd][cb][a]");
  EXPECT_EQ(this->list(store, {.queue = "prod"}, 9), "[fc]");
  EXPECT_EQ(this->list(store, {.user = "bob"}, 2), "[fd][b]");
  EXPECT_EQ(this->list(store, {.cluster = "east"}, 9), "[ba]");
  EXPECT_EQ(this->list(store, {.name_prefix = "train"}, 9), "[dba]");
  EXPECT_EQ(this->list(store, {.states = {Starting}, .user = "ada"}, 9), "[ca]");
  EXPECT_EQ(this->list(store, {.queue = "research", .user = "bob", .name_prefix = "train-"}, 9),
            "[b]");
  EXPECT_EQ(this->list(store, {.queue = "research", .user = "ada", .cluster = "east"}, 9), "[a]");
  EXPECT_EQ(this->list(store, {.user = "nobody"}, 9), "[]");
}

TYPED_TEST_P(StoreFiltersContract, LabelsAreKeptShownAndLookedFor) {
  Store& store = this->harness.store();
  typename StoreFiltersContract<TypeParam>::Events events;
  const auto add = [&](const std::string& id, const std::string& name, model::Labels labels) {
    model::JobSubmitted event = this->submit(id);
    event.spec.name = name;
    event.labels = std::move(labels);
    events.push_back({Time{1}, event});
  };
  add("a", "x", {{"team", "vision"}, {"run", "1"}});
  add("b", "x", {{"team", "vision"}, {"run", "2"}, {"note", std::string(5000, 'n')}});
  add("c", "y", {{"team", "speech"}});
  add("d", "y", {});
  add("e", "y", {{"team", "vision"}, {"empty", ""}, {"odd", "a=b 'c' \n\xff"}});
  ASSERT_TRUE(store.commit({events}));
  events = {{Time{2}, model::JobCancelled{"a"}}, {Time{3}, this->submit("a")}};
  add("e", "z", {{"team", "speech"}});  // is there: it stays as it was
  ASSERT_TRUE(store.commit({events}));

  const Store& again = this->harness.reopened();
  EXPECT_EQ(again.job("a")->labels, (model::Labels{{"team", "vision"}, {"run", "1"}}));
  EXPECT_EQ(again.job("b")->labels.at("note").size(), 5000u);
  EXPECT_TRUE(again.job("d")->labels.empty());
  using enum model::JobState;
  EXPECT_EQ(this->list(again, {.labels = {{"team", "vision"}}}, 2), "[eb][a]");
  EXPECT_EQ(this->list(again, {.labels = {{"team", "vision"}, {"run", "2"}}}, 9), "[b]");
  EXPECT_EQ(this->list(again, {.labels = {{"team", "speech"}}}, 9), "[c]");
  EXPECT_EQ(this->list(again, {.labels = {{"empty", ""}}}, 9), "[e]");
  EXPECT_EQ(this->list(again, {.labels = {{"team", "vis"}}}, 9), "[]");
  EXPECT_EQ(this->list(again, {.states = {Cancelled}, .labels = {{"team", "vision"}}}, 9), "[a]");
  EXPECT_EQ(this->list(again, {.states = {Waiting, Held}, .labels = {{"team", "vision"}}}, 1),
            "[e][b]");
  EXPECT_EQ(this->list(again, {.user = "bob", .labels = {{"team", "vision"}}}, 9), "[]");
  EXPECT_EQ(this->list(again, {.name_prefix = "x", .labels = {{"run", "2"}}}, 9), "[b]");

  // With a job go its labels, and nothing stumbles over those that were there.
  Store& kept = this->harness.reopened();
  ASSERT_EQ(kept.retain(Time{1000}, {.finished_jobs = milliseconds(1)})->jobs, 1u);
  EXPECT_EQ(this->list(kept, {.labels = {{"run", "1"}}}, 9), "[]");
  EXPECT_EQ(this->list(kept, {.labels = {{"team", "vision"}}}, 9), "[eb]");
}

TYPED_TEST_P(StoreFiltersContract, AuditRowsAreFoundByWhoWhatAndWhen) {
  Store& store = this->harness.store();
  std::vector<AuditRow> rows = {{0, Time{10}, "ada", "r1", "submit", "a", ""},
                                {0, Time{10}, "bob", "r2", "submit", "b", ""},
                                {0, Time{20}, "ada", "r3", "cancel", "b", ""},
                                {0, Time{30}, "bob", "r4", "reload", "c", ""},
                                {0, Time{30}, "ada", "r5", "submit", "c", ""}};
  ASSERT_TRUE(store.commit({{}, rows, {}}));
  const auto found = [&](const AuditFilter& filter, std::size_t limit = 9) {
    std::string text;
    std::uint64_t before = 0;
    do {
      const auto page = store.audit(filter, before, limit);
      if (!page) return page.error().message;
      for (const AuditRow& row : page->rows) text += row.request;
      text += page->next == 0 ? "" : "|";
      before = page->next;
    } while (before != 0);
    return text;
  };
  EXPECT_EQ(found({}), "r5r4r3r2r1");
  EXPECT_EQ(found({.user = "ada"}, 2), "r5r3|r1");
  EXPECT_EQ(found({.verb = "submit"}, 1), "r5|r2|r1");
  EXPECT_EQ(found({.verb = "reload"}), "r4");
  EXPECT_EQ(found({.object = "b"}), "r3r2");
  EXPECT_EQ(found({.user = "ada", .verb = "submit"}), "r5r1");
  EXPECT_EQ(found({.user = "ada", .verb = "cancel", .object = "b"}), "r3");
  EXPECT_EQ(found({.user = "eve"}), "");
  EXPECT_EQ(found({.since = Time{20}}), "r5r4r3");
  EXPECT_EQ(found({.until = Time{20}}), "r2r1");
  EXPECT_EQ(found({.user = "ada", .since = Time{11}, .until = Time{30}}), "r3");
  EXPECT_EQ(found({.since = Time{31}}), "");
  EXPECT_EQ(found({.until = Time{10}}), "");
}

REGISTER_TYPED_TEST_SUITE_P(StoreFiltersContract, FiltersChooseAmongJobs,
                            LabelsAreKeptShownAndLookedFor, AuditRowsAreFoundByWhoWhatAndWhen);

}  // namespace muster::ports
