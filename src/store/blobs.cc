// Snapshots and payloads of SqlStore.
#include <fmt/format.h>

#include <algorithm>

#include "store/book_codec.h"
#include "store/sha256.h"
#include "store/sql_store.h"

namespace muster::store {
namespace {

/// Of a snapshot: written at once, while a submit with payloads waits.
constexpr std::size_t chunk_bytes = 512 * 1024;

std::int64_t whole(std::uint64_t v) { return static_cast<std::int64_t>(v); }

constexpr std::size_t seal_bytes = 64;

/// A chunk of a snapshot begins with the hash of the rest: a changed bit anywhere is found, also in
/// what the hash of the world does not cover.
std::string sealed(const std::string& chunk) { return sha256_hex(chunk) + chunk; }

Result<std::string_view> unsealed(std::string_view bytes, std::int64_t chunk) {
  const std::string_view content = bytes.substr(std::min(seal_bytes, bytes.size()));
  if (bytes.size() < seal_bytes || bytes.substr(0, seal_bytes) != sha256_hex(content))
    return invalid(fmt::format("snapshot: chunk {} was changed after it was written", chunk));
  return content;
}

/// Statements of one transaction.
Status write_all(Connection& connection, const std::vector<Batch>& batches) {
  return in_transaction(connection, [&]() -> Status {
    for (const Batch& batch : batches) {
      if (Status status = connection.run(batch, {}); !status) return status;
    }
    return Ok{};
  });
}

}  // namespace

Status SqlStore::save_snapshot(std::uint64_t sequence, const ports::NextBook& next) {
  // What an earlier try left unfinished goes first; then this one's number is free.
  std::int64_t number = 1;
  {
    const std::lock_guard lock(blobs_mutex_);
    const Status newest = in_transaction(*blobs_, [&] {
      return blobs_->run({"select coalesce(max(number), 0) from snapshots", 0, {}},
                         [&](const Row& row) { number = row.number(0) + 1; });
    });
    if (!newest) return newest;
    const Status begun = write_all(
        *blobs_, {{"delete from snapshot_chunks where snapshot in "
                   "(select number from snapshots where complete = 0)",
                   0,
                   {}},
                  {"delete from snapshots where complete = 0", 0, {}},
                  {"insert into snapshots (number, sequence, complete) values ($1, $2, 0)",
                   2,
                   {number, whole(sequence)}}});
    if (!begun) return begun;
  }
  std::int64_t chunks = 0;
  std::string chunk;
  for (bool more = true; more;) {
    const Result<std::optional<model::BookRecord>> book = next();
    if (!book) return book.error();
    more = book->has_value();
    if (more) encode_book(**book, chunk);
    if (more ? chunk.size() < chunk_bytes : chunk.empty()) continue;
    const std::string bytes = sealed(chunk);
    const std::lock_guard lock(blobs_mutex_);
    const Batch insert{
        "insert into snapshot_chunks (snapshot, number, bytes) values ($1, $2, $3) "
        "on conflict (snapshot, number) do nothing",
        3,
        {number, ++chunks, Bytes{bytes}}};
    if (Status status = write_all(*blobs_, {insert}); !status) return status;
    chunk.clear();
  }
  const std::lock_guard lock(blobs_mutex_);
  return write_all(*blobs_, {{"update snapshots set complete = 1 where number = $1", 1, {number}},
                             {"delete from snapshot_chunks where snapshot < $1", 1, {number}},
                             {"delete from snapshots where number < $1", 1, {number}}});
}

Result<std::uint64_t> SqlStore::snapshot_sequence() const {
  std::int64_t sequence = 0;
  const Status status = blob_readers_.use([&](Connection& connection) {
    return connection.run(
        {"select coalesce(max(sequence), 0) from snapshots where complete = 1", 0, {}},
        [&](const Row& row) { sequence = row.number(0); });
  });
  if (!status) return status.error();
  return static_cast<std::uint64_t>(sequence);
}

Result<std::uint64_t> SqlStore::read_snapshot(const ports::EachBook& each) const {
  std::int64_t number = 0;
  std::int64_t sequence = 0;
  const Status found = blob_readers_.use([&](Connection& connection) {
    return connection.run({"select number, sequence from snapshots where complete = 1 "
                           "order by number desc limit 1",
                           0,
                           {}},
                          [&](const Row& row) {
                            number = row.number(0);
                            sequence = row.number(1);
                          });
  });
  if (!found) return found.error();
  model::BookRecord book;
  for (std::int64_t chunk = 1; number > 0; ++chunk) {
    std::optional<std::string> bytes;
    const Status read = blob_readers_.use([&](Connection& connection) {
      return connection.run(
          {"select bytes from snapshot_chunks where snapshot = $1 and number = $2",
           2,
           {number, chunk}},
          [&](const Row& row) { bytes = std::string(row.text(0)); });
    });
    if (!read) return read.error();
    if (!bytes) break;
    const Result<std::string_view> content = unsealed(*bytes, chunk);
    if (!content) return content.error();
    for (std::string_view left = *content; !left.empty();) {
      if (Status status = decode_book(left, book); !status) return status.error();
      if (Status status = each(book); !status) return status.error();
    }
  }
  return static_cast<std::uint64_t>(sequence);
}

std::string SqlStore::payload_hash(std::string_view bytes) const { return sha256_hex(bytes); }

/// What one caller puts.
struct SqlStore::Put {
  std::span<const std::string_view> payloads;
  std::vector<std::string> hashes;
  Time now;
  std::optional<Status> status;  // once it is written, or refused
};

Result<std::vector<std::string>> SqlStore::put_payloads(std::span<const std::string_view> payloads,
                                                        Time now) {
  Put put{payloads, {}, now, std::nullopt};
  put.hashes.reserve(payloads.size());
  for (const std::string_view bytes : payloads) put.hashes.push_back(payload_hash(bytes));
  if (payloads.empty()) return put.hashes;
  std::unique_lock lock(puts_mutex_);
  puts_.push_back(&put);
  puts_written_.wait(lock, [&] { return put.status || !is_putting_; });
  if (!put.status) {
    is_putting_ = true;
    const std::vector<Put*> all = std::exchange(puts_, {});
    lock.unlock();
    write_puts(all);
    lock.lock();
    is_putting_ = false;
    puts_written_.notify_all();
  }
  if (!*put.status) return put.status->error();
  return std::move(put.hashes);
}

void SqlStore::write_puts(const std::vector<Put*>& puts) {
  struct Item {
    std::string_view hash;
    Time now;
    std::string_view bytes;
  };
  std::vector<Item> items;
  for (const Put* put : puts) {
    for (std::size_t i = 0; i < put->hashes.size(); ++i)
      items.push_back({put->hashes[i], put->now, put->payloads[i]});
  }
  // In the order of hashes, so that two processes never wait for each other's rows.
  std::sort(items.begin(), items.end(),
            [](const Item& a, const Item& b) { return a.hash < b.hash; });
  Batch insert{
      "insert into payloads (hash, touched, bytes) values ($1, $2, $3) "
      "on conflict (hash) do update set touched = excluded.touched "
      "where payloads.touched < excluded.touched",
      3,
      {}};
  for (const Item& item : items) {
    insert.values.emplace_back(item.hash);
    insert.values.emplace_back(item.now.ms);
    insert.values.emplace_back(Bytes{item.bytes});
  }
  const std::lock_guard blobs_lock(blobs_mutex_);
  const Status status = write_all(*blobs_, {insert});
  const std::lock_guard lock(puts_mutex_);
  for (Put* put : puts) put->status = status;
}

Result<std::string> SqlStore::payload(std::string_view hash) const {
  std::optional<std::string> bytes;
  const auto take = [&](const Row& row) { bytes = std::string(row.text(0)); };
  Status status = book_readers_.use([&](Connection& connection) {
    return connection.run({"select bytes from small_payloads where hash = $1", 1, {hash}}, take);
  });
  if (status && !bytes) {
    status = blob_readers_.use([&](Connection& connection) {
      return connection.run({"select bytes from payloads where hash = $1", 1, {hash}}, take);
    });
  }
  if (!status) return status.error();
  if (!bytes) return Error{Fault::NotFound, fmt::format("no payload {}", hash)};
  return std::move(*bytes);
}

}  // namespace muster::store
