// Pages of the table `audit`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ports/store.h"
#include "store/sql.h"

namespace muster::store {

/// Looks at no more than a fixed number of rows, through the index of one of the filter's parts.
Result<ports::AuditPage> page_of_audit(Connection& connection, const ports::AuditFilter& filter,
                                       std::uint64_t before, std::size_t limit);

}  // namespace muster::store
