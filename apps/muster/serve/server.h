// A running server: store, loop, clusters and HTTP, put together from a configuration. Starting it
// recovers the world; stopping it leaves the pods of local clusters running.
//
// Thread contract: one thread, the one that serves signals.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "api/rest/api.h"
#include "apps/muster/serve/fleet.h"
#include "apps/muster/serve/job_payloads.h"
#include "apps/muster/serve/server_log.h"
#include "auth/tokens.h"
#include "base/result.h"
#include "clusters/files.h"
#include "config/config.h"
#include "control/log_keeper.h"
#include "net/http_server.h"
#include "ports/log_store.h"
#include "ports/store.h"

namespace muster::app {

class Server {
 public:
  /// `on_end`, from another thread: it cannot go on and must be stopped.
  Server(config::Config config, std::function<void()> on_end);
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
  api::Caller identify(const net::Request& request) const;
  void make_runner();
  std::vector<model::EventBody> first_events(const sched::World& world) const;
  void remember_config() const;
  void make_api();
  Status listen();
  void keep_house();

  config::Config config_;
  const std::function<void()> on_end_;
  ServerLog log_;
  std::string data_dir_;
  clusters::Fd lock_;
  std::unique_ptr<auth::Tokens> tokens_;
  std::string local_user_;  // "" where everybody needs a token
  std::string first_token_file_;
  std::unique_ptr<ports::Store> store_;
  std::unique_ptr<ports::LogStore> logs_;
  std::unique_ptr<control::LogKeeper> log_keeper_;
  std::unique_ptr<JobPayloads> payloads_;
  std::unique_ptr<api::EventHub> events_;
  std::unique_ptr<control::Runner> runner_;
  std::unique_ptr<Fleet> fleet_;
  std::unique_ptr<api::Workers> workers_;
  std::unique_ptr<api::Submitter> submitter_;
  std::unique_ptr<api::LogFollower> follower_;
  std::unique_ptr<api::Backend> backend_;
  net::Router router_;
  std::unique_ptr<net::HttpServer> http_;
  std::mutex house_mutex_;
  std::condition_variable house_changed_;
  bool stopping_ = false;
  std::thread housekeeper_;
};

}  // namespace muster::app
