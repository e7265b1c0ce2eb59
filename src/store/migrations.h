// The steps from an empty database to the schema of this build, from src/store/migrations/*.sql,
// which are built in. A step, once released, never changes: a change of the schema is a new file.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "store/sql.h"

namespace muster::store {

enum class Dialect { Sqlite, Postgres };

/// In order; the first leads from nothing to version 1.
std::span<const std::string_view> migrations(Dialect dialect, Part part);

/// Brings the database forward, each step in a transaction of its own. A database of a newer
/// version is refused and not touched.
Status migrate(Connection& connection, Part part, std::span<const std::string_view> steps);

}  // namespace muster::store
