// The durable stores: SQLite for one machine, PostgreSQL where several processes stand by for each
// other. Both pass ports/store_contract.h. Opening brings an older schema forward and refuses a
// newer one.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "ports/store.h"

namespace muster::store {

struct Options {
  int readers_max = 4;  // connections for queries
  std::string vfs;      // of SQLite, by name; empty: the system's
};

/// The books are in `file`, e.g. data/muster.db, payloads and snapshots in data/muster-blobs.db.
Result<std::unique_ptr<ports::Store>> open_sqlite(const std::string& file, Options options = {});
/// A connection string or URL of libpq: "host=/run/postgresql dbname=muster".
Result<std::unique_ptr<ports::Store>> open_postgres(const std::string& conninfo,
                                                    Options options = {});

}  // namespace muster::store
