// A large cluster that nobody runs: nodes, and pods of others bound to them, as an API server shows
// them.
#pragma once

#include "base/result.h"
#include "kube/client.h"

namespace muster::app {

/// Into a bare control plane. Each pod is as large as pods are in the field, 4 KB.
Status make_large_cluster(kube::Client& client, int nodes, int pods);

}  // namespace muster::app
