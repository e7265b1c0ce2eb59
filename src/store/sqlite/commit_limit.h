// What SQLite itself reaches on this disk, for benchmarks to compare with: rows of plain bytes in
// one table without indexes, written in groups, each group one durable commit with the settings of
// the store (WAL, synchronous=FULL).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace muster::store {

class Connection;

class CommitProbe {
 public:
  /// `file` is made, and left behind.
  static Result<std::unique_ptr<CommitProbe>> make(const std::string& file);
  ~CommitProbe();
  /// One durable commit; how many milliseconds it took.
  Result<double> commit(std::size_t rows, std::size_t row_bytes);

 private:
  explicit CommitProbe(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
  std::int64_t number_ = 0;
};

/// Rows per second by commits without a pause.
Result<double> measure_commit_limit(const std::string& file, std::size_t row_bytes,
                                    std::size_t rows_per_commit, Duration length);

}  // namespace muster::store
