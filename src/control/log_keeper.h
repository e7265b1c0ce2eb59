// Brings the output of pods into the log store, each line as one and each byte once. A line without
// an end is held back until its rest comes, the pod ends or it has waited (LogSink::release); then,
// or when it is longer than the store takes, it is kept in parts that say so (LogLine::continues).
// Over a restart the store's own count of bytes says how much of what is handed over again is there
// already; what was only held back is handed over again.
//
// Thread contract: as ports::LogSink.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "ports/log_sink.h"
#include "ports/log_store.h"

namespace muster::control {

class LogKeeper : public ports::LogSink {
 public:
  explicit LogKeeper(ports::LogStore& logs) : logs_(logs) {}

  Result<std::uint64_t> taken(const ports::PodOutput& pod) override;
  Result<ports::LastKept> last_kept(const ports::PodOutput& pod) override;
  Status append(const ports::PodOutput& pod, std::span<const ports::OutputChunk> chunks) override;
  Result<bool> release(const ports::PodOutput& pod) override;
  Status finish(const ports::PodOutput& pod) override;

  /// Pods whose output is not finished.
  std::size_t pods() const;

 private:
  /// One stream of a pod.
  struct Source {
    std::uint64_t bytes = 0;  // handed over, up to the position
    std::string held;         // the last of these: a line that has no end yet
    Time held_at;             // when that began
    bool was_seen = false;    // at the last release()
    bool is_inside = false;   // what the store has ends within a line
    std::uint64_t skip = 0;   // so much of what is handed over next the store has already
  };
  struct State {
    std::uint64_t position = 0;
    std::array<Source, 3> sources;  // by stream
    bool in_doubt = false;          // the store may have more than that
  };
  using Lines = std::vector<ports::LogLine>;

  bool holds_back(const ports::PodOutput& pod) const;
  Result<State> state_of(const ports::PodOutput& pod);
  /// That of a pod of which the store has all that was handed over.
  Result<State> state_of_kept(const ports::PodOutput& pod) const;
  Status find_doubled(const ports::PodOutput& pod, State& state) const;
  static void take(const ports::OutputChunk& chunk, const std::string& pod, Source& source,
                   Lines& lines);
  static void keep_held(ports::Stream stream, const std::string& pod, Source& source,
                        std::size_t bytes, Lines& lines);
  Status put(const ports::PodOutput& pod, State state, const Lines& lines);

  ports::LogStore& logs_;
  mutable std::mutex mutex_;
  std::map<ports::PodOutput, State> states_;
};

}  // namespace muster::control
