#include "store/open.h"

#include <string_view>
#include <utility>

#include "store/postgres/connection.h"
#include "store/sql_store.h"
#include "store/sqlite/connection.h"

namespace muster::store {

Result<std::unique_ptr<ports::Store>> open_sqlite(const std::string& file, Options options) {
  constexpr std::string_view ending = ".db";
  std::string blobs = file;
  if (blobs.ends_with(ending)) blobs.resize(blobs.size() - ending.size());
  blobs += "-blobs.db";
  Connect connect = [file, blobs, vfs = options.vfs](Part part) {
    return connect_sqlite(part == Part::Books ? file : blobs, vfs);
  };
  return SqlStore::open(std::move(connect), Dialect::Sqlite, options.readers_max);
}

Result<std::unique_ptr<ports::Store>> open_postgres(const std::string& conninfo, Options options) {
  Connect connect = [conninfo](Part) { return connect_postgres(conninfo); };
  return SqlStore::open(std::move(connect), Dialect::Postgres, options.readers_max);
}

}  // namespace muster::store
