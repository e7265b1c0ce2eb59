// What is wrong with a text that someone wrote, and where. Readers collect all problems of a text;
// a text without errors (warnings do not count) was read whole.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::config {

enum class Severity { Error, Warning };

struct Problem {
  std::uint32_t line = 0;    // from 1; 0: not known, as in JSON
  std::uint32_t column = 0;  // from 1, in bytes
  std::string path;          // "clusters[1].nodes[0].cpu"; empty: the whole document
  std::string message;       // names the fix where there is one
  Severity severity = Severity::Error;
  friend bool operator==(const Problem&, const Problem&) = default;
};

using Problems = std::vector<Problem>;

inline bool has_errors(const Problems& problems) {
  return std::any_of(problems.begin(), problems.end(),
                     [](const Problem& p) { return p.severity == Severity::Error; });
}

/// "file:line:column: path: message"; the parts that are not known are left out.
std::string to_text(const Problem& problem, std::string_view file);
/// By line and column; those without a line first.
void sort_by_place(Problems& problems);

}  // namespace muster::config
