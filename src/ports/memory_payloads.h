// Payloads in memory, for tests.
#pragma once

#include <map>
#include <mutex>
#include <utility>

#include "ports/payloads.h"

namespace muster::ports {

class MemoryPayloads : public Payloads {
 public:
  Result<std::shared_ptr<const model::Command>> of(const std::string& job) override {
    const std::lock_guard lock(mutex_);
    const auto it = commands_.find(job);
    if (it != commands_.end()) return it->second;
    return Error{Fault::NotFound, fmt::format("job {} has no command", job)};
  }
  void set(const std::string& job, model::Command command) {
    const std::lock_guard lock(mutex_);
    commands_[job] = std::make_shared<const model::Command>(std::move(command));
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const model::Command>> commands_;
};

}  // namespace muster::ports
