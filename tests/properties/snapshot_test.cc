// A snapshot and what came after it make the world that the whole history makes: on random
// histories, cut anywhere, through the bytes of a snapshot. Finished jobs are forgotten on the way.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/prng.h"
#include "control/loop.h"
#include "sched/books.h"
#include "sched/plan.h"
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

/// What the journal has of a history: no sight, and now and then finished jobs are forgotten.
std::vector<model::Event> books_of(const std::vector<model::Event>& history, Prng& prng) {
  std::vector<model::Event> books;
  for (const model::Event& event : history) {
    if (control::is_sight(event.body)) continue;
    books.push_back(event);
    if (prng.chance(15))
      books.push_back({event.at, model::FinishedForgotten{event.at, event.at - minutes(1)}});
  }
  return books;
}

void fold(World& world, std::span<const model::Event> events, const sched::Policy& policy) {
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
  Outcome outcome = run(random_history(seed, 60));
  ASSERT_EQ(outcome.wrong, "");
  Prng prng(seed);
  const std::vector<model::Event> books = books_of(outcome.events, prng);
  if (books.empty()) return;
  const Time now = books.back().at + seconds(1);
  World whole;
  whole.fleet.set_rules(outcome.policy.rules);
  fold(whole, books, outcome.policy);
  const std::string whole_bytes = bytes_of(whole, now);
  numbers.forgotten += whole.job_count() - whole.live_jobs();
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
    ASSERT_TRUE(bytes_of(world, now) == bytes) << "cut at " << at << ": written again, it differs";
    fold(world, std::span(books).subspan(at), outcome.policy);
    ASSERT_EQ(world.hash(), whole.hash()) << "cut at " << at;
    ASSERT_EQ(world.books_hash(), whole.books_hash()) << "cut at " << at;
    ASSERT_EQ(sched::check(world), "") << "cut at " << at;
    ASSERT_TRUE(bytes_of(world, now) == whole_bytes) << "cut at " << at << ": the ends differ";
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

TEST(Properties, ASnapshotAndTheRestAreTheWholeHistory) {
  Numbers numbers;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    ASSERT_NO_FATAL_FAILURE(expect_same(seed, numbers));
  }
  EXPECT_GT(numbers.snapshots, 500u);
  EXPECT_GT(numbers.planned, 500u);
  EXPECT_GT(numbers.forgotten, 50u);
}

}  // namespace
}  // namespace muster::properties
