// The parts of `muster bench appwrapper`, one file each. Every part starts a control plane of its
// own with the definitions of AppWrapper in it, and adds its rows.
#pragma once

#include <string>

#include "apps/muster/measuring/parts.h"
#include "base/result.h"

namespace muster::app {

struct WrapperBenchOptions {
  std::string clusters_program = "tests/e2e/clusters.py";
  int turns = 3;  // limit and Muster one after the other, on fresh control planes each time
  int nodes = 200;
  int wrappers = 500;
  int ended = 100;
  int unfit = 1'000;
  int queued = 100'000;
  int queued_v1beta2 = 100'000;  // 0: not measured; creating them all takes minutes
};

/// From the first submit to the last one dispatched, beside the same writes of one plain client.
Status measure_wrapper_dispatch(const WrapperBenchOptions& options, Sheet& sheet);
/// What the server writes from submit to completed, by the API server's own record.
Status measure_wrapper_writes(const WrapperBenchOptions& options, Sheet& sheet);
/// One that fits behind many that do not, and after those were deleted.
Status measure_unfit_wrappers(const WrapperBenchOptions& options, Sheet& sheet);
/// What the server keeps of those that wait, and how soon one that fits starts beside them.
Status measure_queued_wrappers(const WrapperBenchOptions& options, Sheet& sheet);

}  // namespace muster::app
