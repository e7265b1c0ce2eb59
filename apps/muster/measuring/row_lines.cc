#include "apps/muster/measuring/row_lines.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "cli/options.h"

namespace muster::app {

RowLines::RowLines(const std::string& file) {
  if (file.empty()) return;
  out_.open(file);
  if (!out_) throw CLI::ValidationError(fmt::format("--rows: cannot write {}", file));
}

void RowLines::add(const boost::json::object& row) {
  if (out_.is_open()) out_ << boost::json::serialize(row) << '\n' << std::flush;
}

}  // namespace muster::app
