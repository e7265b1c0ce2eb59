// The SQL of the table `jobs`: rows in, rows out, and pages of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/job_row.h"
#include "ports/store.h"
#include "store/sql.h"

namespace muster::store {

/// The rows must outlive the batch.
Batch insert_jobs(const std::vector<model::JobRow>& rows);
Batch update_jobs(const std::vector<model::JobRow>& rows);

Status find_jobs(Connection& connection, const std::vector<std::string>& ids,
                 const std::function<void(model::JobRow)>& each);

/// Looks at no more than a fixed number of rows for each state, through an index that begins with
/// one of the filter's parts; the other parts only choose among those.
Result<ports::JobPage> page_of_jobs(Connection& connection, const ports::JobFilter& filter,
                                    std::uint64_t before, std::size_t limit);

}  // namespace muster::store
