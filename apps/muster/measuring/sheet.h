// The rows of a benchmark as they come: a table for people, or one JSON line a row with `measure`,
// `value`, `unit`, `limit`, `ratio`, `reach` and `ok`; these can also go into a file beside the
// table. `limit` is what this machine could do at
// best, measured in the same run, and `ratio` is value to limit; both are null where there is none.
// Where `reach_of` is "ratio", it is the ratio that has to come to `reach`, otherwise the value.
#pragma once

#include <optional>
#include <string>

#include "apps/muster/measuring/row_lines.h"

namespace muster::app {

enum class Reach { AtLeast, AtMost };

struct BenchRow {
  std::string measure;
  double value = 0;
  std::string unit;
  std::optional<double> limit = {};
  std::optional<double> ratio = {};  // of several turns the median; none: value to limit
  std::optional<double> reach = {};
  bool is_reach_of_ratio = false;
  Reach direction = Reach::AtLeast;
  std::string note = {};  // beside the row in the table; a row that could not be measured says why
  bool failed = false;    // could not be measured
};

class Sheet {
 public:
  /// `rows`: a file for the JSON lines; "": none.
  Sheet(bool json, const std::string& rows) : json_(json), lines_(rows) {}

  void add(const BenchRow& row);
  /// A row that could not be measured: not ok.
  void fail(std::string measure, const std::string& why);
  /// Whether everything could be measured.
  bool is_whole() const { return is_whole_; }

 private:
  void print_text(const BenchRow& row, std::optional<bool> ok);

  const bool json_;
  RowLines lines_;
  bool is_whole_ = true;
  bool has_head_ = false;
};

}  // namespace muster::app
