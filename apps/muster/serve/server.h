// A running server: store, loop, clusters and HTTP, put together from a configuration. Starting it
// recovers the world; stopping it leaves the pods of local clusters running.
//
// Thread contract: one thread, the one that serves signals.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "api/appwrapper/hub.h"
#include "api/appwrapper/routes.h"
#include "api/log.h"
#include "api/metrics.h"
#include "api/rest/admin_routes.h"
#include "api/rest/api.h"
#include "api/rest/exec_routes.h"
#include "api/rest/placement_scores.h"
#include "api/rest/read_routes.h"
#include "api/rest/workers.h"
#include "api/timed_store.h"
#include "apps/muster/serve/appwrappers.h"
#include "apps/muster/serve/cluster_sources.h"
#include "apps/muster/serve/fleet.h"
#include "apps/muster/serve/job_payloads.h"
#include "apps/muster/serve/joined.h"
#include "apps/muster/serve/overrides.h"
#include "apps/muster/serve/startup_gate.h"
#include "apps/muster/serve/telling_sink.h"
#include "auth/identity.h"
#include "auth/tokens.h"
#include "base/result.h"
#include "clusters/files.h"
#include "clusters/kubernetes/adoption.h"
#include "config/config.h"
#include "control/log_keeper.h"
#include "control/pod_timeline.h"
#include "control/snapshots.h"
#include "net/http_server.h"
#include "ports/log_store.h"
#include "ports/store.h"

namespace muster::app {

class Server {
 public:
  /// `file`: what the configuration was read from, "" without one; `over`: what stands in `config`
  /// instead of what the file says. `on_end`, from another thread: it cannot go on and must be
  /// stopped.
  Server(config::Config config, std::string file, Overrides over, std::function<void()> on_end);
  ~Server();

  Status start();
  std::string url() const { return http_->url(); }
  /// Where the first token was written now; "" at a later start.
  const std::string& first_token_file() const { return first_token_file_; }
  /// Takes over what needs no restart, and says what changed.
  Status reload(const config::Config& config);
  void stop();

 private:
  Status open_data();
  Status open_store();
  Status open_tokens();
  config::Checked check(std::string_view yaml) const;
  api::Caller identify(const net::Request& request) const;
  void make_runner();
  void say_progress(control::RecoveryProgress progress);
  void make_snapshots();
  std::optional<config::Config> applied() const;
  std::vector<model::EventBody> first_events(const sched::World& world) const;
  void remember_config() const;
  void make_api();
  void add_live_routes();
  void watch_parts();
  api::Work work();
  api::AdminParts admin_parts();
  api::LoadedConfig loaded() const;
  Status take_over(const config::Config& config);
  Status take_over_locked(const config::Config& config);  // under the lock

  // clusters: server_clusters.cc; those that say so under config_mutex_
  config::Config everything() const;  // under the lock
  Status may_run(const std::vector<config::Cluster>& clusters) const;
  Accesses accesses_of(const config::Config& config) const;  // under the lock
  Status follow_clusters();                                  // under the lock
  view::ClusterNotes notes() const;
  Result<api::ClusterCheck> check_cluster(const config::Cluster& cluster,
                                          const api::ClusterUse& use) const;
  Status join_cluster(const config::Cluster& cluster);
  Status may_leave(const std::string& name) const;
  Status begin_leave(const std::string& name);
  // Of a configuration that changes, under the lock: what stands nowhere any more leaves when it is
  // empty; what is back stays.
  Status let_leave(const config::Config& before);
  Status let_stay();
  void add_leaves(const sched::World& world, std::vector<model::EventBody>& events) const;
  Status forget_cluster(const std::string& name);
  void start_appwrappers(const Accesses& accesses);
  void renew_appwrappers(const kube::Access& access);
  void keep_clusters();
  void keep_clusters_once();
  void take_sighting(const Sighting& seen);
  void follow_found(const config::Cluster& cluster);
  void lose_found(const config::Cluster& cluster);
  void end_leaves();
  void find_duplicates(const config::Config& now);  // under the lock
  void say_health();                                // under the lock
  void say_problems(const std::vector<std::string>& problems);
  Status ask_loop(std::function<Result<control::Asked>(const sched::World&, Time)> ask);
  Status listen();
  void keep_house();
  void retain_rows(const config::Retention& keep);

  /// Guards the configuration, the clusters that are open and what was joined: a reload may come by
  /// a signal or by the API.
  mutable std::mutex config_mutex_;
  config::Config config_;
  /// Apart from the rest: a reload may open clusters for a while, and no request waits for that.
  mutable std::mutex settings_mutex_;
  std::shared_ptr<const api::Settings> settings_;
  std::vector<work::SelectableCluster> selectable_;  // guarded as settings_
  Time loaded_;
  const std::string file_;
  const Overrides over_;
  const std::function<void()> on_end_;
  api::Log log_;
  std::string data_dir_;
  clusters::Fd lock_;
  std::unique_ptr<auth::Tokens> tokens_;
  /// As it was opened: another `listen` in the file holds after a restart only.
  auth::Listener listener_;
  std::string local_user_;  // "" where everybody needs a token
  std::string first_token_file_;
  std::optional<JoinedClusters> joined_;   // through the API
  std::optional<JoinedClusters> found_;    // at a source
  std::optional<JoinedClusters> leaving_;  // until their last job has ended
  ClusterSources sources_;
  mutable AccessReader access_reader_{
      [this](const config::SecretRef& ref) { return sources_.secret(ref); }};
  std::map<std::string, std::pair<std::string, std::string>>
      duplicates_;  // the way it is reached, and whose cluster that is
  std::map<std::string, std::string> said_health_;
  std::map<std::string, std::string> said_trouble_;
  std::set<std::string> said_problems_;  // of the keeper's thread
  api::Metrics metrics_;
  api::PlacementScores scores_;
  std::unique_ptr<ports::Store> opened_store_;
  std::unique_ptr<api::TimedStore> store_;
  std::unique_ptr<ports::LogStore> logs_;
  std::unique_ptr<control::LogKeeper> log_keeper_;
  std::unique_ptr<api::LogFollower> follower_;
  std::unique_ptr<TellingSink> log_sink_;
  std::unique_ptr<ports::LogStore> notes_store_;
  std::unique_ptr<control::PodTimeline> notes_;
  std::unique_ptr<JobPayloads> payloads_;
  std::unique_ptr<api::EventHub> events_;
  std::unique_ptr<clusters::KubernetesAdopter> adopter_;  // of the hub
  std::unique_ptr<api::AppWrapperHub> appwrappers_;       // null: none are taken
  /// Of the hub since it was started.
  struct HubAccess {
    std::string cluster;
    std::string reached_by;
    kube::Client* adopter = nullptr;  // of adopter_
  };
  HubAccess hub_access_;
  std::unique_ptr<control::Runner> runner_;
  std::unique_ptr<control::Snapshots> snapshots_;
  Time progress_said_;
  std::unique_ptr<Fleet> fleet_;
  std::unique_ptr<api::Workers> workers_;
  // Of their own, since they wait for clusters, which may be sick: nobody else's question does.
  std::unique_ptr<api::Workers> admin_workers_;
  std::unique_ptr<api::Workers> leavers_;  // close clusters
  std::unique_ptr<api::Submitter> submitter_;
  std::unique_ptr<api::Backend> backend_;
  std::unique_ptr<api::ReadParts> read_parts_;
  std::unique_ptr<api::AdminParts> admin_parts_;
  std::unique_ptr<api::ExecParts> exec_parts_;
  net::Router router_;
  StartupGate gate_;
  std::unique_ptr<net::HttpServer> http_;
  std::mutex house_mutex_;
  std::condition_variable house_changed_;
  bool stopping_ = false;
  bool house_due_ = false;  // a snapshot was proven: the journal may be trimmed
  std::thread housekeeper_;
  std::thread cluster_keeper_;
};

}  // namespace muster::app
