// ports::Store on any database behind store/sql.h. The parts are in files of their own: journal.cc
// (lead, commit, read, trim), tables.cc (queries), blobs.cc (snapshots, payloads), retain.cc.
//
// Thread contract: as ports::Store. The loop has a connection of its own; housekeeping and blobs
// have one each behind a mutex; queries share a pool.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ports/store.h"
#include "store/migrations.h"
#include "store/pool.h"
#include "store/sql.h"
#include "store/turns.h"

namespace muster::store {

class SqlStore : public ports::Store {
 public:
  static Result<std::unique_ptr<ports::Store>> open(Connect connect, Dialect dialect,
                                                    int readers_max);

  Result<std::string> identity() const override;
  Result<std::uint64_t> lead() override;
  Result<std::uint64_t> commit(const ports::Commit& commit) override;
  Status read(std::uint64_t from,
              const std::function<void(const ports::Entry&)>& each) const override;
  std::uint64_t last() const override { return last_; }

  Status save_snapshot(std::uint64_t sequence, const ports::NextBook& next) override;
  Result<std::uint64_t> read_snapshot(const ports::EachBook& each) const override;
  Result<std::uint64_t> trim(std::uint64_t before) override;

  Result<model::JobRow> job(std::string_view id) const override;
  Result<ports::JobPage> jobs(const ports::JobFilter& filter, std::uint64_t before,
                              std::size_t limit) const override;
  Result<ports::AuditPage> audit(const ports::AuditFilter& filter, std::uint64_t before,
                                 std::size_t limit) const override;
  Result<std::optional<ports::SubmitKey>> submit_key(std::string_view user, std::string_view key,
                                                     Time now) const override;

  std::string payload_hash(std::string_view bytes) const override;
  Result<std::vector<std::string>> put_payloads(std::span<const std::string_view> payloads,
                                                Time now) override;
  Result<std::string> payload(std::string_view hash) const override;
  Result<ports::Retained> retain(Time now, const ports::Limits& limits) override;

 private:
  /// The row that every commit changes.
  struct Ledger {
    std::uint64_t epoch = 0;
    std::uint64_t commits = 0;
    std::uint64_t first = 1;
    std::uint64_t last = 0;
    std::uint64_t audits = 0;
  };
  /// What a commit writes to the journal: a few rows of many events.
  struct JournalRow {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::string events;
  };
  struct Work;

  SqlStore(Connect connect, int readers_max);

  static Result<Ledger> ledger(Connection& connection);
  void follow(const Ledger& ledger);
  Result<std::uint64_t> try_commit(const Work& work);
  std::optional<Result<std::uint64_t>> settle_doubt(const Ledger& ledger, const Work& work);
  Finish write(const Work& work, const Ledger& ledger);

  /// Runs work in one transaction of the loop's turn order.
  Status keep_house(const std::function<Status(Connection&)>& work);
  Status delete_some(const Batch& batch, std::uint64_t most, std::uint64_t& removed);
  struct Unnamed;
  Status keep_unnamed(std::vector<Unnamed>& payloads) const;
  Status collect_payloads(Time now, const ports::Limits& limits, std::uint64_t& removed);
  Status collect_small_payloads(Time now, const ports::Limits& limits, std::uint64_t& removed);
  Status forget_finished(Time now, const ports::Limits& limits, std::uint64_t& removed);
  Result<std::uint64_t> snapshot_sequence() const;
  /// Of the first row of the journal that begins after `time`, at most one behind `proven`.
  Result<std::uint64_t> first_after(Time time, std::uint64_t proven) const;

  // The loop's.
  std::unique_ptr<Connection> writer_;
  std::uint64_t epoch_ = 0;
  std::uint64_t commits_ = 0;
  std::atomic<std::uint64_t> last_ = 0;
  /// A commit whose end is not known, because the connection broke.
  struct Doubt {
    std::uint64_t commits = 0;  // of the ledger, if it was written
    std::string content;
  };
  std::optional<Doubt> doubt_;

  mutable Turns turns_;
  std::mutex keeper_mutex_;
  std::unique_ptr<Connection> keeper_;
  std::pair<std::int64_t, std::string> collected_;  // payloads up to here were looked at
  std::string small_collected_;                     // the same of those in the books

  std::mutex blobs_mutex_;
  std::unique_ptr<Connection> blobs_;

  /// Payloads of several callers go in one transaction: whoever comes while one is being written
  /// waits, and the first of those writes for all.
  struct Put;
  void write_puts(const std::vector<Put*>& puts);
  std::mutex puts_mutex_;
  std::condition_variable puts_written_;
  std::vector<Put*> puts_;
  bool is_putting_ = false;

  mutable Pool book_readers_;
  mutable Pool blob_readers_;
};

}  // namespace muster::store
