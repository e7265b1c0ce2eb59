// What the loop wants of a cluster, on its way from the loop's thread to the cluster's own: calls
// never block, a flood of actions is cut off (the loop hands them over again), and a test can wait
// until all of it is done.
//
// Thread contract: put from any thread; take, rest and fd from the cluster's thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <span>
#include <variant>
#include <vector>

#include "base/time.h"
#include "clusters/files.h"
#include "ports/cluster.h"

namespace muster::clusters {

using Wish = std::variant<ports::Action, std::vector<ports::Expected>>;

class Wishes {
 public:
  explicit Wishes(std::size_t actions_most);

  void put(const ports::Action& action);
  void put(std::span<const ports::Expected> expected);
  /// The cluster's thread is to look around.
  void wake();
  /// And to end.
  void end();

  std::deque<Wish> take();
  /// The thread has nothing more to do now, and `done` says whether it waits for anything. Returns
  /// when there is a wish, when `other` (a file descriptor, or -1) is readable, or after `at_most`.
  /// False after end().
  bool rest(bool done, int other, Duration at_most);

  /// False if the thread is not done with everything within `at_most`.
  bool wait_done(Duration at_most);

 private:
  void add(Wish wish);
  /// Writes to wake_ unless that is done already. Under the mutex.
  void wake_up();

  const std::size_t actions_most_;
  Fd wake_;
  std::mutex mutex_;
  std::condition_variable done_changed_;
  std::deque<Wish> wishes_;
  bool done_ = false;
  bool woken_ = false;  // and not heard yet
  bool ending_ = false;
};

}  // namespace muster::clusters
