// A connection to PostgreSQL through libpq: synchronous_commit=on, batches in pipeline mode.
#pragma once

#include <memory>
#include <string>

#include "store/sql.h"

namespace muster::store {

/// `conninfo`: a connection string or URL of libpq.
std::unique_ptr<Connection> connect_postgres(std::string conninfo);

}  // namespace muster::store
