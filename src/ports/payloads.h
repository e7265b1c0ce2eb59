// Where a kind of cluster gets what a job's pods run, at the moment they are to be made: actions
// stay small and payloads stay in the store until dispatch.
//
// Thread contract: called from the clusters' own threads, several at once; may block.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "model/command.h"

namespace muster::ports {

class Payloads {
 public:
  virtual ~Payloads() = default;
  /// Fault::Unavailable: try again later. Any other fault is final, and so is the job's failure.
  virtual Result<std::shared_ptr<const model::Command>> of(const std::string& job) = 0;
};

}  // namespace muster::ports
