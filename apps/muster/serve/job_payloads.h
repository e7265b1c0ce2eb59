// What the pods of a job run, from the store: a job's payload is its document, kept by hash.
//
// Thread contract: as ports::Payloads.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "config/job_file.h"
#include "ports/payloads.h"
#include "ports/store.h"

namespace muster::app {

class JobPayloads : public ports::Payloads {
 public:
  explicit JobPayloads(const ports::Store& store) : store_(store) {}
  Result<std::shared_ptr<const model::Command>> of(const std::string& job) override;

 private:
  const ports::Store& store_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const model::Command>> kept_;  // by hash, a few
};

}  // namespace muster::app
