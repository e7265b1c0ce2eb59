// How far the AppWrappers and Jobs of a cluster are, seen from outside: by watches of the API
// server.
//
// Thread contract: one thread, and count() from any; the watches are told on the client's I/O
// thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"
#include "kube/client.h"
#include "kube/reflector.h"

namespace muster::app {

/// Each includes those before it.
enum class WrapperStage { Created, Queued, Dispatched, Running, Completed };

class Sightings {
 public:
  using Clock = std::chrono::steady_clock;
  /// Of AppWrappers and Jobs of the benchmarks' namespace. The client must live longer.
  explicit Sightings(kube::Client& client);
  ~Sightings();

  /// So many AppWrappers are so far. Unavailable if they are not so for minutes without a change.
  Status wait_for(WrapperStage stage, std::size_t count);
  std::size_t count(WrapperStage stage) const;
  /// That many AppWrappers are there, and no more.
  Status wait_for_left(std::size_t count);
  /// When the Job was seen first.
  Result<Clock::time_point> wait_for_job(const std::string& name);

 private:
  struct Seen;
  class Wrappers;
  class Jobs;
  std::shared_ptr<Seen> seen_;
  std::unique_ptr<kube::Reflector> wrappers_;
  std::unique_ptr<kube::Reflector> jobs_;
};

}  // namespace muster::app
