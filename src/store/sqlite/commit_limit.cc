#include "store/sqlite/commit_limit.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "store/sqlite/connection.h"

namespace muster::store {

using Clock = std::chrono::steady_clock;

CommitProbe::CommitProbe(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {}
CommitProbe::~CommitProbe() = default;

Result<std::unique_ptr<CommitProbe>> CommitProbe::make(const std::string& file) {
  std::unique_ptr<Connection> connection = connect_sqlite(file, "");
  if (Status opened = connection->open(); !opened) return opened.error();
  const Status made =
      connection->script("create table rows (number integer primary key, bytes blob not null)");
  if (!made) return made.error();
  return std::unique_ptr<CommitProbe>(new CommitProbe(std::move(connection)));
}

Result<double> CommitProbe::commit(std::size_t rows, std::size_t row_bytes) {
  const std::string bytes(std::max<std::size_t>(row_bytes, 1), 'x');
  Batch batch{"insert into rows (number, bytes) values ($1, $2)", 2, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    batch.values.emplace_back(++number_);
    batch.values.emplace_back(Bytes{bytes});
  }
  const auto begin = Clock::now();
  if (Status status = connection_->begin(); !status) return status.error();
  if (const Finish finish = connection_->finish({batch}); !finish.status)
    return finish.status.error();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

Result<double> measure_commit_limit(const std::string& file, std::size_t row_bytes,
                                    std::size_t rows_per_commit, Duration length) {
  const auto probe = CommitProbe::make(file);
  if (!probe) return probe.error();
  const auto begin = Clock::now();
  const auto end = begin + std::chrono::milliseconds(length.ms);
  std::size_t rows = 0;
  while (Clock::now() < end) {
    if (const auto took = (*probe)->commit(rows_per_commit, row_bytes); !took) return took.error();
    rows += rows_per_commit;
  }
  return static_cast<double>(rows) / std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace muster::store
