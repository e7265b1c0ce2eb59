// This machine as a node, with artificial GPUs.
#pragma once

#include <string>

#include "base/result.h"
#include "model/node.h"

namespace muster::clusters {

struct MachineOptions {
  std::string name;  // empty: the host's
  int slots = 0;     // GPUs that are counted, whether or not they are there
  std::string gpu_type = "local";
  model::Bytes gpu_memory{0};  // of one slot; 0: unknown
  model::MilliCpu cpu{0};      // 0: what the machine has
  model::Bytes memory{0};
};

/// Fault::Invalid if there are more slots than a placement can name.
Result<model::NodeSpec> this_machine(const MachineOptions& options);

}  // namespace muster::clusters
