// The inbox of a process, and of the simulator.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "ports/inbox.h"

namespace muster::ports {

class MemoryInbox : public Inbox {
 public:
  explicit MemoryInbox(std::size_t capacity) : capacity_(capacity) {}

  Status put(model::Event event) override {
    {
      const std::lock_guard lock(mutex_);
      if (events_.size() >= capacity_) {
        return Error{Fault::Unavailable,
                     fmt::format("the inbox is full ({} events): try again later", capacity_)};
      }
      events_.push_back(std::move(event));
    }
    arrived_.notify_one();
    return Ok{};
  }

  std::vector<model::Event> take(std::size_t most) override {
    const std::lock_guard lock(mutex_);
    std::vector<model::Event> batch;
    while (!events_.empty() && batch.size() < most) {
      batch.push_back(std::move(events_.front()));
      events_.pop_front();
    }
    return batch;
  }

  std::size_t size() const override {
    const std::lock_guard lock(mutex_);
    return events_.size();
  }

  /// Returns when there is something to take, at the latest after `at_most`.
  void wait(Duration at_most) {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, std::chrono::milliseconds(at_most.ms),
                      [this] { return !events_.empty(); });
  }

 private:
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<model::Event> events_;
};

}  // namespace muster::ports
