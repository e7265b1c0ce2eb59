// Output kept in memory, for tests.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "ports/log_sink.h"

namespace muster::ports {

class MemoryLogSink : public LogSink {
 public:
  Result<std::uint64_t> taken(const PodOutput& pod) override {
    const std::lock_guard lock(mutex_);
    return last(pod);
  }
  Result<LastKept> last_kept(const PodOutput& pod) override {
    LastKept last;
    for (const OutputChunk& chunk : chunks(pod)) {
      if (chunk.at != last.at) last = {chunk.at, 0};
      last.bytes += chunk.bytes.size();
    }
    return last;
  }
  Status append(const PodOutput& pod, std::span<const OutputChunk> chunks) override {
    const std::lock_guard lock(mutex_);
    if (refuses_) return Error{Fault::Unavailable, "the log store is full"};
    for (const OutputChunk& chunk : chunks) {
      if (chunk.position > last(pod)) chunks_[pod].push_back(chunk);
    }
    return Ok{};
  }
  Result<bool> release(const PodOutput&) override { return false; }
  Status finish(const PodOutput& pod) override {
    const std::lock_guard lock(mutex_);
    if (refuses_) return Error{Fault::Unavailable, "the log store is full"};
    finished_.insert(pod);
    return Ok{};
  }
  bool is_finished(const PodOutput& pod) const {
    const std::lock_guard lock(mutex_);
    return finished_.contains(pod);
  }

  void refuse(bool refuses) {
    const std::lock_guard lock(mutex_);
    refuses_ = refuses;
  }
  std::vector<OutputChunk> chunks(const PodOutput& pod) const {
    const std::lock_guard lock(mutex_);
    const auto it = chunks_.find(pod);
    return it == chunks_.end() ? std::vector<OutputChunk>{} : it->second;
  }
  /// The bytes of one stream, in order.
  std::string text(const PodOutput& pod, Stream stream) const {
    std::string text;
    for (const OutputChunk& chunk : chunks(pod)) {
      if (chunk.stream == stream) text += chunk.bytes;
    }
    return text;
  }

 private:
  std::uint64_t last(const PodOutput& pod) const {
    const auto it = chunks_.find(pod);
    return it == chunks_.end() ? 0 : it->second.back().position;
  }

  mutable std::mutex mutex_;
  bool refuses_ = false;
  std::map<PodOutput, std::vector<OutputChunk>> chunks_;
  std::set<PodOutput> finished_;
};

}  // namespace muster::ports
