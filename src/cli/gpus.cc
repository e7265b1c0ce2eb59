#include "cli/gpus.h"

#include <fmt/format.h>

#include "cli/jobs.h"

namespace muster::cli {

std::string gpus_text(const json::value& object) {
  std::string out;
  for (const auto& member : members(object, "gpus")) {
    const std::string_view type(member.key().data(), member.key().size());
    out += fmt::format("{}{} {}/{}", out.empty() ? "" : ", ", type,
                       amount(field(member.value(), "idle")), text(member.value(), "total"));
  }
  return out;
}

}  // namespace muster::cli
