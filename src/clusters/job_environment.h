// What a program learns of its job and its peers, the same in every kind of cluster.
#pragma once

#include <cstdint>
#include <string>

#include "model/command.h"
#include "ports/cluster.h"

namespace muster::clusters {

void put_over(model::Environment& under, const model::Environment& over);

/// MUSTER_JOB_ID and the like.
void add_job(model::Environment& environment, const ports::Attempt& attempt,
             const model::Command& command, const std::string& set);

/// A pod is a machine of its own to distributed programs, with one process. Its rank is up to the
/// kind of cluster.
void add_peers(model::Environment& environment, std::int64_t pods, const std::string& first_pod);

}  // namespace muster::clusters
