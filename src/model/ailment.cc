#include "model/ailment.h"

#include <algorithm>
#include <array>

namespace muster::model {
namespace {

constexpr std::array<std::string_view, 9> names = {"None",         "NotMade",    "MissingObject",
                                                   "FailedObject", "FailedPods", "SickNode",
                                                   "TooFewPods",   "Unplaced",   "Forgotten"};

}  // namespace

std::string_view to_text(Ailment ailment) { return names[static_cast<std::size_t>(ailment)]; }

std::optional<Ailment> parse_ailment(std::string_view text) {
  const auto* const it = std::find(names.begin(), names.end(), text);
  if (it == names.end()) return std::nullopt;
  return static_cast<Ailment>(it - names.begin());
}

}  // namespace muster::model
