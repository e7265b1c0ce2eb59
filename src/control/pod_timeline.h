// The notes of clusters about pods, kept beside the journal in a log store of their own: each once,
// also over a restart, and so many of an attempt at most. The engine never sees them.
//
// Thread contract: any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/pod_note.h"
#include "ports/log_store.h"
#include "ports/pod_notes.h"

namespace muster::control {

struct TimelineLimits {
  std::size_t attempt = 100;            // notes of one
  std::size_t reason = 10;              // of those with one reason
  std::size_t message_bytes = 1000;     // what is longer is cut
  std::size_t attempts_known = 10'000;  // whose keys are in memory
};

class PodTimeline : public ports::PodNotes {
 public:
  /// `told` gets every note that is new and kept.
  PodTimeline(ports::LogStore& store, std::function<void(const model::PodNote&)> told,
              TimelineLimits limits = {})
      : store_(store), told_(std::move(told)), limits_(limits) {}

  void note(const model::PodNote& note) override;

  /// Of one attempt, or of all, by attempt and in the order they came; the last `most` of them.
  Result<std::vector<model::PodNote>> of(const std::string& job,
                                         std::optional<std::uint32_t> attempt,
                                         std::size_t most) const;

 private:
  struct Known {
    std::set<std::string> keys;
    std::map<std::string, std::size_t, std::less<>> reasons;
  };
  Known* known_of(const ports::Attempt& attempt);

  ports::LogStore& store_;
  const std::function<void(const model::PodNote&)> told_;
  const TimelineLimits limits_;
  std::mutex mutex_;
  std::map<ports::Attempt, Known> known_;  // guarded by mutex_
};

}  // namespace muster::control
