// What administrators change: queues and their quota, what clusters are allowed, tokens, and the
// configuration. Changes of the books go through the loop (control/requests.h) with a row in the
// audit log and are answered when they are durable, with what came of them.
//
// Joining a cluster and reloading the configuration need the parts that the server wires; it hands
// them in as functions.
//
// Thread contract: add_admin_routes before the server starts; handlers are called on I/O threads.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/rest/call.h"
#include "auth/tokens.h"
#include "base/result.h"
#include "base/time.h"
#include "config/config.h"
#include "config/config_diff.h"
#include "control/reads.h"
#include "control/requests.h"
#include "net/router.h"
#include "view/json.h"

namespace muster::api {

struct LoadedConfig {
  std::shared_ptr<const config::Config> config;
  std::string path;  // "" without a file
  Time loaded;
};

/// What is found of a cluster before it is joined.
struct ClusterCheck {
  std::string problem = {};  // why it cannot be reached; "": it can
  std::string version = {};
  std::string user = {};                  // as whom the server is known there
  std::string same_as = {};               // the joined cluster that it is, maybe by another name
  bool is_same_address = false;           // all that tells so is the address; else it is the UID
  std::vector<std::string> missing = {};  // permissions without which it cannot be used
  std::vector<std::string> wanted = {};   // and without which it works less well
  std::string rbac = {};                  // the rules that grant them, as YAML
};

/// What for, besides commands.
struct ClusterUse {
  bool has_objects = false;             // lists of objects
  std::vector<std::string> kinds = {};  // in them: "RayCluster", "widgets.example.com"
};

struct AdminParts {
  control::Reads& reads;
  control::Requests& requests;
  auth::Tokens& tokens;
  std::function<Time()> clock;
  Work work;

  /// What holds now. From any thread.
  std::function<LoadedConfig()> config;
  /// What is read of a text, with what this server as it runs has against it. From any thread.
  std::function<config::Checked(std::string_view yaml)> check_config;
  /// The text of the configuration file as it is now; called by `work`.
  std::function<Result<std::string>()> read_config_file;

  // What follows is called by `work`, when the books have the change.
  /// Makes it hold: clusters that come and go, policy, and then what config() says.
  std::function<Status(const config::Config&, const config::Diff&)> reload;
  /// Joins a cluster that is in no configuration file, for good.
  std::function<Status(const config::Cluster&)> join_cluster;
  std::function<Status(const std::string& name)> leave_cluster;
  /// From now on it leaves when its last job has ended, also over restarts.
  std::function<Status(const std::string& name)> begin_leave;

  // Before the books have it, by `work`.
  /// Talks to the cluster. Invalid when what was sent may not be joined at all.
  std::function<Result<ClusterCheck>(const config::Cluster&, const ClusterUse&)> check_cluster;
  /// Conflict if it stands in the configuration file.
  std::function<Status(const std::string& name)> may_leave;

  /// What is known of clusters beyond the engine. From any thread.
  std::function<view::ClusterNotes()> notes;
};

/// Under /api/muster/v1. `parts` must outlive the router's server.
void add_admin_routes(net::Router& router, const AdminParts& parts);

/// Parts of it, each in a file of its own.
void add_cluster_routes(net::Router& router, const AdminParts& parts);
void add_token_routes(net::Router& router, const AdminParts& parts);
void add_config_routes(net::Router& router, const AdminParts& parts);

/// Clusters of a configuration know nothing of what people allowed them meanwhile: gives each
/// ClusterSet the admission that its cluster has in the world, unless it was leaving and comes
/// back. One that is no more in the configuration takes no new work; it leaves when it is empty. To
/// be called, on the loop's thread, with the events of every (re)load.
void keep_admissions(const sched::World& world, std::vector<model::EventBody>& events,
                     const view::ClusterNotes& notes = {});
/// Something of Muster's runs there, or was left there and is to be removed.
bool has_work(const sched::World& world, sched::ClusterId cluster);

}  // namespace muster::api
