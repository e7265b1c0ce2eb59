// A command in a container of a Kubernetes cluster, as ports::PodCommands wants it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "clusters/kubernetes/gang_state.h"
#include "kube/client.h"
#include "ports/pod_commands.h"

namespace muster::clusters {

/// The pod that a number means among those of an attempt: its rank in the gang; of a list of
/// objects, whose pods nobody numbered, also its place among those that live: the one that leads
/// first, then by name. An error names what is there.
Result<PodSight> numbered_pod(const std::vector<PodSight>& pods, std::uint32_t number);

/// Among these pods of its attempt; an error names what is there.
Result<std::shared_ptr<ports::PodCommandSession>> exec_in_pod(kube::Client& client,
                                                              const std::vector<PodSight>& pods,
                                                              const ports::PodCommand& command,
                                                              ports::PodCommandCallbacks callbacks);

}  // namespace muster::clusters
