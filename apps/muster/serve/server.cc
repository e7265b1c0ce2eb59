#include "apps/muster/serve/server.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "api/rest/config_preview.h"
#include "apps/muster/free_memory.h"
#include "apps/muster/read_text.h"
#include "apps/muster/serve/settings.h"
#include "auth/identity.h"
#include "auth/private_file.h"
#include "clusters/clock.h"
#include "config/config_diff.h"
#include "store/file_log_store.h"
#include "store/open.h"
#include "view/event_json.h"

namespace muster::app {
namespace {

constexpr int worker_threads = 4;
constexpr std::size_t worker_tasks = 20'000;
constexpr int patient_threads = 4;
constexpr std::size_t patient_tasks = 1'000;
constexpr std::chrono::seconds house_pause{60};
constexpr std::uint64_t notes_bytes = std::uint64_t{1} << 30;  // of what clusters say about pods
/// How long the engine has a finished job at hand: who asks for one that is done has just seen it
/// end, or finds it in the tables.
constexpr Duration engine_memory = minutes(10);
/// Whoever waits for an answer comes first; whoever looks on comes before what nobody waits for.
constexpr int snapshot_nice = 10;
constexpr int events_nice = 5;

std::string system_user() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry == nullptr ? "" : entry->pw_name;
}

/// As many descriptors as may be: every client of an event stream has one. Returns how many it were
/// before; 0: not known.
std::int64_t raise_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return before == RLIM_INFINITY ? 0 : static_cast<std::int64_t>(before);
}

/// A job's row with what clusters said last about its pods.
std::string with_notes(const model::JobRow& row, const control::PodTimeline& timeline) {
  std::string text = view::job_row_json(row);
  const auto notes = timeline.of(row.id, row.attempt, 10);
  if (!notes) return text;
  text.pop_back();
  return fmt::format("{},\"notes\":{}}}", text, view::notes_json(*notes));
}

std::string applied_file(const std::string& data_dir) { return data_dir + "/applied.yaml"; }

}  // namespace

Server::Server(config::Config config, std::string file, Overrides over,
               std::function<void()> on_end)
    : config_(std::move(config)),
      settings_(settings_of(config_)),
      loaded_(clusters::wall_now()),
      file_(std::move(file)),
      over_(std::move(over)),
      on_end_(std::move(on_end)),
      log_(config_.log.level, config_.log.format),
      metrics_(std::string(version)) {}

Server::~Server() { stop(); }

Status Server::start() {
  const std::int64_t descriptors = raise_descriptors();
  for (Status (Server::*step)() : {&Server::open_data, &Server::open_tokens, &Server::open_store}) {
    if (Status status = (this->*step)(); !status) return status;
  }
  make_snapshots();
  make_runner();
  if (Status status = listen(); !status) return status;
  if (const auto before = applied()) {
    if (Status kept = let_leave(*before); !kept) return kept;
  }
  settings_ = settings_of(everything());  // nobody asks yet
  selectable_ = selectable_clusters(everything());
  const auto identity = store_->identity();
  if (!identity) return identity.error();
  fleet_ = std::make_unique<Fleet>(data_dir_,
                                   Fleet::Self{*identity, std::to_string(loaded_.ms), descriptors},
                                   Fleet::Ports{runner_->inbox(), *payloads_, *log_sink_, *notes_,
                                                appwrappers_.get(), appwrappers_.get()});
  const config::Config first = everything();
  if (Status status = fleet_->open(first, accesses_of(first)); !status) return status;
  const Status begun = runner_->start(
      fleet_->clusters(), [this](const sched::World& world) { return first_events(world); });
  if (!begun) return begun;
  if (Status back = let_stay(); !back) return back;
  remember_config();
  snapshots_->start(runner_->snapshot());
  make_api();
  gate_.open(api::guard(router_, *backend_));
  watch_parts();
  housekeeper_ = std::thread([this] { keep_house(); });
  cluster_keeper_ = std::thread([this] { keep_clusters(); });
  return Ok{};
}

Status Server::open_data() {
  std::error_code wrong;
  data_dir_ = std::filesystem::absolute(config_.data_dir, wrong).lexically_normal().string();
  std::filesystem::create_directories(data_dir_ + "/clusters", wrong);
  if (wrong)
    return invalid(fmt::format("data_dir: cannot make {}: {}", data_dir_, wrong.message()));
  std::filesystem::permissions(data_dir_, std::filesystem::perms::owner_all, wrong);
  lock_ = clusters::Fd(::open((data_dir_ + "/lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  if (lock_.get() < 0) return invalid(fmt::format("data_dir: cannot write in {}", data_dir_));
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0)
    return Error{Fault::Conflict,
                 fmt::format("data_dir: another server uses {}; stop it or name another folder "
                             "with --data-dir",
                             data_dir_)};
  for (const auto& [list, name] : {std::pair(&joined_, "joined"), std::pair(&found_, "found"),
                                   std::pair(&leaving_, "leaving")}) {
    auto opened = JoinedClusters::open(fmt::format("{}/{}.yaml", data_dir_, name));
    if (!opened) return opened.error();
    *list = std::move(*opened);
  }
  return Ok{};
}

Status Server::open_tokens() {
  auto opened = auth::Tokens::open(data_dir_ + "/tokens");
  if (!opened) return opened.error();
  tokens_ = std::move(*opened);
  local_user_ = auth::local_user_name(system_user());
  const std::string file = data_dir_ + "/admin.token";
  const auto made = auth::make_first_token(*tokens_, file, local_user_, clusters::wall_now());
  if (!made) return made.error();
  if (*made) first_token_file_ = file;
  if (const auto address = net::parse_address(config_.listen, "listen"); !address)
    return address.error();
  listener_ = {config_.listen, config_.tls.has_value(), tokens_->size()};
  if (Status may = auth::may_listen(listener_); !may) return may;
  if (Status may = may_run(everything().clusters); !may) return may;
  // What was removed from the file meanwhile is there until its last job has ended.
  if (const auto before = applied()) {
    if (Status may = may_run(before->clusters); !may) return may;
  }
  if (const std::string warning = auth::listen_warning(listener_); !warning.empty())
    log_.warn(warning);
  return Ok{};
}

api::Caller Server::identify(const net::Request& request) const {
  const net::Headers& headers = request.headers;
  const bool forwarded =
      headers.has("Forwarded") || headers.has("X-Forwarded-For") || headers.has("Via");
  const auth::Identity identity = auth::identify({.authorization = headers.get("Authorization"),
                                                  .host = headers.get("Host"),
                                                  .origin = headers.get("Origin"),
                                                  .is_loopback = request.is_loopback,
                                                  .is_forwarded = forwarded},
                                                 *tokens_, local_user_, clusters::wall_now());
  if (identity.ok()) return {identity.user};
  return {"", identity.refusal == auth::Refusal::Forbidden ? 403 : 401, identity.message};
}

Status Server::open_store() {
  const std::string file =
      config_.store.sqlite.empty() ? data_dir_ + "/muster.db" : config_.store.sqlite;
  auto opened = config_.store.postgres.empty() ? store::open_sqlite(file)
                                               : store::open_postgres(config_.store.postgres);
  if (!opened) return opened.error();
  opened_store_ = std::move(*opened);
  store_ = std::make_unique<api::TimedStore>(
      *opened_store_, [this](double seconds, bool ok) { metrics_.store_commit(seconds, ok); });
  logs_ =
      std::make_unique<store::FileLogStore>(data_dir_ + "/logs", store::FileLogStore::Options{});
  log_keeper_ = std::make_unique<control::LogKeeper>(*logs_);
  follower_ = std::make_unique<api::LogFollower>(*store_, *logs_);
  log_sink_ = std::make_unique<TellingSink>(
      *log_keeper_, [this](const std::string& job) { follower_->wake(job); });
  notes_store_ =
      std::make_unique<store::FileLogStore>(data_dir_ + "/notes", store::FileLogStore::Options{});
  notes_ = std::make_unique<control::PodTimeline>(
      *notes_store_, [this](const model::PodNote& note) { events_->tell(note); });
  payloads_ = std::make_unique<JobPayloads>(*store_);
  return Ok{};
}

void Server::make_runner() {
  api::EventHub::Options events;
  events.begun = [] { ::setpriority(PRIO_PROCESS, 0, events_nice); };  // of this thread alone
  events_ = std::make_unique<api::EventHub>(*store_, std::move(events));
  if (config_.appwrappers) appwrappers_ = std::make_unique<api::AppWrapperHub>(hub_of(config_));
  control::RunnerOptions options;
  options.inbox_most = static_cast<std::size_t>(config_.limits.inbox);
  options.requests_most = static_cast<std::size_t>(config_.limits.inbox);
  options.loop.batch_most = static_cast<std::size_t>(config_.limits.batch);
  options.clock = clusters::wall_now;
  options.loop.memory.finished = engine_memory;
  options.loop.ready_limit = ready_limit_of(everything());
  options.recovering = [this](control::RecoveryProgress progress) { say_progress(progress); };
  options.publish = [this](const control::StepReport& report, const sched::World& world,
                           double seconds) {
    events_->publish(report, world);
    if (appwrappers_) appwrappers_->published(report);
    snapshots_->note(report.sequence);
    for (const model::Event& event : report.events) {
      if (const std::string* job = model::job_of(event.body)) follower_->wake(*job);
    }
    scores_.remember(report.scores);
    metrics_.step(report, world, seconds);
  };
  options.say = [this](const std::string& text) { log_.warn(text); };
  options.on_unsound = [this] { metrics_.error("world"); };
  options.on_end = [this](const Error& error) {
    log_.error(error.message);
    on_end_();
  };
  runner_ = std::make_unique<control::Runner>(*store_, policy_of(config_), std::move(options));
}

void Server::say_progress(control::RecoveryProgress progress) {
  gate_.set_progress(progress);
  const Time now = clusters::wall_now();
  const bool is_end = progress.done == progress.total;
  if (!is_end && now - progress_said_ < seconds(1)) return;
  progress_said_ = now;
  if (progress.total > 0) log_.info(gate_.text());
}

void Server::make_snapshots() {
  control::Snapshots::Options options;
  options.every = static_cast<std::uint64_t>(config_.store.snapshot_every);
  options.policy = [this] { return policy_of(*loaded().config); };
  options.begun = [] { ::setpriority(PRIO_PROCESS, 0, snapshot_nice); };  // of this thread alone
  options.written = [this](const control::SnapshotReport& report) {
    return_free_memory();  // of the thread that wrote it, a second world: it left it to all
    log_.info(fmt::format("snapshot of entry {} with {} jobs written and read back in {} ms",
                          report.sequence, grouped(report.jobs), report.took.ms));
    {
      const std::lock_guard lock(house_mutex_);
      house_due_ = true;
    }
    house_changed_.notify_all();
  };
  options.failed = [this](const Error& error) {
    return_free_memory();
    metrics_.error("snapshot");
    log_.warn("snapshot: " + error.message);
  };
  snapshots_ = std::make_unique<control::Snapshots>(*store_, std::move(options));
  metrics_.watch(api::Metrics::Kind::Gauge, "muster_snapshot_sequence",
                 "Newest entry of the journal that a snapshot read back holds",
                 [this] { return static_cast<double>(snapshots_->proven()); });
}

/// What the books were made with; none at the first start.
std::optional<config::Config> Server::applied() const {
  std::ifstream in(applied_file(data_dir_), std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  config::Checked checked = config::check(text.str());
  if (!in.is_open() || !checked.ok()) return std::nullopt;
  return std::move(checked.config);
}

/// What the books still need of the configuration: what changed since the last start.
std::vector<model::EventBody> Server::first_events(const sched::World& world) const {
  const std::optional<config::Config> before = applied();
  bool is_known = before.has_value();
  if (before) {
    for (const model::QueueSpec& spec : config::queue_specs(*before))
      is_known = is_known && !world.quota.find(spec.name).is_none();
  }
  const config::Config now = everything();
  std::vector<model::EventBody> events =
      is_known ? config::diff(*before, now).events : config::events_of(now);
  add_leaves(world, events);
  return events;
}

void Server::remember_config() const {
  const Status written =
      auth::write_private_file(applied_file(data_dir_), config::to_yaml(everything()));
  if (!written) log_.warn(written.error().message);
}

void Server::make_api() {
  workers_ = std::make_unique<api::Workers>(worker_threads, worker_tasks);
  admin_workers_ = std::make_unique<api::Workers>(patient_threads, patient_tasks);
  leavers_ = std::make_unique<api::Workers>(patient_threads, patient_tasks);
  submitter_ = std::make_unique<api::Submitter>(
      *store_, runner_->requests(), clusters::wall_now,
      api::Submitter::Options{.jobs_most = static_cast<std::size_t>(config_.limits.inbox),
                              .accepted =
                                  [this](std::vector<api::AcceptedCommand> commands) {
                                    payloads_->keep(std::move(commands));
                                  },
                              .runtime_classes = [this] { return fleet_->runtime_classes(); }});
  const auto identify = [this](const net::Request& request) { return this->identify(request); };
  backend_ = std::make_unique<api::Backend>(
      api::Backend{*store_, *logs_, *notes_, *runner_, work(), *submitter_, *events_, *follower_,
                   [this] {
                     const std::lock_guard lock(settings_mutex_);
                     return settings_;
                   },
                   clusters::wall_now, identify, [] { return std::optional<std::string>{}; }});
  api::add_submit_routes(router_, *backend_);
  api::add_job_routes(router_, *backend_);
  api::add_log_routes(router_, *backend_);
  api::add_event_routes(router_, *backend_);
  api::add_server_routes(router_, *backend_);
  add_live_routes();
}

/// Numbers that the parts hold themselves.
void Server::watch_parts() {
  using Kind = api::Metrics::Kind;
  const auto count = [this](Kind kind, const char* name, const char* help, auto value) {
    metrics_.watch(kind, name, help, [value] { return static_cast<double>(value()); });
  };
  count(Kind::Gauge, "muster_waiting_jobs", "Jobs that wait to be placed",
        [this] { return runner_->numbers().waiting.load(); });
  count(Kind::Gauge, "muster_inbox_events", "Events of clusters that wait for the control loop",
        [this] { return runner_->inbox().size(); });
  count(Kind::Gauge, "muster_requests_waiting", "Changes that wait for the control loop",
        [this] { return runner_->requests().size(); });
  count(Kind::Gauge, "muster_reads_waiting", "Questions that wait for the control loop",
        [this] { return runner_->reads().size(); });
  count(Kind::Gauge, "muster_event_listeners", "Clients of the event stream",
        [this] { return events_->listeners(); });
  count(Kind::Gauge, "muster_http_connections", "Open connections",
        [this] { return http_->stats().connections; });
  count(Kind::Gauge, "muster_http_streams", "Open streams of events and logs",
        [this] { return http_->stats().streams; });
  count(Kind::Counter, "muster_http_dropped_streams_total",
        "Streams whose client did not read fast enough",
        [this] { return http_->stats().dropped_streams; });
}

/// Questions about the live world, administration and metrics.
void Server::add_live_routes() {
  const auto job_json = [this](const std::string& id,
                               std::function<void(Result<std::string>)> then) {
    const auto look = [this, id, then] {
      const auto row = store_->job(id);
      then(row ? Result<std::string>(with_notes(*row, *notes_)) : row.error());
    };
    if (!workers_->post(look))
      then(Error{Fault::Unavailable, "too many requests wait for the store; ask again later"});
  };
  const auto all_clusters = [this] {
    const std::lock_guard lock(config_mutex_);
    return std::make_shared<const config::Config>(everything());
  };
  read_parts_ = std::make_unique<api::ReadParts>(
      api::ReadParts{runner_->reads(), scores_, all_clusters, job_json, clusters::wall_now,
                     [this] { return notes(); }});
  admin_parts_ = std::make_unique<api::AdminParts>(admin_parts());
  exec_parts_ = std::make_unique<api::ExecParts>(
      api::ExecParts{.requests = runner_->requests(),
                     .work = work(),
                     .run = [this](const std::string& cluster, const ports::PodCommand& command,
                                   ports::PodCommandCallbacks callbacks) {
                       return fleet_->run_in_pod(cluster, command, std::move(callbacks));
                     }});
  api::add_read_routes(router_, *read_parts_);
  api::add_exec_routes(router_, *exec_parts_);
  api::add_admin_routes(router_, *admin_parts_);
  api::add_appwrapper_routes(router_, appwrappers_.get(), runner_->reads());
  api::add_metrics_route(router_, metrics_);
}

api::Work Server::work() {
  return [this](std::function<void()> task) { return workers_->post(std::move(task)); };
}

api::AdminParts Server::admin_parts() {
  return {
      .reads = runner_->reads(),
      .requests = runner_->requests(),
      .tokens = *tokens_,
      .clock = clusters::wall_now,
      .work = [this](std::function<void()> task) { return admin_workers_->post(std::move(task)); },
      .config = [this] { return loaded(); },
      .check_config = [this](std::string_view yaml) { return check(yaml); },
      .read_config_file = [this]() -> Result<std::string> {
        if (file_.empty())
          return invalid(
              "the server was started without a configuration file; start it with "
              "--config FILE to reload");
        return read_text(file_);
      },
      .reload = [this](const config::Config& config,
                       const config::Diff&) { return take_over(config); },
      .join_cluster = [this](const config::Cluster& cluster) { return join_cluster(cluster); },
      .leave_cluster = [this](const std::string& name) { return forget_cluster(name); },
      .begin_leave = [this](const std::string& name) { return begin_leave(name); },
      .check_cluster = [this](const config::Cluster& cluster,
                              const api::ClusterUse& use) { return check_cluster(cluster, use); },
      .may_leave = [this](const std::string& name) { return may_leave(name); },
      .notes = [this] { return notes(); }};
}

api::LoadedConfig Server::loaded() const {
  const std::lock_guard lock(config_mutex_);
  return {std::make_shared<const config::Config>(config_), file_, loaded_};
}

/// As a restart with the same command line would read it. What may never run behind the listener
/// that is open is a problem.
config::Checked Server::check(std::string_view yaml) const {
  config::Checked checked = config::check(yaml);
  if (!checked.ok()) return checked;
  over_.put_over(checked.config);
  if (const Status may = may_run(checked.config.clusters); !may)
    checked.problems.push_back({0, 0, "", may.error().message});
  return checked;
}

/// The books have it; now clusters, policy and certificates.
Status Server::take_over(const config::Config& config) {
  {
    const std::lock_guard lock(config_mutex_);
    if (Status status = take_over_locked(config); !status) return status;
  }
  end_leaves();
  return Ok{};
}

Status Server::take_over_locked(const config::Config& config) {
  const config::Config before = std::exchange(config_, config);
  Status followed = let_leave(before);
  if (followed) followed = let_stay();
  if (followed) followed = follow_clusters();
  if (!followed) {
    config_ = before;
    return followed;
  }
  loaded_ = clusters::wall_now();
  log_.set_level(config_.log.level);
  return config_.tls ? http_->reload_tls() : Status(Ok{});
}

Status Server::listen() {
  auto address = net::parse_address(config_.listen, "listen");
  if (!address) return address.error();
  net::ServerOptions options;
  options.listen = {*address};
  if (config_.tls)
    options.tls =
        net::TlsServerOptions{.cert_file = config_.tls->cert, .key_file = config_.tls->key};
  options.body_bytes_max = static_cast<std::uint64_t>(config_.limits.request_bytes.v);
  options.connections_max = config_.limits.connections;
  options.on_access = [this](const net::Access& access) {
    metrics_.http(access);
    log_.access(access);
  };
  const auto handle = [this](net::Request request, net::Responder responder) {
    gate_.handle(std::move(request), std::move(responder));
  };
  auto started = net::HttpServer::start(std::move(options), handle);
  if (!started) return started.error();
  http_ = std::move(*started);
  return Ok{};
}

Status Server::reload(const config::Config& config) {
  if (Status may = may_run(config.clusters); !may) return may;
  const config::Diff diff = config::diff(*loaded().config, config);
  if (diff.empty()) {
    log_.info("reload: nothing changed");
    return Ok{};
  }
  for (const std::string& line : diff.lines) log_.info("reload: " + line);
  for (const std::string& line : diff.restart) log_.warn("reload: needs a restart: " + line);
  std::string affected;
  const Status written = ask_loop([&affected, diff, notes = notes()](
                                      const sched::World& world, Time) -> Result<control::Asked> {
    control::Asked asked{.events = diff.events};
    api::keep_admissions(world, asked.events, notes);
    affected = api::to_text(api::affected_by(world, diff));
    asked.audit.push_back({0, Time{}, "muster", "", "reload", "config",
                           fmt::format("changes by SIGHUP: {}; {}", diff.lines.size(), affected)});
    return asked;
  });
  if (!written) return written;
  log_.info("reload: " + affected);
  return take_over(config);
}

void Server::keep_house() {
  std::unique_lock lock(house_mutex_);
  while (true) {
    house_changed_.wait_for(lock, house_pause, [this] { return stopping_ || house_due_; });
    if (stopping_) return;
    house_due_ = false;
    lock.unlock();
    const config::Retention keep = loaded().config->retention;
    retain_rows(keep);
    ports::LogLimits log_limits;
    log_limits.age = keep.logs;
    log_limits.total_bytes = static_cast<std::uint64_t>(keep.logs_max.v);
    const auto bytes = logs_->retain(clusters::wall_now(), log_limits);
    if (!bytes) log_.warn("retention of logs: " + bytes.error().message);
    if (bytes) metrics_.logs_removed(*bytes);
    log_limits.total_bytes = notes_bytes;
    if (const auto kept = notes_store_->retain(clusters::wall_now(), log_limits); !kept)
      log_.warn("retention of notes: " + kept.error().message);
    if (const Status saved = tokens_->save_uses(); !saved)
      log_.warn("tokens: " + saved.error().message);
    lock.lock();
  }
}

void Server::retain_rows(const config::Retention& keep) {
  ports::Limits limits;
  limits.finished_jobs = keep.finished_jobs;
  limits.finished_jobs_most = static_cast<std::uint64_t>(keep.finished_jobs_max);
  limits.audit = keep.audit;
  limits.journal = keep.journal;
  limits.proven = snapshots_->proven();
  const auto removed = store_->retain(clusters::wall_now(), limits);
  if (!removed) {
    log_.warn("retention: " + removed.error().message);
    return;
  }
  metrics_.retained(*removed);
  if (removed->journal > 0)
    log_.info(
        fmt::format("retention: {} entries of the journal were trimmed, the snapshot of "
                    "entry {} holds them",
                    grouped(removed->journal), limits.proven));
}

/// In the order in which the parts stop asking each other.
void Server::stop() {
  {
    const std::lock_guard lock(house_mutex_);
    stopping_ = true;
  }
  house_changed_.notify_all();
  if (housekeeper_.joinable()) housekeeper_.join();
  if (cluster_keeper_.joinable()) cluster_keeper_.join();
  if (http_) http_->stop();
  if (appwrappers_) appwrappers_->stop();
  adopter_.reset();
  if (submitter_) submitter_->stop();
  if (runner_) runner_->stop();
  if (snapshots_) snapshots_->stop();
  for (const auto& workers : {&workers_, &admin_workers_, &leavers_}) {
    if (*workers) (*workers)->stop();
  }
  if (follower_) follower_->stop();
  if (events_) events_->stop();
  fleet_.reset();
}

}  // namespace muster::app
