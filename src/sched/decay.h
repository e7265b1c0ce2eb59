// Half-life decay in fixed point.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace muster::sched {

constexpr std::uint64_t fixed_one = std::uint64_t{1} << 32;

/// 2^(-elapsed/half_life) in units of 2^-32. 0 when half_life is 0 (no memory) or when nothing is
/// left.
std::uint64_t decay(Duration elapsed, Duration half_life);

}  // namespace muster::sched
