// A database as an older Muster left it: made by the first steps of the migrations alone, with rows
// in its tables, and what today's store must find in it. For tests of both databases.
#pragma once

#include <cstddef>

#include "ports/store.h"
#include "store/migrations.h"
#include "store/sql.h"

namespace muster::store {

/// How many versions of the books came before today's.
std::size_t older_versions(Dialect dialect);

/// Of version `version` of the books, from 1. The database is empty before.
Status make_old_database(const Connect& connect, Dialect dialect, std::size_t version);

/// Fails the test where something of it is missing, or does not go on.
void expect_old_rows(ports::Store& store);

}  // namespace muster::store
