// Ids of different things do not mix: an Id<ClusterTag> is not an Id<NodeTag>. Slot ids are dense
// indexes into a table of World; they are never shown to a user and never leave the process.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>

namespace muster {

template <typename Tag, typename Rep = std::uint32_t>
struct Id {
  Rep v = std::numeric_limits<Rep>::max();

  static constexpr Id none() { return Id{}; }
  constexpr bool is_none() const { return v == std::numeric_limits<Rep>::max(); }
  constexpr std::size_t index() const { return static_cast<std::size_t>(v); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

}  // namespace muster

template <typename Tag, typename Rep>
struct std::hash<muster::Id<Tag, Rep>> {
  std::size_t operator()(muster::Id<Tag, Rep> id) const noexcept { return std::hash<Rep>{}(id.v); }
};
