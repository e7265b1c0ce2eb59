// A world's books as records (model/books.h) and back. Writing walks a world that does not change
// meanwhile; reading makes one that folds, plans and hashes as the one that was written, down to
// the numbers of its slots: what comes after it in the journal decides the same.
//
// Sight is left out: a world with nodes that were seen is read back without them.
// Not thread-safe: each belongs to one thread, and the world must outlive its writer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/books.h"
#include "sched/world.h"

namespace muster::sched {

class BookWriter {
 public:
  /// `last`: time of the newest event in the world.
  BookWriter(const World& world, Time last);
  ~BookWriter();
  BookWriter(const BookWriter&) = delete;
  BookWriter& operator=(const BookWriter&) = delete;

  /// One record after the other; none after BookEnd.
  std::optional<model::BookRecord> next();

 private:
  struct Tables;

  void number_nodes();
  void number_histories();
  model::BookHeader header() const;
  std::optional<model::BookRecord> cluster();
  std::optional<model::BookRecord> node();
  std::optional<model::BookRecord> pool();
  std::optional<model::BookRecord> fleet_pool();
  std::optional<model::BookRecord> queue();
  std::optional<model::BookRecord> shape();
  std::optional<model::BookRecord> line();
  std::optional<model::BookRecord> history();
  std::optional<model::BookRecord> job();
  std::optional<model::BookRecord> reservation();
  std::optional<model::BookRecord> orphan();
  model::BookActive active_of(const Active& active) const;

  const World& world_;
  const Time last_;
  std::unique_ptr<Tables> tables_;
  std::size_t kind_ = 0;  // index in BookRecord
  std::size_t at_ = 0;    // in the table of that kind
};

struct ReadBooks {
  World world;
  Time last;
};

class BookReader {
 public:
  BookReader();
  ~BookReader();
  BookReader(const BookReader&) = delete;
  BookReader& operator=(const BookReader&) = delete;

  /// An error if it does not fit the records before it.
  Status add(model::BookRecord& record);
  /// Events in these books and jobs there are, once the header was read; how many jobs were read.
  std::uint64_t events() const { return events_; }
  std::uint64_t jobs() const { return jobs_; }
  std::uint64_t jobs_read() const { return jobs_read_; }
  /// After the last record: the world, if nothing is missing and its hash is the one written.
  Result<ReadBooks> finish();

 private:
  struct Tables;
  struct Taker;
  friend struct Taker;

  Status take(model::BookHeader& header);
  Status take(model::BookCluster& cluster);
  Status take(model::BookNode& node);
  Status take(model::BookPool& pool);
  Status take(model::BookFleetPool& pool);
  Status take(model::BookQueue& queue);
  Status take(model::BookShape& shape);
  Status take(model::BookLine& line);
  Status take(model::BookHistory& history);
  Status take(model::BookJob& job);
  Status take(model::BookReservation& reservation);
  Status take(model::BookOrphan& orphan);
  Status take(model::BookEnd& end);
  Result<Active> active_of(JobSlot slot, ShapeId shape, const model::BookActive& book) const;
  Result<Charges> charges_of(const std::vector<model::BookCharge>& charges) const;
  void make_slots();
  bool has_job(std::uint32_t slot) const;
  Status link_queues();
  void start_active();
  void settle_job(JobSlot slot);
  Status settle_reservations();

  World world_;
  std::unique_ptr<Tables> tables_;
  std::size_t kind_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t jobs_ = 0;
  std::uint64_t jobs_read_ = 0;
};

}  // namespace muster::sched
