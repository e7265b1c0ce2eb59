// What a thread sleeps on: others wake it, or the time comes.
// Thread contract: any.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/time.h"

namespace muster::control {

class Wake {
 public:
  void up() {
    {
      const std::lock_guard lock(mutex_);
      if (awake_) return;
      awake_ = true;
    }
    changed_.notify_one();
  }
  /// Returns when somebody woke it since the last call, at the latest after `at_most`.
  void sleep(Duration at_most) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(at_most.ms), [this] { return awake_; });
    awake_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool awake_ = false;
};

}  // namespace muster::control
