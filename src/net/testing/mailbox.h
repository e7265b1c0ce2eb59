// Values that other threads leave for a test, which waits for them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "base/check.h"

namespace muster::net::testing {

template <typename T>
class Mailbox {
 public:
  void put(T value) {
    const std::lock_guard lock(mutex_);
    values_.push_back(std::move(value));
    arrived_.notify_all();
  }
  T take() {
    std::unique_lock lock(mutex_);
    const bool found =
        arrived_.wait_for(lock, std::chrono::seconds(30), [this] { return !values_.empty(); });
    MUSTER_CHECK(found, "nothing came within 30 s");
    T value = std::move(values_.front());
    values_.pop_front();
    return value;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<T> values_;
};

}  // namespace muster::net::testing
