// A connection to one SQLite file: WAL, synchronous=FULL, so a commit is one sync of the log.
#pragma once

#include <memory>
#include <string>

#include "store/sql.h"

namespace muster::store {

/// `vfs`: by name; empty for the system's.
std::unique_ptr<Connection> connect_sqlite(std::string file, std::string vfs);

}  // namespace muster::store
