// Opening a SqlStore, and its queries.
#include <algorithm>

#include "store/audit_table.h"
#include "store/counted_text.h"
#include "store/job_table.h"
#include "store/projection.h"
#include "store/sql_store.h"

namespace muster::store {

SqlStore::SqlStore(Connect connect, int readers_max)
    : writer_(connect(Part::Books)),
      keeper_(connect(Part::Books)),
      blobs_(connect(Part::Blobs)),
      book_readers_(connect, Part::Books, std::max(1, readers_max)),
      blob_readers_(connect, Part::Blobs, std::max(1, readers_max)) {}

Result<std::unique_ptr<ports::Store>> SqlStore::open(Connect connect, Dialect dialect,
                                                     int readers_max) {
  std::unique_ptr<SqlStore> store(new SqlStore(std::move(connect), readers_max));
  for (const Part part : {Part::Books, Part::Blobs}) {
    Connection& connection = part == Part::Books ? *store->writer_ : *store->blobs_;
    if (Status status = connection.open(); !status) return status.error();
    if (Status status = migrate(connection, part, migrations(dialect, part)); !status)
      return status.error();
  }
  if (Status status = store->writer_->begin(); !status) return status.error();
  const Result<Ledger> now = ledger(*store->writer_);
  store->writer_->rollback();
  if (!now) return now.error();
  store->epoch_ = now->epoch;
  store->follow(*now);
  return std::unique_ptr<ports::Store>(std::move(store));
}

Result<std::string> SqlStore::identity() const {
  std::string found;
  const Status status = book_readers_.use([&](Connection& connection) {
    return connection.run({"select server from ledger where one = 1", 0, {}},
                          [&](const Row& row) { found = row.text(0); });
  });
  if (!status) return status.error();
  return found;
}

Result<model::JobRow> SqlStore::job(std::string_view id) const {
  std::optional<model::JobRow> found;
  const Status status = book_readers_.use([&](Connection& connection) {
    return find_jobs(connection, {table_text(id)},
                     [&](model::JobRow row) { found = std::move(row); });
  });
  if (!status) return status.error();
  if (!found) return Error{Fault::NotFound, fmt::format("no job {}", id)};
  return std::move(*found);
}

Result<ports::JobPage> SqlStore::jobs(const ports::JobFilter& filter, std::uint64_t before,
                                      std::size_t limit) const {
  ports::JobPage page;
  const Status status = book_readers_.use([&](Connection& connection) -> Status {
    Result<ports::JobPage> found = page_of_jobs(connection, filter, before, limit);
    if (!found) return found.error();
    page = std::move(*found);
    return Ok{};
  });
  if (!status) return status.error();
  return page;
}

Result<ports::AuditPage> SqlStore::audit(const ports::AuditFilter& filter, std::uint64_t before,
                                         std::size_t limit) const {
  limit = std::clamp<std::size_t>(limit, 1, ports::page_max);
  ports::AuditPage page;
  const Status status = book_readers_.use([&](Connection& connection) -> Status {
    Result<ports::AuditPage> found = page_of_audit(connection, filter, before, limit);
    if (!found) return found.error();
    page = std::move(*found);
    return Ok{};
  });
  if (!status) return status.error();
  return page;
}

Result<std::optional<ports::SubmitKey>> SqlStore::submit_key(std::string_view user,
                                                             std::string_view key, Time now) const {
  std::optional<ports::SubmitKey> found;
  const std::string owner = table_text(user);
  const std::string name = table_text(key);
  const Status status = book_readers_.use([&](Connection& connection) {
    return connection.run({"select request_hash, jobs, expires from submit_keys "
                           "where user_name = $1 and key = $2 and expires > $3",
                           3,
                           {owner, name, now.ms}},
                          [&](const Row& row) {
                            found = ports::SubmitKey{
                                std::string(user), std::string(key), std::string(row.text(0)),
                                split_counted(row.text(1)), Time{row.number(2)}};
                          });
  });
  if (!status) return status.error();
  return found;
}

}  // namespace muster::store
