#include "apps/muster/bench_kube/create_load.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace muster::app {

using Clock = std::chrono::steady_clock;

struct CreateLoad::State : std::enable_shared_from_this<State> {
  State(kube::Client& c, Options o) : client(c), options(std::move(o)) {}

  void send(std::size_t index) {
    client.send_later(options.request(index),
                      [self = shared_from_this()](const kube::Reply<kube::Client::Json>& made) {
                        if (const auto next = self->take(made)) self->send(*next);
                      });
  }

  /// The next to send; none: the others are under way, or one failed.
  std::optional<std::size_t> take(const kube::Reply<kube::Client::Json>& made) {
    const std::lock_guard lock(mutex);
    ++answered;
    if (!made && !failure) failure = Error{Fault::Unavailable, made.error().message};
    if (!failure && begun < options.count) return begun++;
    if (answered == begun) {
      end = Clock::now();
      is_over = true;
      over.notify_all();
    }
    return std::nullopt;
  }

  kube::Client& client;
  const Options options;
  Clock::time_point start = Clock::now();
  std::mutex mutex;
  std::condition_variable over;
  std::size_t begun = 0;  // guarded by mutex, as all that follows
  std::size_t answered = 0;
  std::optional<Error> failure;
  Clock::time_point end;
  bool is_over = false;
};

CreateLoad::CreateLoad(kube::Client& client, Options options)
    : state_(std::make_shared<State>(client, std::move(options))) {
  const std::size_t first = std::min(state_->options.in_flight, state_->options.count);
  state_->begun = first;
  state_->is_over = first == 0;
  for (std::size_t i = 0; i < first; ++i) state_->send(i);
}

Result<double> CreateLoad::wait() {
  std::unique_lock lock(state_->mutex);
  state_->over.wait(lock, [this] { return state_->is_over; });
  if (state_->failure) return *state_->failure;
  return std::chrono::duration<double>(state_->end - state_->start).count();
}

}  // namespace muster::app
