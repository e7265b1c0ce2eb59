// The clocks of a process, as Time.
#pragma once

#include <chrono>

#include "base/time.h"

namespace muster::clusters {

template <typename Clock>
Time now_of() {
  return {std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch())
              .count()};
}
/// Since 1970.
inline Time wall_now() { return now_of<std::chrono::system_clock>(); }
/// Since some moment of this boot; never steps.
inline Time steady_now() { return now_of<std::chrono::steady_clock>(); }

}  // namespace muster::clusters
