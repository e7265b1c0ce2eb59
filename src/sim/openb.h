// The lists of the openb trace (Alibaba 2023): nodes and pods as csv. Columns are found by their
// names in the first line. Errors name file, line and column.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/job.h"
#include "model/node.h"

namespace muster::sim {

/// sn, cpu_milli, memory_mib, gpu, model.
Result<std::vector<model::NodeSpec>> read_openb_nodes(const std::string& text,
                                                      const std::string& file, std::size_t most);

struct OpenbPod {
  std::size_t line = 0;
  std::string name;
  std::string qos;
  model::PodSet set;
  std::optional<Time> created;  // the multigpu lists have no times
  Duration run_time{0};         // from scheduled, or created, to deleted
};

/// name, cpu_milli, memory_mib, num_gpu, gpu_milli, and perhaps gpu_spec, qos and times.
Result<std::vector<OpenbPod>> read_openb_pods(const std::string& text, const std::string& file,
                                              std::size_t most);

}  // namespace muster::sim
