// Whose turn it is to write the books. The loop comes first: housekeeping between two of its short
// transactions lets a waiting commit pass, where locks of a database would leave that to luck.
#pragma once

#include <condition_variable>
#include <mutex>

namespace muster::store {

class Turns {
 public:
  class Turn {
   public:
    explicit Turn(Turns& turns) : turns_(turns) {}
    ~Turn() { turns_.end(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Turns& turns_;
  };

  Turn commit() {
    std::unique_lock lock(mutex_);
    ++commits_waiting_;
    changed_.wait(lock, [this] { return !taken_; });
    --commits_waiting_;
    taken_ = true;
    return Turn(*this);
  }
  Turn housekeeping() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !taken_ && commits_waiting_ == 0; });
    taken_ = true;
    return Turn(*this);
  }

 private:
  void end() {
    {
      const std::lock_guard lock(mutex_);
      taken_ = false;
    }
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool taken_ = false;
  int commits_waiting_ = 0;
};

}  // namespace muster::store
