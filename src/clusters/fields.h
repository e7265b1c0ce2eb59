// The text of the files that servers and supervisors leave for each other: one `key value` a line,
// in order, keys may repeat. Values may hold any bytes; line feeds and backslashes are escaped. The
// last line is `end`, so that a file that was cut off is told from a whole one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::clusters {

struct Field {
  std::string key;
  std::string value;
  friend bool operator==(const Field&, const Field&) = default;
};

class FieldWriter {
 public:
  /// A key is letters and '_'.
  FieldWriter& add(std::string_view key, std::string_view value);
  FieldWriter& add(std::string_view key, std::int64_t value);
  std::string text() const { return text_ + "end\n"; }
  /// A line alone, for files that grow by lines.
  static std::string line(std::string_view key, std::string_view value);

 private:
  std::string text_;
};

/// Fault::Invalid for anything that a FieldWriter does not write.
Result<std::vector<Field>> parse_fields(std::string_view text);

}  // namespace muster::clusters
