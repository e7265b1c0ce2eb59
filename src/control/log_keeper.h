// Brings the output of pods into the log store, line by line, each byte once: over a restart the
// store's own count of bytes says how much of what is handed over again is there already.
//
// Thread contract: as ports::LogSink.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>

#include "ports/log_sink.h"
#include "ports/log_store.h"

namespace muster::control {

class LogKeeper : public ports::LogSink {
 public:
  explicit LogKeeper(ports::LogStore& logs) : logs_(logs) {}

  Result<std::uint64_t> taken(const ports::PodOutput& pod) override;
  Result<ports::LastKept> last_kept(const ports::PodOutput& pod) override;
  Status append(const ports::PodOutput& pod, std::span<const ports::OutputChunk> chunks) override;

 private:
  struct State {
    std::uint64_t position = 0;
    std::array<std::uint64_t, 3> bytes{};  // of each stream, up to the position
    bool in_doubt = false;                 // the store may have more than that
  };

  ports::LogStore& logs_;
  std::mutex mutex_;
  std::map<ports::PodOutput, State> states_;
};

}  // namespace muster::control
