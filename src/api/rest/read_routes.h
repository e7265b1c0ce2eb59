// Questions about the live world: why does this job wait and when will it start, would this one
// fit, what would more quota do; queues, clusters, nodes and pools as they are. Answered on the
// loop's thread between two steps (control/reads.h); what is read of a job costs no more however
// many others wait.
//
// Thread contract: add_read_routes before the server starts; handlers are called on I/O threads.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/rest/placement_scores.h"
#include "base/result.h"
#include "base/time.h"
#include "config/config.h"
#include "control/reads.h"
#include "net/router.h"
#include "view/json.h"

namespace muster::api {

struct ReadParts {
  control::Reads& reads;
  const PlacementScores& scores;  // looked at on the loop's thread only
  /// What holds now. From any thread.
  std::function<std::shared_ptr<const config::Config>()> config;
  /// The Job of the contract by its id, from the store: may answer later, on any thread.
  std::function<void(const std::string& id, std::function<void(Result<std::string>)> then)>
      job_json;
  std::function<Time()> clock;
  /// What the server knows of its clusters beyond the engine. From any thread.
  std::function<view::ClusterNotes()> notes;
};

/// Under /api/muster/v1. `parts` must outlive the router's server.
void add_read_routes(net::Router& router, const ReadParts& parts);

/// Notes that say the type of each configured cluster, and nothing else.
view::ClusterNotes cluster_notes(const config::Config& config);

}  // namespace muster::api
