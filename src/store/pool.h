// Connections shared by threads: each call borrows one. A call that finds its connection lost is
// tried once more on a new one, so only calls that may run twice go through here.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "store/sql.h"

namespace muster::store {

class Pool {
 public:
  Pool(Connect connect, Part part, int most)
      : connect_(std::move(connect)), part_(part), spare_(most) {}

  Status use(const std::function<Status(Connection&)>& work) {
    std::unique_ptr<Connection> connection = borrow();
    Status status = connection->open();
    if (status) {
      status = work(*connection);
      if (!status && !connection->is_open() && connection->open()) status = work(*connection);
    }
    give_back(std::move(connection));
    return status;
  }

 private:
  std::unique_ptr<Connection> borrow() {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [this] { return !idle_.empty() || spare_ > 0; });
    if (idle_.empty()) {
      --spare_;
      return connect_(part_);
    }
    std::unique_ptr<Connection> connection = std::move(idle_.back());
    idle_.pop_back();
    return connection;
  }
  void give_back(std::unique_ptr<Connection> connection) {
    {
      const std::lock_guard lock(mutex_);
      idle_.push_back(std::move(connection));
    }
    returned_.notify_one();
  }

  Connect connect_;
  Part part_;
  std::mutex mutex_;
  std::condition_variable returned_;
  int spare_;  // connections not made yet
  std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace muster::store
