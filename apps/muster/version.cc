#include "apps/muster/version.h"

#include <fmt/format.h>

#include "commit.h"  // made by cmake/commit.cmake

namespace muster::app {

std::string build_text() {
  constexpr std::string_view commit = MUSTER_COMMIT;
  if (commit.empty()) return std::string(version);
  return fmt::format("{} ({})", version, commit);
}

}  // namespace muster::app
