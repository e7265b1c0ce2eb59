// The power fails at some write, everything that was not synced is gone, and the store is opened
// again: what was answered is there, and nothing is there by half. And a disk that is full.
#include <gtest/gtest.h>

#include "base/prng.h"
#include "store/open.h"
#include "store/testing/memory_disk.h"

namespace muster::store {
namespace {

std::unique_ptr<ports::Store> opened(const MemoryDisk& disk) {
  Options options;
  options.vfs = disk.vfs();
  auto store = open_sqlite("muster.db", options);
  return store ? std::move(*store) : nullptr;
}

/// A batch of ten jobs, of which all but the first batch also cancel the one before.
std::vector<model::Event> batch(int number) {
  std::vector<model::Event> events;
  for (int i = 0; i < 10; ++i) {
    model::JobSubmitted event;
    event.spec.id = fmt::format("{}-{}", number, i);
    event.spec.name = std::string(100, 'n');
    events.push_back({Time{number}, event});
    if (number > 0)
      events.push_back({Time{number}, model::JobCancelled{fmt::format("{}-{}", number - 1, i)}});
  }
  return events;
}
std::uint64_t events_up_to(int batches) {
  return batches == 0 ? 0 : static_cast<std::uint64_t>(batches) * 20 - 10;
}

/// What was answered before the power failed.
struct Answered {
  int batches = 0;
  std::vector<std::string> payloads;
  std::uint64_t snapshot = 0;
};

Answered work(ports::Store& store) {
  Answered answered;
  for (int i = 0; i < 12; ++i) {
    const std::string text = fmt::format("payload {}", i);
    const std::vector<std::string_view> payload = {text};
    const auto hashes = store.put_payloads(payload, Time{i});
    if (hashes) answered.payloads.push_back(hashes->front());
    // One goes with the jobs, as that of a submit that comes alone.
    const std::string along = fmt::format("payload that goes along {}", i);
    const std::vector<ports::Payload> with{{store.payload_hash(along), along, Time{i}}};
    if (store.commit({batch(answered.batches), {}, {}, with})) {
      ++answered.batches;
      answered.payloads.push_back(with.front().hash);
    }
    if (i % 4 == 3) {
      int books = 0;
      const std::uint64_t sequence = store.last();
      const Status saved = store.save_snapshot(sequence, [&]() -> std::optional<model::BookRecord> {
        if (++books == 4) return std::nullopt;
        return model::BookNode{0, std::string(3000, 's')};
      });
      if (saved) answered.snapshot = sequence;
      (void)store.retain(Time{i}, {.journal = milliseconds(2), .proven = answered.snapshot});
    }
  }
  return answered;
}

/// Empty if the store holds what was answered, whole commits only, and rows that fit the journal.
std::string broken(const ports::Store& store, const Answered& answered) {
  const std::uint64_t least = events_up_to(answered.batches);
  const std::uint64_t most = events_up_to(answered.batches + 1);
  if (store.last() != least && store.last() != most)
    return fmt::format("the journal ends at {}, {} was answered", store.last(), least);
  const int batches = store.last() == least ? answered.batches : answered.batches + 1;
  std::size_t jobs = 0;
  std::uint64_t before = 0;
  do {
    const auto page = store.jobs({}, before, 1000);
    if (!page) return page.error().message;
    for (const model::JobRow& row : page->jobs) {
      const bool newest = row.id.starts_with(fmt::format("{}-", batches - 1));
      if ((row.state == model::JobState::Waiting) != newest) return "wrong state of " + row.id;
    }
    jobs += page->jobs.size();
    before = page->next;
  } while (before != 0);
  if (jobs != static_cast<std::size_t>(batches) * 10) return fmt::format("{} jobs", jobs);
  for (const std::string& hash : answered.payloads) {
    if (!store.payload(hash)) return "a payload is lost";
  }
  std::size_t bytes = 0;
  const auto sequence = store.read_snapshot([&](const model::BookRecord& book) -> Status {
    bytes += std::get<model::BookNode>(book).name.size();
    return Ok{};
  });
  if (!sequence) return sequence.error().message;
  if (*sequence < answered.snapshot || bytes != (*sequence > 0 ? 9000 : 0))
    return fmt::format("snapshot of {} with {} bytes", *sequence, bytes);
  std::uint64_t next = *sequence + 1;
  const Status read = store.read(
      next, [&](const ports::Entry& entry) { next = entry.sequence == next ? next + 1 : 0; });
  if (!read) return read.error().message;
  return next == store.last() + 1 ? "" : "the journal behind the snapshot has holes";
}

TEST(Power, AnAnsweredCommitSurvivesAndNoneIsThereByHalf) {
  std::uint64_t operations = 0;
  {
    MemoryDisk disk;
    const auto store = opened(disk);
    ASSERT_NE(store, nullptr);
    const std::uint64_t before = disk.operations();
    ASSERT_EQ(work(*store).batches, 12);
    operations = disk.operations() - before;
  }
  ASSERT_GT(operations, 200u);
  Prng prng(7);
  int failures = 0;
  for (std::uint64_t at = 1; at < operations; at += 1 + prng.below(19)) {
    for (const bool torn : {false, true}) {
      MemoryDisk disk;
      auto store = opened(disk);
      ASSERT_NE(store, nullptr);
      disk.fail_at(at);
      const Answered answered = work(*store);
      ASSERT_TRUE(disk.failed());
      torn ? disk.restart_torn(prng) : disk.restart();
      const auto again = opened(disk);
      ASSERT_NE(again, nullptr) << at;
      ASSERT_EQ(broken(*again, answered), "")
          << "power lost at operation " << at << " torn " << torn;
      ASSERT_TRUE(again->commit({batch(100)})) << at;
      failures += answered.batches < 12 ? 1 : 0;
      store.reset();
    }
  }
  EXPECT_GT(failures, 20);
}

TEST(Power, AStoreThatIsBeingMadeCanBeMadeAgain) {
  Prng prng(8);
  for (std::uint64_t at = 1; at < 200; at += 7) {
    MemoryDisk disk;
    disk.fail_at(at);
    (void)opened(disk);
    disk.restart_torn(prng);
    const auto store = opened(disk);
    ASSERT_NE(store, nullptr) << at;
    ASSERT_TRUE(store->commit({batch(0)})) << at;
  }
}

TEST(Power, AFullDiskRefusesAndGoesOnWhenThereIsRoom) {
  MemoryDisk disk;
  const auto store = opened(disk);
  ASSERT_NE(store, nullptr);
  disk.set_capacity(disk.used() + 400'000);
  Answered answered;
  Result<std::uint64_t> refused = std::uint64_t{0};
  while ((refused = store->commit({batch(answered.batches)}))) {
    ASSERT_LT(++answered.batches, 1000);
  }
  EXPECT_EQ(refused.error().fault, Fault::Unavailable);
  EXPECT_NE(refused.error().message.find("full"), std::string::npos) << refused.error().message;
  ASSERT_GT(answered.batches, 2);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(store->commit({batch(answered.batches)}));
  EXPECT_EQ(broken(*store, answered), "");
  disk.set_capacity(disk.used() + 1'000'000);
  ASSERT_TRUE(store->commit({batch(answered.batches)}));
  ++answered.batches;
  EXPECT_EQ(broken(*store, answered), "");
}

}  // namespace
}  // namespace muster::store
