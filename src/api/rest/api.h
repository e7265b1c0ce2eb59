// The REST API of Muster: /api/muster/v1, described by docs/openapi.json, with /healthz and /readyz
// beside it. This header is where its parts meet: what the handlers reach (Backend), and the
// functions that add their routes, one per subject.
//
// Handlers run on the network's threads and never wait there: api/rest/call.h has the ways on.
//
// Thread contract: everything in Backend may be used from any thread and outlives the handler.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/rest/call.h"
#include "api/rest/event_hub.h"
#include "api/rest/log_follower.h"
#include "api/rest/submitter.h"
#include "base/time.h"
#include "control/pod_timeline.h"
#include "control/reads.h"
#include "control/requests.h"
#include "control/runner.h"
#include "net/http.h"
#include "net/router.h"
#include "ports/log_store.h"
#include "ports/store.h"

namespace muster::api {

/// Who sends a request, or why it is not let in.
struct Caller {
  std::string user;
  int refused = 0;  // 401 or 403; 0: let in
  std::string message = {};
};

struct Settings {
  std::string version;
  std::string default_queue = "default";
  int default_priority = 50;
  std::size_t jobs_per_submit = 1000;
  std::size_t request_bytes = std::size_t{16} << 20;
  std::int64_t waiting_jobs = 2'000'000;
  std::vector<std::string> clusters;            // all of them
  std::vector<std::string> without_containers;  // take no job that has an image or is of objects
  std::vector<std::string> without_image;       // take no command that brings no image
  std::vector<std::string> simulated;           // run nothing, and print nothing
};

struct Backend {
  ports::Store& store;
  ports::LogStore& logs;
  const control::PodTimeline& notes;
  control::Runner& runner;
  Work work;
  Submitter& submitter;
  EventHub& events;
  LogFollower& follower;
  /// Those of the configuration that holds now.
  std::function<std::shared_ptr<const Settings>()> settings;
  std::function<Time()> clock;
  std::function<Caller(const net::Request&)> identify;
  /// What the server waits for; none: it is ready.
  std::function<std::optional<std::string>()> not_ready;
};

void add_job_routes(net::Router& router, Backend& backend);
void add_submit_routes(net::Router& router, Backend& backend);
void add_log_routes(net::Router& router, Backend& backend);
void add_event_routes(net::Router& router, Backend& backend);
void add_server_routes(net::Router& router, Backend& backend);

/// Lets nobody in without a user, but for /healthz and /readyz; then the router. Both must outlive
/// the server.
net::Handler guard(const net::Router& router, Backend& backend);

}  // namespace muster::api
