// The little that Muster asks of a database, so that SQLite and PostgreSQL share everything above
// it: one connection that runs prepared statements inside one transaction at a time. SQL texts are
// static, use $1, $2, … and only what both dialects know; they are prepared once a connection.
//
// A connection that broke stays closed until open() is called again. Errors are sorted here:
// Unavailable for what heals (lost, busy, full), Invalid for what does not.
//
// Thread contract: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace muster::store {

struct Bytes {
  std::string_view view;
};
struct Null {};
/// Views must live until the call returns.
using Value = std::variant<Null, std::int64_t, std::string_view, Bytes>;

/// A row of an answer, valid inside the callback only. Columns count from 0; null reads as 0 or "".
class Row {
 public:
  virtual ~Row() = default;
  virtual bool is_null(int column) const = 0;
  virtual std::int64_t number(int column) const = 0;
  virtual std::string_view text(int column) const = 0;  // or bytes
};
using EachRow = std::function<void(const Row&)>;

/// A statement and the values of one run after the other.
struct Batch {
  std::string_view sql;
  std::size_t columns = 0;  // of `values` a run takes
  std::vector<Value> values;
  std::size_t runs() const { return columns == 0 ? 1 : values.size() / columns; }
};

/// How a transaction ended. `unknown`: the connection broke while it was being committed.
struct Finish {
  Status status = Ok{};
  bool unknown = false;
};

class Connection {
 public:
  virtual ~Connection() = default;
  /// Opens if it is not open.
  virtual Status open() = 0;
  virtual bool is_open() const = 0;
  /// Begins a transaction that may write.
  virtual Status begin() = 0;
  /// Runs a batch, in the transaction if there is one.
  virtual Status run(const Batch& batch, const EachRow& each) = 0;
  /// Several statements without values and answers: a migration.
  virtual Status script(const std::string& sql) = 0;
  /// Runs the batches and commits, with as few round trips as can be. Rolls back on failure.
  virtual Finish finish(const std::vector<Batch>& batches) = 0;
  virtual void rollback() = 0;
  /// What follows a select that keeps others from changing the row until the transaction ends.
  virtual bool locks_rows() const = 0;
};

/// One transaction that may run twice: a connection that turns out to be lost is opened again.
Status in_transaction(Connection& connection, const std::function<Status()>& work);

/// Books: what the loop's transactions write. Blobs: snapshots and payloads, which have writers of
/// their own; in SQLite a file of their own, so that they never hold up a commit.
enum class Part { Books, Blobs };
using Connect = std::function<std::unique_ptr<Connection>(Part)>;

}  // namespace muster::store
