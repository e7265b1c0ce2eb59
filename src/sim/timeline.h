// Virtual time: things to do, ordered by (time, sequence). Nothing happens between them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/time.h"

namespace muster::sim {

class Timeline {
 public:
  Time now() const { return now_; }
  /// Does `what` at `when`, or now if that has passed; things of one time in the order they came.
  void at(Time when, std::function<void()> what) {
    const Time due = when < now_ ? now_ : when;
    todo_.emplace(std::pair{due, ++sequence_}, std::move(what));
  }
  void after(Duration pause, std::function<void()> what) { at(now_ + pause, std::move(what)); }
  Time next() const { return todo_.empty() ? Time::never() : todo_.begin()->first.first; }
  /// Moves time on to `when` and does everything that is due by then.
  void run_until(Time when) {
    while (next() <= when) {
      auto first = todo_.extract(todo_.begin());
      MUSTER_CHECK(first.key().first >= now_, "time runs backwards");
      now_ = first.key().first;
      first.mapped()();
    }
    if (when > now_) now_ = when;
  }

 private:
  Time now_{0};
  std::uint64_t sequence_ = 0;
  std::map<std::pair<Time, std::uint64_t>, std::function<void()>> todo_;
};

/// What the process under test takes for the time: true time, off by a step now and then.
class Clock {
 public:
  explicit Clock(const Timeline& timeline) : timeline_(timeline) {}
  Time now() const { return timeline_.now() + skew_; }
  /// The true time at which this clock, as it goes now, will show `shown`.
  Time when(Time shown) const { return shown.is_never() ? shown : shown - skew_; }
  void step(Duration by) { skew_ = skew_ + by; }
  void set_right() { skew_ = Duration{0}; }

 private:
  const Timeline& timeline_;
  Duration skew_;
};

}  // namespace muster::sim
