// Events out of bytes: such as a journal or a watch may hold, and such as none should. A few names,
// so that events meet; numbers from the edges of what is allowed and from beyond.
#pragma once

#include "model/event.h"
#include "sched/world.h"
#include "tests/fuzz/input.h"

namespace muster::fuzz {

class EventMaker {
 public:
  EventMaker(Bytes bytes, const sched::World& world) : bytes_(bytes), world_(world) {}

  bool is_done() const { return bytes_.empty(); }
  /// One of `n`.
  std::size_t below(std::size_t n) { return take(bytes_) % n; }
  bool one_in(std::size_t n) { return below(n) == n - 1; }
  /// The next event; the clock goes on now and then.
  model::Event next();
  Time now() const { return now_; }

 private:
  std::string job();
  std::string cluster();
  std::string node();
  std::string queue();
  std::int64_t amount();
  int count();
  Time time();
  Duration duration();
  std::uint32_t attempt_of(const std::string& job);

  model::Resources resources();
  model::PodShape pod();
  model::JobSpec spec();
  model::QueueSpec queue_spec();
  model::NodeSpec node_spec();
  model::ForeignPod foreign_pod();
  std::vector<model::PodPlace> places(const std::string& job);

  model::EventBody asked(std::size_t which);
  model::EventBody decided(std::size_t which);
  model::EventBody came_of_it(std::size_t which);
  model::EventBody seen(std::size_t which);

  Bytes bytes_;
  const sched::World& world_;
  Time now_{1'000'000};
  std::uint64_t seq_ = 0;
};

}  // namespace muster::fuzz
