// Questions about the live world (why does it wait, when will it start, what if): answered on the
// loop's thread between two steps, because the planner's knowledge lives there. Bounded: so many
// wait at most, and a step answers for so long at most before the loop goes on (docs/adr has the
// reason).
//
// Thread contract: put from any thread, answer_some from the loop's. `ask` and `done` are called on
// the loop's thread; `ask` may try things on the world if it undoes them.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "sched/agenda.h"
#include "sched/policy.h"
#include "sched/world.h"

namespace muster::control {

using ReadAsk =
    std::function<Result<std::string>(sched::World&, sched::Agenda&, const sched::Policy&, Time)>;

struct Read {
  ReadAsk ask;
  std::function<void(Result<std::string>)> done;
};

class Reads {
 public:
  explicit Reads(std::size_t capacity) : capacity_(capacity) {}

  /// False if too many wait, or the loop is gone: then `done` is not called.
  bool put(Read read) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_ || reads_.size() >= capacity_) return false;
      reads_.push_back(std::move(read));
    }
    if (on_put_) on_put_();
    return true;
  }

  /// Answers in order until none is left or the time is over; one at least.
  template <typename Answer>
  void answer_some(std::chrono::milliseconds at_most, const Answer& answer) {
    const auto end = std::chrono::steady_clock::now() + at_most;
    do {
      Read read;
      {
        const std::lock_guard lock(mutex_);
        if (reads_.empty()) return;
        read = std::move(reads_.front());
        reads_.pop_front();
      }
      read.done(answer(read.ask));
    } while (std::chrono::steady_clock::now() < end);
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return reads_.size();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  void on_put(std::function<void()> call) { on_put_ = std::move(call); }

 private:
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::deque<Read> reads_;
  bool closed_ = false;
  std::function<void()> on_put_;
};

}  // namespace muster::control
