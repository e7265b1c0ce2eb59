#include "control/recovery.h"

#include <gtest/gtest.h>

#include "control/snapshots.h"
#include "ports/memory_store.h"

namespace muster::control {
namespace {

class Recovery : public testing::Test {
 protected:
  Recovery() {
    model::QueueSpec queue;
    queue.name = "q";
    commit({model::ClusterSet{{"c1", {}, {}, minutes(5)}}, model::QueueSet{queue}});
  }
  void commit(std::vector<model::EventBody> bodies) {
    std::vector<model::Event> events;
    for (model::EventBody& body : bodies) events.push_back({now, std::move(body)});
    MUSTER_CHECK(store.commit({events}).ok(), "commit");
    now = now + seconds(1);
  }
  static model::JobSubmitted submitted(const std::string& id, std::uint64_t seq) {
    model::JobSubmitted event;
    event.spec.id = id;
    event.spec.queue = "q";
    event.spec.user = "ada";
    event.spec.name = "train";
    event.spec.gang.sets.resize(1);
    event.seq = seq;
    return event;
  }
  void run(const std::string& id, std::uint64_t seq) {
    commit({submitted(id, seq), model::Placed{id, 1, "c1", "", {{0, "n1", "", 0, 0}}},
            model::Started{id, 1}});
  }
  std::uint64_t whole_journal() const {
    sched::World world;
    EXPECT_TRUE(store.read(
        1, [&](const ports::Entry& entry) { sched::apply(world, entry.event, policy); }));
    return world.hash();
  }
  /// Records of the snapshot, one of them changed.
  void spoil_snapshot() {
    std::vector<model::BookRecord> books;
    const auto sequence = store.read_snapshot([&](model::BookRecord& record) -> Status {
      if (auto* job = std::get_if<model::BookJob>(&record)) job->seq += 100;
      books.push_back(record);
      return Ok{};
    });
    ASSERT_TRUE(sequence);
    std::size_t next = 0;
    ASSERT_TRUE(store.save_snapshot(*sequence, [&]() -> std::optional<model::BookRecord> {
      if (next == books.size()) return std::nullopt;
      return books[next++];
    }));
  }

  ports::MemoryStore store;
  sched::Policy policy;
  Time now{1000};
};

TEST_F(Recovery, WithoutASnapshotTheWholeJournalIsRead) {
  run("a", 1);
  const auto recovered = recover(store, policy);
  ASSERT_TRUE(recovered);
  EXPECT_EQ(recovered->snapshot, 0u);
  EXPECT_EQ(recovered->sequence, 5u);
  EXPECT_EQ(recovered->last, Time{2000});
  EXPECT_EQ(recovered->world.hash(), whole_journal());
}

TEST_F(Recovery, ASnapshotAndWhatCameAfterItMakeTheSameWorld) {
  run("a", 1);
  run("b", 2);
  const auto written = write_snapshot(store, policy);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->sequence, 8u);
  EXPECT_EQ(written->jobs, 2u);
  commit({model::Finished{"a", 1, true}, submitted("c", 3)});
  RecoveryProgress last;
  const auto recovered =
      recover(store, policy, {[&](RecoveryProgress progress) { last = progress; }, {}});
  ASSERT_TRUE(recovered);
  EXPECT_EQ(recovered->snapshot, 8u);
  EXPECT_EQ(recovered->sequence, 10u);
  EXPECT_EQ(recovered->world.hash(), whole_journal());
  EXPECT_EQ(sched::check(recovered->world), "");
  EXPECT_EQ(last.done, 4u) << "two jobs of the snapshot and two entries";
  EXPECT_EQ(last.total, 4u);
}

TEST_F(Recovery, AWrongSnapshotIsSaidAloudAndTheWholeJournalIsReadInstead) {
  run("a", 1);
  ASSERT_TRUE(write_snapshot(store, policy));
  spoil_snapshot();
  std::string said;
  const auto recovered =
      recover(store, policy, {{}, [&](const std::string& text) { said += text; }});
  ASSERT_TRUE(recovered) << recovered.error().message;
  EXPECT_NE(said.find("THE NEWEST SNAPSHOT CANNOT BE USED (snapshot: it makes a world of hash"),
            std::string::npos)
      << said;
  EXPECT_EQ(recovered->snapshot, 0u);
  EXPECT_EQ(recovered->world.hash(), whole_journal());
}

TEST_F(Recovery, AWrongSnapshotOfATrimmedJournalIsRefused) {
  run("a", 1);
  ASSERT_TRUE(write_snapshot(store, policy));
  ASSERT_TRUE(store.trim(3));
  spoil_snapshot();
  const auto recovered = recover(store, policy);
  ASSERT_FALSE(recovered);
  EXPECT_NE(recovered.error().message.find("restore the database from a backup"), std::string::npos)
      << recovered.error().message;
}

TEST_F(Recovery, ASnapshotThatIsNewerThanTheJournalIsNotUsed) {
  run("a", 1);
  ASSERT_TRUE(write_snapshot(store, policy));
  std::vector<model::BookRecord> books;
  ASSERT_TRUE(store.read_snapshot([&](model::BookRecord& record) -> Status {
    books.push_back(record);
    return Ok{};
  }));
  std::size_t next = 0;
  ASSERT_TRUE(store.save_snapshot(77, [&]() -> std::optional<model::BookRecord> {
    if (next == books.size()) return std::nullopt;
    return books[next++];
  }));
  const auto recovered = recover(store, policy);
  ASSERT_TRUE(recovered);
  EXPECT_EQ(recovered->snapshot, 0u);
}

TEST_F(Recovery, ASnapshotThatIsGivenUpLeavesTheOneBefore) {
  run("a", 1);
  ASSERT_TRUE(write_snapshot(store, policy));
  run("b", 2);
  // Given up at every place where it looks, until it is through.
  for (int looks = 0;; ++looks) {
    int left = looks;
    const auto written = write_snapshot(store, policy, [&] { return left-- > 0; });
    if (written) {
      EXPECT_EQ(written->sequence, store.last());
      EXPECT_GT(looks, 5);
      break;
    }
    EXPECT_EQ(written.error().fault, Fault::Unavailable);
    const auto recovered = recover(store, policy);
    ASSERT_TRUE(recovered);
    EXPECT_EQ(recovered->world.hash(), whole_journal());
  }
}

TEST_F(Recovery, SnapshotsAreWrittenWhenTheJournalHasGrown) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::uint64_t> written;
  Snapshots::Options options;
  options.every = 5;
  options.policy = [this] { return policy; };
  options.written = [&](const SnapshotReport& report) {
    const std::lock_guard lock(mutex);
    written.push_back(report.sequence);
    changed.notify_all();
  };
  options.failed = [](const Error& error) { ADD_FAILURE() << error.message; };
  Snapshots snapshots(store, options);
  snapshots.start(0);
  const auto wait_for = [&](std::size_t count) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(60),
                            [&] { return written.size() == count; });
  };
  snapshots.note(store.last());  // two entries: too few
  run("a", 1);
  snapshots.note(store.last());
  ASSERT_TRUE(wait_for(1));
  run("b", 2);
  snapshots.note(store.last());  // three more: too few
  run("c", 3);
  snapshots.note(store.last());
  ASSERT_TRUE(wait_for(2));
  snapshots.stop();
  EXPECT_EQ(written, (std::vector<std::uint64_t>{5, 11}));
  EXPECT_EQ(snapshots.proven(), 11u);
}

}  // namespace
}  // namespace muster::control
