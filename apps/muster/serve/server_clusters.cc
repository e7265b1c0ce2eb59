// How clusters come and go while the server runs: through the API, by sources where they are found,
// by credentials that change. One list of what is there (everything()), one way to follow it.
#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include "apps/muster/free_memory.h"
#include "apps/muster/serve/server.h"
#include "apps/muster/serve/settings.h"
#include "auth/identity.h"
#include "clusters/clock.h"
#include "clusters/kubernetes/join_check.h"

namespace muster::app {

namespace {

constexpr std::chrono::seconds keep_pause{1};

model::ClusterSpec spec_of(const config::Cluster& cluster) {
  config::Config one;
  one.clusters.push_back(cluster);
  return config::cluster_specs(one).at(0);
}

ports::AuditRow own_row(std::string verb, const std::string& cluster, std::string why) {
  return {.number = 0,
          .at = {},
          .user = "muster",
          .request = "",
          .verb = std::move(verb),
          .object = "cluster/" + cluster,
          .detail = std::move(why)};
}

bool is_in(const std::vector<config::Cluster>& clusters, const std::string& name) {
  return std::any_of(clusters.begin(), clusters.end(),
                     [&](const config::Cluster& cluster) { return cluster.name == name; });
}

/// Both lead to the same API server, as far as that can be told without asking it.
bool is_same_address(const kube::ClusterEntry& a, const kube::ClusterEntry& b) {
  return a.server == b.server && a.tls_server_name == b.tls_server_name &&
         a.proxy_url == b.proxy_url;
}

}  // namespace

config::Config Server::everything() const {
  return leaving_->with(found_->with(joined_->with(config_)));
}

/// A local cluster lets whoever reaches the listener run processes here.
Status Server::may_run(const std::vector<config::Cluster>& clusters) const {
  for (const config::Cluster& cluster : clusters) {
    if (cluster.type != config::ClusterType::Local) continue;
    auth::Listener listener = listener_;
    listener.runs_processes_here = true;
    const Status may = auth::may_listen(listener);
    if (may) continue;
    return Error{may.error().fault,
                 fmt::format("{} (it is {}; one that stands in no file leaves with muster cluster "
                             "leave {}, or when its last job has ended)",
                             may.error().message, cluster.name, cluster.name)};
  }
  return Ok{};
}

/// What came by the API is held against more than what the operator wrote; what was found was held
/// against it then.
Accesses Server::accesses_of(const config::Config& config) const {
  Accesses accesses;
  for (const config::Cluster& cluster : config.clusters) {
    if (cluster.type != config::ClusterType::Kubernetes) continue;
    const bool is_sent =
        !is_in(config_.clusters, cluster.name) && joined_->find(cluster.name) != nullptr;
    auto access = access_reader_.read(cluster, is_sent ? Trust::Sender : Trust::Operator,
                                      config.exec_plugins);
    const auto twin = duplicates_.find(cluster.name);
    if (twin != duplicates_.end() && twin->second.first == fingerprint(access))
      access = Error{Fault::Conflict,
                     fmt::format("it is the cluster that is joined as {}", twin->second.second)};
    accesses.emplace(cluster.name, std::move(access));
  }
  return accesses;
}

Status Server::follow_clusters() {
  const config::Config now = everything();
  if (Status status = fleet_->open(now, accesses_of(now)); !status) return status;
  const auto gone = std::make_shared<Fleet::Gone>(fleet_->take_gone(now));
  // The loop lets go of them; closing them may take a while, which is nothing for its thread.
  runner_->reload(policy_of(now), ready_limit_of(now), fleet_->clusters(), [this, gone] {
    if (!gone->empty()) leavers_->post([gone] { gone->drop(); });
  });
  remember_config();
  const std::lock_guard settings_lock(settings_mutex_);
  settings_ = settings_of(now);
  selectable_ = selectable_clusters(now);
  return Ok{};
}

view::ClusterNotes Server::notes() const {
  const std::lock_guard lock(config_mutex_);
  view::ClusterNotes notes = api::cluster_notes(everything());
  for (const auto& [name, cluster] : fleet_->clusters()) {
    ports::ClusterAbout about = cluster->about();
    view::ClusterNote& note = notes[name];
    note.problem = cluster->problem();
    if (note.problem.empty()) note.problem = cluster->trouble();
    note.version = std::move(about.version);
    note.user = std::move(about.user);
  }
  for (const config::Cluster& cluster : leaving_->all()) notes[cluster.name].is_leaving = true;
  return notes;
}

// ----------------------------------------------------------------------------------------------
// through the API

Result<api::ClusterCheck> Server::check_cluster(const config::Cluster& cluster,
                                                const api::ClusterUse& use) const {
  Accesses joined;
  std::map<std::string, std::string> identities;
  std::vector<std::string> plugins;
  {
    const std::lock_guard lock(config_mutex_);
    if (Status may = may_run({cluster}); !may) return may.error();
    plugins = config_.exec_plugins;
    joined = accesses_of(everything());
    for (const auto& [name, open] : fleet_->clusters()) identities[name] = open->identity();
  }
  if (cluster.type != config::ClusterType::Kubernetes) return api::ClusterCheck{};
  const auto access =
      access_of_text(cluster.kubeconfig_inline.value_or(""), cluster.context.value_or(""),
                     "kubeconfig", Trust::Sender, plugins);
  if (!access) return access.error();
  clusters::PermissionAsk ask;
  ask.ns = cluster.kube_namespace.value_or(access->ns);
  ask.namespaces = cluster.namespaces;
  ask.with_objects = use.has_objects;
  for (const std::string& name : use.kinds) {
    const auto rules = clusters::kind_rules(name);
    if (!rules) return rules.error();
    ask.kinds.insert(ask.kinds.end(), rules->begin(), rules->end());
  }
  clusters::JoinReport report = clusters::check_join(*access, ask);
  api::ClusterCheck check{.problem = std::move(report.problem),
                          .version = std::move(report.version),
                          .user = std::move(report.user),
                          .missing = std::move(report.missing),
                          .wanted = std::move(report.wanted),
                          .rbac = std::move(report.rbac)};
  for (const auto& [name, other] : joined) {
    const bool has_same_uid = !report.identity.empty() && identities[name] == report.identity;
    if (!has_same_uid && !(other && is_same_address(other->cluster, access->cluster))) continue;
    check.same_as = name;
    check.is_same_address = !has_same_uid;
  }
  return check;
}

Status Server::join_cluster(const config::Cluster& cluster) {
  const std::lock_guard lock(config_mutex_);
  if (Status kept = joined_->add(cluster); !kept) return kept;
  return follow_clusters();
}

Status Server::may_leave(const std::string& name) const {
  const std::lock_guard lock(config_mutex_);
  if (is_in(config_.clusters, name))
    return Error{Fault::Conflict,
                 fmt::format("cluster: {} stands in the configuration file; remove it there and "
                             "reload, or drain it",
                             name)};
  if (found_->find(name) != nullptr)
    return Error{Fault::Conflict,
                 fmt::format("cluster: {} comes from one of cluster_sources; remove it there, or "
                             "drain it",
                             name)};
  return Ok{};
}

Status Server::begin_leave(const std::string& name) {
  const std::lock_guard lock(config_mutex_);
  const config::Cluster* cluster = joined_->find(name);
  return cluster == nullptr ? Status(Ok{}) : leaving_->add(*cluster);
}

Status Server::let_leave(const config::Config& before) {
  const config::Config others = found_->with(joined_->with(config_));
  for (const config::Cluster& cluster : before.clusters) {
    if (is_in(others.clusters, cluster.name)) continue;
    if (Status kept = leaving_->add(cluster); !kept) return kept;
  }
  return Ok{};
}

Status Server::let_stay() {
  for (const config::Cluster& cluster : config_.clusters) {
    if (Status back = leaving_->remove(cluster.name); !back) return back;
  }
  return Ok{};
}

/// At the start: what was removed from the configuration, or came back, while no server ran.
void Server::add_leaves(const sched::World& world, std::vector<model::EventBody>& events) const {
  view::ClusterNotes leaving;
  for (const config::Cluster& cluster : leaving_->all()) {
    leaving[cluster.name].is_leaving = true;
    if (!is_in(config_.clusters, cluster.name))
      events.emplace_back(model::ClusterLeft{cluster.name});
  }
  for (const config::Cluster& cluster : config_.clusters) {
    if (leaving.contains(cluster.name)) events.emplace_back(model::ClusterSet{spec_of(cluster)});
  }
  api::keep_admissions(world, events, leaving);
}

Status Server::forget_cluster(const std::string& name) {
  const std::lock_guard lock(config_mutex_);
  for (const auto list : {&joined_, &found_, &leaving_}) {
    if (Status gone = (*list)->remove(name); !gone) return gone;
  }
  return follow_clusters();
}

// ----------------------------------------------------------------------------------------------
// by itself

Status Server::ask_loop(std::function<Result<control::Asked>(const sched::World&, Time)> ask) {
  std::promise<Status> written;
  const control::Request request{
      std::move(ask), [&written](const Result<control::Answer>& answer) {
        written.set_value(answer ? Status(Ok{}) : Status(answer.error()));
      }};
  if (runner_->requests().put(request) != control::Requests::Put::Taken)
    return Error{Fault::Unavailable, "the loop takes no changes now; try again later"};
  return written.get_future().get();
}

void Server::keep_clusters() {
  std::unique_lock lock(house_mutex_);
  while (!house_changed_.wait_for(lock, keep_pause, [this] { return stopping_; })) {
    lock.unlock();
    keep_clusters_once();
    lock.lock();
  }
}

void Server::keep_clusters_once() {
  config::Config now;
  Accesses accesses;
  {
    const std::lock_guard lock(config_mutex_);
    now = everything();
    accesses = accesses_of(now);
  }
  const Sighting seen = sources_.look(now, accesses, clusters::wall_now());
  take_sighting(seen);
  end_leaves();
  const std::lock_guard lock(config_mutex_);
  now = everything();
  find_duplicates(now);
  say_health();
  start_appwrappers(accesses);
  if (fleet_->is_up_to_date(now, accesses_of(now))) return;
  log_.info("clusters: some are reached otherwise than before");
  if (const Status followed = follow_clusters(); !followed)
    log_.warn("clusters: " + followed.error().message);
}

/// When it is known how the hub is reached. Which cluster that is holds until a restart.
void Server::start_appwrappers(const Accesses& accesses) {
  if (!appwrappers_ || (hub_access_.cluster.empty() && !config_.appwrappers)) return;
  const std::string& hub =
      hub_access_.cluster.empty() ? config_.appwrappers->cluster : hub_access_.cluster;
  const auto access = accesses.find(hub);
  if (access == accesses.end() || !access->second) return;
  if (appwrappers_->has_started()) return renew_appwrappers(*access->second);
  kube::ClientOptions quick;
  quick.timeout = seconds(5);
  quick.read_attempts_max = 1;
  auto client = kube::Client::make(*access->second, quick);
  if (!client) return log_.warn("appwrappers: " + client.error().message);
  hub_access_ = {hub, fingerprint(access->second), client->get()};
  adopter_ = std::make_unique<clusters::KubernetesAdopter>(std::move(*client));
  const Status started = appwrappers_->start(
      *access->second,
      {.store = *store_,
       .submitter = *submitter_,
       .requests = runner_->requests(),
       .reads = runner_->reads(),
       .adopter = *adopter_,
       .objects = *fleet_,
       .clusters =
           [this] {
             const std::lock_guard lock(settings_mutex_);
             return selectable_;
           },
       .clock = clusters::wall_now,
       .say = [this](const std::string& line) { log_.info(line); },
       .return_memory = return_free_memory,
       .count_states = [this](const auto& by_state) { metrics_.appwrappers(by_state); }});
  if (!started) log_.warn("appwrappers: " + started.error().message);
}

/// Its clients are made once, and go on with other credentials.
void Server::renew_appwrappers(const kube::Access& access) {
  std::string way = fingerprint(access);
  if (way == hub_access_.reached_by) return;
  hub_access_.reached_by = std::move(way);
  Status renewed = appwrappers_->renew(access);
  if (renewed) renewed = hub_access_.adopter->renew(access);
  if (renewed) return log_.info("appwrappers: the hub has other credentials");
  log_.warn(
      fmt::format("appwrappers: of cluster {}: {}; AppWrappers are taken from the old one until a "
                  "restart",
                  hub_access_.cluster, renewed.error().message));
}

void Server::take_sighting(const Sighting& seen) {
  std::vector<std::string> problems = seen.problems;
  std::vector<config::Cluster> known;
  config::Config others;
  {
    const std::lock_guard lock(config_mutex_);
    known = found_->all();
    others = joined_->with(config_);
  }
  for (const config::Cluster& cluster : seen.clusters) {
    if (is_in(others.clusters, cluster.name))
      problems.push_back(
          fmt::format("cluster {} is joined already, and was found again", cluster.name));
    else if (std::find(known.begin(), known.end(), cluster) == known.end())
      follow_found(cluster);
  }
  for (const config::Cluster& cluster : known) {
    const bool is_lost = seen.is_whole && !is_in(seen.clusters, cluster.name);
    if (is_lost || seen.gone.contains(cluster.name)) lose_found(cluster);
  }
  say_problems(problems);
}

/// It is new, it came back, or it is described otherwise.
void Server::follow_found(const config::Cluster& cluster) {
  bool is_back = false;
  bool is_known = false;
  bool moves = false;
  {
    const std::lock_guard lock(config_mutex_);
    is_back = leaving_->find(cluster.name) != nullptr;
    const config::Cluster* known = found_->find(cluster.name);
    is_known = known != nullptr;
    moves = is_known && (known->kube_namespace != cluster.kube_namespace ||
                         known->namespaces != cluster.namespaces);
  }
  const Status told = ask_loop([spec = spec_of(cluster), is_back, is_known](
                                   const sched::World& world, Time) -> Result<control::Asked> {
    control::Asked asked;
    asked.events.emplace_back(model::ClusterSet{spec});
    if (!is_back) api::keep_admissions(world, asked.events);
    asked.audit.push_back(own_row(is_known ? "change" : "join", spec.name, "found at a source"));
    return asked;
  });
  if (!told) return;  // next time
  log_.info(fmt::format("cluster {}: {}{}", cluster.name,
                        is_known ? "its source describes it otherwise" : "found, joins",
                        moves ? "; its namespaces change after a restart" : ""));
  const std::lock_guard lock(config_mutex_);
  for (const Status& kept : {found_->add(cluster), leaving_->remove(cluster.name)}) {
    if (!kept) log_.warn(kept.error().message);
  }
  if (const Status followed = follow_clusters(); !followed) log_.warn(followed.error().message);
}

/// Its description is kept until its jobs have ended.
void Server::lose_found(const config::Cluster& cluster) {
  const Status told =
      ask_loop([name = cluster.name](const sched::World& world, Time) -> Result<control::Asked> {
        control::Asked asked;
        const sched::ClusterId id = world.fleet.find_cluster(name);
        if (id.is_none()) return asked;
        model::ClusterSpec spec = world.fleet.cluster(id).spec;
        spec.admission = model::Admission::Cordoned;
        asked.events.emplace_back(model::ClusterSet{std::move(spec)});
        asked.audit.push_back(own_row("leave", name, "gone from its source"));
        return asked;
      });
  if (!told) return;
  log_.info(fmt::format("cluster {}: gone from its source, leaves when its jobs have ended",
                        cluster.name));
  const std::lock_guard lock(config_mutex_);
  for (const Status& kept : {leaving_->add(cluster), found_->remove(cluster.name)}) {
    if (!kept) log_.warn(kept.error().message);
  }
}

void Server::end_leaves() {
  std::vector<config::Cluster> leaving;
  {
    const std::lock_guard lock(config_mutex_);
    leaving = leaving_->all();
  }
  for (const config::Cluster& cluster : leaving) {
    const Status left =
        ask_loop([name = cluster.name](const sched::World& world, Time) -> Result<control::Asked> {
          control::Asked asked;
          const sched::ClusterId id = world.fleet.find_cluster(name);
          if (id.is_none() || !world.fleet.cluster(id).joined) return asked;
          if (api::has_work(world, id)) return Error{Fault::Conflict, "it still has jobs"};
          asked.events.emplace_back(model::ClusterLeft{name});
          asked.audit.push_back(own_row("leave", name, "its last job has ended"));
          return asked;
        });
    if (!left) continue;
    log_.info(fmt::format("cluster {}: left", cluster.name));
    if (const Status gone = forget_cluster(cluster.name); !gone) log_.warn(gone.error().message);
  }
}

/// Of several names of one cluster the first is right; under the others it takes no work.
void Server::find_duplicates(const config::Config& now) {
  const auto open = fleet_->clusters();
  std::erase_if(duplicates_, [&](const auto& twin) {
    return !is_in(now.clusters, twin.first) || !is_in(now.clusters, twin.second.second);
  });
  std::map<std::string, std::string> first;  // by identity
  for (const config::Cluster& cluster : now.clusters) {
    const auto found = open.find(cluster.name);
    const std::string identity = found == open.end() ? "" : found->second->identity();
    if (identity.empty()) continue;
    const auto [it, is_first] = first.emplace(identity, cluster.name);
    if (is_first) continue;
    duplicates_[cluster.name] = {fingerprint(accesses_of(now).at(cluster.name)), it->second};
    log_.warn(
        fmt::format("cluster {} is the cluster that is joined as {}", cluster.name, it->second));
  }
}

/// Each change once.
void Server::say_health() {
  for (const auto& [name, cluster] : fleet_->clusters()) {
    const std::string problem = cluster->problem();
    std::string& before = said_health_[name];
    if (problem.empty() != before.empty()) {
      if (problem.empty()) log_.info(fmt::format("cluster {} is reached again", name));
      if (!problem.empty())
        log_.warn(fmt::format("cluster {} cannot be reached: {}", name, problem));
    }
    before = problem;
    if (!problem.empty()) continue;
    const std::string trouble = cluster->trouble();
    std::string& said = said_trouble_[name];
    // Its words may have times in them: that it goes on is not said again.
    if (!trouble.empty() && said.empty()) log_.warn(fmt::format("cluster {}: {}", name, trouble));
    said = trouble;
  }
}

/// Each once, as long as it lasts.
void Server::say_problems(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) {
    if (!said_problems_.contains(problem)) log_.warn("cluster_sources: " + problem);
  }
  said_problems_ = {problems.begin(), problems.end()};
}

}  // namespace muster::app
