// GET /jobs/{job}/exec: a command in a pod of a running job, as a WebSocket. What can be said
// before it runs (no such job, it does not run, no such pod, a cluster that cannot do it) is an
// ordinary error; then the connection carries the command's streams until it ends (exec_bridge.h).
//
// Every command is in the audit log before it runs. So many run at once at most.
//
// Thread contract: add_exec_routes before the server starts; handlers are called on I/O threads.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/rest/call.h"
#include "base/result.h"
#include "control/requests.h"
#include "net/router.h"
#include "ports/pod_commands.h"

namespace muster::api {

struct ExecParts {
  control::Requests& requests;
  Work work;
  /// Begins it in the cluster of that name. From any thread; must not wait.
  std::function<Result<std::shared_ptr<ports::PodCommandSession>>(
      const std::string& cluster, const ports::PodCommand&, ports::PodCommandCallbacks)>
      run;
  int sessions_most = 64;
};

/// Under /api/muster/v1. `parts` must outlive the router's server.
void add_exec_routes(net::Router& router, const ExecParts& parts);

}  // namespace muster::api
