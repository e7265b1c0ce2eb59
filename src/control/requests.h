// What people ask of the loop: a bounded queue between the threads that talk to them and the loop.
// A request is asked on the loop's thread, where the world is to be looked at; what it wants
// written goes into the same transaction as the batch of that step, and its answer is given when
// that is durable, before anything is planned. Whoever puts is told at once when there is no room,
// or while the store refuses: then nothing is kept of the request.
//
// Thread contract: put, close, set_store_refusal and the numbers from any thread; take from the
// loop's.
// `ask` and `done` are called on the loop's thread and must not wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/event.h"
#include "ports/store.h"
#include "sched/world.h"

namespace muster::control {

/// What a request wants written. A JobSubmitted without a sequence gets the next one.
struct Asked {
  std::vector<model::EventBody> events = {};
  std::vector<ports::AuditRow> audit = {};  // without a time: that of the step
  std::vector<ports::SubmitKey> keys = {};
  std::vector<ports::Payload> payloads = {};  // few and small ones that the events name
  std::string answer = {};                    // handed on to `done`
};

struct Answer {
  std::string text;
  std::uint64_t sequence = 0;  // of the journal, with this request in it
};

struct Request {
  /// An error goes to `done` and nothing is written.
  std::function<Result<Asked>(const sched::World&, Time)> ask;
  std::function<void(Result<Answer>)> done;
};

class Requests {
 public:
  enum class Put { Taken, Full, StoreRefuses, Closed };

  explicit Requests(std::size_t capacity) : capacity_(capacity) {}

  /// `weight`: how many events it will want, so that a few large requests fill the queue as well.
  Put put(Request request, std::size_t weight = 1) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return Put::Closed;
      if (store_refusal_) return Put::StoreRefuses;
      if (weight_ + weight > capacity_ && weight_ > 0) return Put::Full;
      weight_ += weight;
      requests_.emplace_back(std::move(request), weight);
    }
    if (on_put_) on_put_();
    return Put::Taken;
  }

  /// Requests of about `most` events together, in the order they were put.
  std::vector<Request> take(std::size_t most) {
    const std::lock_guard lock(mutex_);
    std::vector<Request> batch;
    std::size_t taken = 0;
    while (!requests_.empty() && taken < most) {
      taken += requests_.front().second;
      batch.push_back(std::move(requests_.front().first));
      requests_.pop_front();
    }
    weight_ -= taken;
    return batch;
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return requests_.size();
  }
  /// While there is one, put refuses; it is what to answer then.
  void set_store_refusal(std::optional<Error> refusal) {
    const std::lock_guard lock(mutex_);
    store_refusal_ = std::move(refusal);
  }
  std::optional<Error> store_refusal() const {
    const std::lock_guard lock(mutex_);
    return store_refusal_;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  /// Called after each put, to wake the loop. Set before anybody puts.
  void on_put(std::function<void()> call) { on_put_ = std::move(call); }

 private:
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::deque<std::pair<Request, std::size_t>> requests_;
  std::size_t weight_ = 0;
  std::optional<Error> store_refusal_;
  bool closed_ = false;
  std::function<void()> on_put_;
};

}  // namespace muster::control
