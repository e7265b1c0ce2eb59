#include "clusters/wishes.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <chrono>
#include <utility>

namespace muster::clusters {

Wishes::Wishes(std::size_t actions_most)
    : actions_most_(actions_most), wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  MUSTER_CHECK(wake_.is_open(), "no eventfd: too many open files");
}

void Wishes::put(const ports::Action& action) {
  {
    const std::lock_guard lock(mutex_);
    if (wishes_.size() >= actions_most_) return;
  }
  add(action);
}

void Wishes::put(std::span<const ports::Expected> expected) {
  add(std::vector<ports::Expected>(expected.begin(), expected.end()));
}

void Wishes::add(Wish wish) {
  const std::lock_guard lock(mutex_);
  wishes_.push_back(std::move(wish));
  done_ = false;
  wake_up();
}

void Wishes::wake() {
  const std::lock_guard lock(mutex_);
  done_ = false;
  wake_up();
}

void Wishes::end() {
  const std::lock_guard lock(mutex_);
  ending_ = true;
  wake_up();
}

void Wishes::wake_up() {
  if (!std::exchange(woken_, true)) ::eventfd_write(wake_.get(), 1);
}

std::deque<Wish> Wishes::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(wishes_, {});
}

bool Wishes::rest(bool done, int other, Duration at_most) {
  {
    const std::lock_guard lock(mutex_);
    if (ending_) return false;
    if (!wishes_.empty()) return true;
    done_ = done && !woken_;  // a call that is not heard yet is something to do
    if (done_) done_changed_.notify_all();
  }
  pollfd fds[2] = {{wake_.get(), POLLIN, 0}, {other, POLLIN, 0}};
  ::poll(fds, 2, static_cast<int>(at_most.ms));
  eventfd_t woken = 0;
  if (fds[0].revents == 0) return true;
  ::eventfd_read(wake_.get(), &woken);
  const std::lock_guard lock(mutex_);
  woken_ = false;  // whoever comes from here on wakes it again, whoever came before is heard now
  return true;
}

bool Wishes::wait_done(Duration at_most) {
  std::unique_lock lock(mutex_);
  return done_changed_.wait_for(lock, std::chrono::milliseconds(at_most.ms), [&] { return done_; });
}

}  // namespace muster::clusters
