// A command in a container of a Kubernetes cluster, as ports::PodCommands wants it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "clusters/kubernetes/gang_state.h"
#include "kube/client.h"
#include "ports/pod_commands.h"

namespace muster::clusters {

/// Among these pods of its attempt; an error names what is there.
Result<std::shared_ptr<ports::PodCommandSession>> exec_in_pod(kube::Client& client,
                                                              const std::vector<PodSight>& pods,
                                                              const ports::PodCommand& command,
                                                              ports::PodCommandCallbacks callbacks);

}  // namespace muster::clusters
