// A log sink that tells whose output came, when it is kept: who follows the log need not look for
// it. Thread contract: that of the sink inside; `told` is called on the thread that appends.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "ports/log_sink.h"

namespace muster::app {

class TellingSink : public ports::LogSink {
 public:
  TellingSink(ports::LogSink& sink, std::function<void(const std::string& job)> told)
      : sink_(sink), told_(std::move(told)) {}

  Result<std::uint64_t> taken(const ports::PodOutput& pod) override { return sink_.taken(pod); }
  Result<ports::LastKept> last_kept(const ports::PodOutput& pod) override {
    return sink_.last_kept(pod);
  }
  Status append(const ports::PodOutput& pod, std::span<const ports::OutputChunk> chunks) override {
    Status status = sink_.append(pod, chunks);
    if (status) told_(pod.job);
    return status;
  }
  Result<bool> release(const ports::PodOutput& pod) override {
    Result<bool> released = sink_.release(pod);
    if (released && *released) told_(pod.job);
    return released;
  }
  Status finish(const ports::PodOutput& pod) override {
    Status status = sink_.finish(pod);
    if (status) told_(pod.job);
    return status;
  }

 private:
  ports::LogSink& sink_;
  std::function<void(const std::string&)> told_;
};

}  // namespace muster::app
