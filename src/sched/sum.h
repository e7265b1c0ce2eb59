// A sum of one kind of amount over any number of nodes. It is exact while nodes come and go,
// however absurd their amounts; as an amount it is read as the largest there is when it is beyond
// that.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace muster::sched {

class Sum {
 public:
  Sum& operator+=(std::int64_t amount) {
    exact_ += amount;
    return *this;
  }
  // NOLINTNEXTLINE(google-explicit-constructor): wherever an amount is read
  operator std::int64_t() const {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(std::clamp<Wide>(exact_, -most, most));
  }
  friend bool operator==(const Sum& a, const Sum& b) { return a.exact_ == b.exact_; }

 private:
  __extension__ using Wide = __int128;
  Wide exact_ = 0;
};

}  // namespace muster::sched
