// Threads for what may wait for a disk or a database, so that the threads of the network never do.
// Bounded: beyond `waiting_most` a task is refused and the client is told to come again.
//
// Thread contract: post from any thread; the destructor finishes what was taken.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace muster::api {

class Workers {
 public:
  Workers(int threads, std::size_t waiting_most);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// False if too much waits: then the task is nowhere.
  bool post(std::function<void()> task);
  /// No new tasks; returns when those taken are done.
  void stop();

 private:
  void run();

  const std::size_t waiting_most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace muster::api
