// A snapshot and what came after it make the world that the whole history makes: on random
// histories, cut anywhere, through the bytes of a snapshot. Finished jobs are forgotten on the way.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/prng.h"
#include "control/loop.h"
#include "sched/books.h"
#include "sched/plan.h"
#include "sim/checks.h"
#include "store/book_codec.h"
#include "tests/properties/history.h"
#include "tests/properties/runner.h"

namespace muster::properties {
namespace {

using sched::World;

std::string bytes_of(const World& world, Time last) {
  std::string bytes;
  sched::BookWriter writer(world, last);
  while (const auto record = writer.next()) store::encode_book(*record, bytes);
  return bytes;
}

Result<sched::ReadBooks> read_back(std::string_view bytes) {
  sched::BookReader reader;
  while (!bytes.empty()) {
    model::BookRecord record;
    if (Status status = store::decode_book(bytes, record); !status) return status.error();
    if (Status status = reader.add(record); !status) return status.error();
  }
  return reader.finish();
}

/// Empty, or the first record in which two snapshots differ.
std::string difference(std::string_view a, std::string_view b) {
  for (int number = 0; !a.empty() || !b.empty(); ++number) {
    const std::string_view frame_a = a;
    const std::string_view frame_b = b;
    model::BookRecord in_a;
    model::BookRecord in_b;
    if (!store::decode_book(a, in_a) || !store::decode_book(b, in_b))
      return fmt::format("record {} is not in both", number);
    const std::string_view bytes_a = frame_a.substr(0, frame_a.size() - a.size());
    const std::string_view bytes_b = frame_b.substr(0, frame_b.size() - b.size());
    if (bytes_a != bytes_b)
      return fmt::format("record {} of kind {}\n{}\n{}", number, in_a.index(),
                         testing::PrintToString(bytes_a), testing::PrintToString(bytes_b));
  }
  return "";
}

/// What the journal has of a history: no sight, and now and then finished jobs are forgotten.
std::vector<model::Event> books_of(const std::vector<model::Event>& history, Prng& prng) {
  std::vector<model::Event> books;
  for (const model::Event& event : history) {
    if (control::is_sight(event.body)) continue;
    // No two at the same time: what has just finished can be forgotten a little later.
    const Time at = event.at + milliseconds(static_cast<std::int64_t>(books.size()));
    books.push_back({at, event.body});
    if (prng.chance(15)) books.push_back({at, model::FinishedForgotten{at, at - minutes(1)}});
  }
  return books;
}

void fold(World& world, std::span<const model::Event> events, const sched::Policy& policy) {
  world.idle_shapes_most = 0;  // histories are too short for more
  for (const model::Event& event : events) sched::apply(world, event, policy);
}

/// The nodes come back, and the planner decides.
std::vector<std::string> plan_with(World& world, const std::vector<model::Event>& history,
                                   const sched::Policy& policy, Time now) {
  for (const model::Event& event : history) {
    if (control::is_sight(event.body)) sched::apply(world, {now, event.body}, policy);
  }
  sched::Agenda agenda;
  std::vector<std::string> lines;
  for (const model::Decision& decision : sched::plan(world, agenda, policy, now).decisions)
    lines.push_back(show(decision));
  return lines;
}

struct Numbers {
  std::size_t snapshots = 0;
  std::size_t planned = 0;
  std::size_t forgotten = 0;
};

void expect_same(std::uint64_t seed, Numbers& numbers) {
  // Whether the planner did well is looked at elsewhere: this is a history, whatever it did.
  const Outcome outcome = run(random_history(seed, 60));
  Prng prng(seed);
  std::vector<model::Event> books = books_of(outcome.events, prng);
  if (books.empty()) return;
  books.resize(prng.below(books.size()) + 1);  // something is left to be decided
  const Time now = books.back().at + seconds(1);
  World whole;
  whole.fleet.set_rules(outcome.policy.rules);
  fold(whole, books, outcome.policy);
  const std::string whole_bytes = bytes_of(whole, now);
  for (const model::Event& event : books)
    numbers.forgotten += std::holds_alternative<model::JobSubmitted>(event.body) ? 1 : 0;
  numbers.forgotten -= whole.live_jobs();
  std::optional<std::vector<std::string>> wanted;
  for (int cut = 0; cut < 6; ++cut) {
    const std::size_t at = prng.below(books.size() + 1);
    World part;
    part.fleet.set_rules(outcome.policy.rules);
    fold(part, std::span(books).first(at), outcome.policy);
    const std::string bytes = bytes_of(part, now);
    Result<sched::ReadBooks> read = read_back(bytes);
    ASSERT_TRUE(read) << "cut at " << at << ": " << read.error().message;
    World& world = read->world;
    world.fleet.set_rules(outcome.policy.rules);
    ASSERT_EQ(world.hash(), part.hash()) << "cut at " << at;
    ASSERT_EQ(sched::check(world), "") << "cut at " << at;
    ASSERT_EQ(difference(bytes_of(world, now), bytes), "") << "written again, cut at " << at;
    fold(world, std::span(books).subspan(at), outcome.policy);
    ASSERT_EQ(world.hash(), whole.hash()) << "cut at " << at;
    ASSERT_EQ(world.books_hash(), whole.books_hash()) << "cut at " << at;
    ASSERT_EQ(sched::check(world), "") << "cut at " << at;
    ASSERT_EQ(difference(bytes_of(world, now), whole_bytes), "") << "at the end, cut at " << at;
    ++numbers.snapshots;
    if (!wanted) {
      World copy(whole);
      wanted = plan_with(copy, outcome.events, outcome.policy, now);
    }
    ASSERT_EQ(plan_with(world, outcome.events, outcome.policy, now), *wanted) << "cut at " << at;
    ASSERT_EQ(sched::check(world), "") << "cut at " << at << ", after a plan";
    numbers.planned += wanted->size();
  }
}

/// Half of a history as it was lived, and as its journal alone tells it.
void expect_same_use(std::uint64_t seed, std::size_t& used) {
  const Outcome outcome = run(random_history(seed, 60));
  Prng prng(seed);
  World live;
  World folded;
  live.fleet.set_rules(outcome.policy.rules);
  folded.fleet.set_rules(outcome.policy.rules);
  for (std::size_t i = 0; i < outcome.events.size(); ++i) {
    const model::Event& event = outcome.events[i];
    sched::apply(live, event, outcome.policy);
    if (!control::is_sight(event.body)) sched::apply(folded, event, outcome.policy);
    if (!prng.chance(10)) continue;
    const auto uses = sim::uses(live);
    ASSERT_EQ(sim::uses(folded), uses) << "after event " << i;
    used += uses.size();
  }
  EXPECT_EQ(folded.estimate_score.scored, 0u) << "nobody estimates without nodes";
}

std::pair<std::uint64_t, std::uint64_t> seeds() {
  const char* runs = std::getenv("MUSTER_PROPERTY_RUNS");  // as in properties_test.cc
  const char* first = std::getenv("MUSTER_PROPERTY_SEED");
  const std::uint64_t begin = first == nullptr ? 1 : std::strtoull(first, nullptr, 10);
  return {begin, begin + (runs == nullptr ? 100 : std::strtoull(runs, nullptr, 10))};
}

TEST(Properties, WhatQueuesUseIsInTheJournalAlone) {
  const auto [begin, end] = seeds();
  std::size_t used = 0;
  for (std::uint64_t seed = begin; seed < end; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    ASSERT_NO_FATAL_FAILURE(expect_same_use(seed, used));
  }
  if (end - begin >= 100) EXPECT_GT(used, 1000u);
}

TEST(Properties, ASnapshotAndTheRestAreTheWholeHistory) {
  const auto [begin, end] = seeds();
  Numbers numbers;
  for (std::uint64_t seed = begin; seed < end; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    ASSERT_NO_FATAL_FAILURE(expect_same(seed, numbers));
  }
  if (end - begin < 100) return;
  EXPECT_GT(numbers.snapshots, 400u);
  EXPECT_GT(numbers.planned, 200u);
  EXPECT_GT(numbers.forgotten, 50u);
}

}  // namespace
}  // namespace muster::properties
