// The SQL of the table `jobs`: rows in, rows out, and pages of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/job_row.h"
#include "ports/store.h"
#include "store/sql.h"

namespace muster::store {

/// What the labels of rows come to in the tables.
struct LabelTexts {
  explicit LabelTexts(const std::vector<model::JobRow>& rows);
  struct Label {
    std::string text;  // key=value
    std::uint64_t job = 0;
  };
  std::vector<std::string> rows;  // what each row shows
  std::vector<Label> labels;      // what can be looked for
};

/// Rows and texts must outlive the batches.
Batch insert_jobs(const std::vector<model::JobRow>& rows, const LabelTexts& texts);
Batch insert_labels(const LabelTexts& texts);
Batch update_jobs(const std::vector<model::JobRow>& rows);

Status find_jobs(Connection& connection, const std::vector<std::string>& ids,
                 const std::function<void(model::JobRow)>& each);

/// Looks at no more than a fixed number of rows, for each state or of those with a label, through
/// an index that begins with one of the filter's parts; the other parts only choose among those.
Result<ports::JobPage> page_of_jobs(Connection& connection, const ports::JobFilter& filter,
                                    std::uint64_t before, std::size_t limit);

}  // namespace muster::store
