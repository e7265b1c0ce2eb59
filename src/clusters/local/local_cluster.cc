#include "clusters/local/local_cluster.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/hash.h"
#include "clusters/clock.h"
#include "clusters/local/make_attempt.h"
#include "clusters/local/pod_cgroup.h"
#include "clusters/local/pod_output.h"
#include "clusters/local/processes.h"

namespace muster::clusters {
namespace {

constexpr Duration tick_busy = milliseconds(50);  // output is read this often
constexpr Duration tick_idle = seconds(1);
constexpr Duration blank_pause = milliseconds(5);    // the start that used the last one comes first
constexpr Duration check_pause = milliseconds(300);  // are the supervisors alive, has a line an end
constexpr Duration relaunch_pause = seconds(1);
constexpr Duration forget_pause = minutes(1);
constexpr std::size_t tail_most = 1u << 18;

/// 0 if there is nothing at the path.
std::uint64_t file_id(const std::string& path) {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

/// Kills what the pods of a dead supervisor left. True when nothing is left.
bool clear_orphans(const std::string& dir, const AttemptSpec& spec) {
  bool clean = true;
  for (const pid_t pid : marked(fmt::format("MUSTER_POD_DIR={}/pods/", dir))) {
    ::kill(pid, SIGKILL);
    clean = false;
  }
  for (std::size_t rank = 0; rank < spec.pods.size(); ++rank) {
    PodCgroup group(cgroups_of_pod(spec.cgroup, spec.job, spec.attempt, rank));
    group.kill();
    clean = clean && group.is_empty();
    if (clean) group.remove();
  }
  return clean;
}

AttemptState over_state(AttemptState state, Outcome outcome, int exit_code, std::string reason) {
  state.phase = Phase::Over;
  state.outcome = outcome;
  state.exit_code = exit_code;
  state.reason = std::move(reason);
  state.ended = wall_now();
  return state;
}

ports::PodOutput output_of(const ports::Attempt& attempt, std::size_t rank) {
  return {attempt.job, attempt.number, static_cast<std::uint32_t>(rank)};
}

void ask_to_stop(const std::string& dir) {
  const Fd control(::open((dir + "/control").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (control.is_open() && ::write(control.get(), "s", 1) < 0) return;  // it is asked again
}

}  // namespace

Result<std::unique_ptr<LocalCluster>> LocalCluster::open(LocalOptions options, Ports ports) {
  // Pods get absolute paths, and the server may change its directory.
  options.directory = std::filesystem::absolute(options.directory).lexically_normal();
  std::unique_ptr<LocalCluster> cluster(new LocalCluster(std::move(options), ports));
  if (Status s = cluster->prepare(); !s) return s.error();
  cluster->thread_ = std::thread([raw = cluster.get()] { raw->work(); });
  return cluster;
}

LocalCluster::LocalCluster(LocalOptions options, Ports ports)
    : options_(std::move(options)),
      ports_(ports),
      attempts_dir_(options_.directory + "/attempts"),
      boot_(boot_id()),
      launcher_(options_.supervisor, options_.directory),
      wishes_(options_.queue_most),
      node_(options_.node),
      stop_grace_(options_.stop_grace),
      outgoing_(ports.inbox) {}

Status LocalCluster::prepare() {
  const std::string& root = options_.directory;
  if (Status s = make_dirs(attempts_dir_); !s) return s;
  lock_ = Fd(::open((root + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock_.is_open()) return io_error("open", root + "/lock");
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0)
    return Error{Fault::Conflict, fmt::format("{} is in use by another server", root)};
  const std::string notify = root + "/notify";
  if (::mkfifo(notify.c_str(), 0600) != 0 && errno != EEXIST) return io_error("make", notify);
  notices_ = Fd(::open(notify.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!notices_.is_open()) return io_error("open", notify);
  directory_id_ = file_id(attempts_dir_);
  const auto boot = read_file(root + "/boot");
  if (!boot && boot.error().fault != Fault::NotFound) return boot.error();
  is_other_boot_ = boot && *boot != boot_;
  if (!boot) {
    if (Status s = replace_file(root + "/boot", boot_); !s) return s;
  }
  if (options_.use_cgroups)  // two servers of a machine may have clusters of one name
    cgroup_ = make_cgroup_base(fmt::format("{}-{:x}", options_.name, Hasher().add(root).value()));
  if (Status s = note_cgroup_base(root, cgroup_); !s) return s;
  return launcher_.prepare();
}

LocalCluster::~LocalCluster() {
  wishes_.end();
  if (thread_.joinable()) thread_.join();
  remove_cgroup_base(cgroup_);
}

Result<std::shared_ptr<ports::PodCommandSession>> LocalCluster::run(
    const ports::PodCommand& command, ports::PodCommandCallbacks callbacks) {
  return commands_.run(attempts_dir_ + "/" + dir_name(command.attempt), command,
                       std::move(callbacks));
}

void LocalCluster::change(model::NodeSpec node, Duration stop_grace) {
  {
    const std::lock_guard lock(change_mutex_);
    change_ = {std::move(node), stop_grace};
  }
  wishes_.wake();
}

// ----------------------------------------------------------------------------------------------
// the thread

void LocalCluster::work() {
  load();
  Duration pause{0};
  while (wishes_.rest(is_done(), notices_.get(), pause)) {
    take_change();
    do_wishes();
    read_notices();
    const Time now = steady_now();
    if (!alive_.empty()) next_tick_ = std::min(next_tick_, now + tick_busy);
    if (now >= next_tick_) tick(now);
    if (!has_blank_ && now >= blank_due_) make_blank(now);
    outgoing_.flush();
    const Time next = has_blank_ ? next_tick_ : std::min(next_tick_, blank_due_);
    pause = std::max(next - steady_now(), Duration{0});
  }
}

bool LocalCluster::is_done() const {
  return outgoing_.empty() && tailing_.empty() &&
         std::all_of(alive_.begin(), alive_.end(), [&](const std::string& name) {
           const Entry& entry = entries_.at(name);
           return entry.is_running() && !entry.stopping;
         });
}

void LocalCluster::load() {
  remove_half_made(attempts_dir_);
  std::error_code error;
  for (std::filesystem::directory_iterator it(attempts_dir_, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename();
    if (name.starts_with('.')) continue;
    Entry& entry = entries_[name];
    entry.name = name;
    entry.made = entry.mentioned = steady_now();
    auto spec = read_spec(it->path());
    if (!spec) {  // of a machine that lost its power; nothing of it can be running
      entry.is_known = true;
      entry.state =
          over_state({}, Outcome::StartFailed, 0, "its files were lost when the machine stopped");
      continue;
    }
    entry.spec = std::move(*spec);
    entry.attempt = {entry.spec.job, entry.spec.attempt};
    entry.tails.resize(entry.spec.pods.size());
    if (auto state = read_state(it->path())) {
      entry.state = std::move(*state);
      entry.is_known = true;
    }
    (entry.is_over() ? tailing_ : alive_).insert(name);
  }
}

void LocalCluster::take_change() {
  std::optional<Change> change;
  {
    const std::lock_guard lock(change_mutex_);
    change.swap(change_);
  }
  if (!change) return;
  stop_grace_ = change->stop_grace;
  const std::string before = node_.name;
  node_ = std::move(change->node);
  outgoing_.say(model::NodeSeen{options_.name, node_});
  if (node_.name != before) outgoing_.say(model::NodeGone{options_.name, before});
}

void LocalCluster::do_wishes() {
  prepare_expected();
  for (const Wish& wish : wishes_.take()) {
    if (const auto* expected = std::get_if<std::vector<ports::Expected>>(&wish)) {
      say_everything(*expected);
    } else if (check_health()) {
      const auto& action = std::get<ports::Action>(wish);
      if (action.verb == ports::Verb::Create) {
        create(action);
      } else {
        remove(action.attempt);
      }
    }
  }
}

void LocalCluster::read_notices() {
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(notices_.get(), buffer, sizeof buffer)) > 0;)
    half_notice_.append(buffer, static_cast<std::size_t>(n));
  for (auto end = half_notice_.find('\n'); end != std::string::npos;
       end = half_notice_.find('\n')) {
    const auto it = entries_.find(half_notice_.substr(0, end));
    half_notice_.erase(0, end + 1);
    if (it != entries_.end()) look(it->second);
  }
}

void LocalCluster::tick(Time now) {
  const bool checks = now >= next_check_ && check_health();
  const std::set<std::string> alive = alive_;
  for (const std::string& name : alive) {
    tail(entries_.at(name));
    if (checks) release_prompts(entries_.at(name));
    if (checks) check(entries_.at(name), now);
  }
  if (now >= next_check_) next_check_ = now + check_pause;
  std::erase_if(tailing_, [&](const std::string& name) { return tail(entries_.at(name)); });
  if (now >= next_forget_ && health_ == model::Health::Ready) forget_old(now);
  const bool busy = !alive_.empty() || !tailing_.empty() || !outgoing_.empty();
  next_tick_ = now + (busy ? tick_busy : tick_idle);
}

// ----------------------------------------------------------------------------------------------
// what the loop asks

/// The cluster is there as long as its directory is. Says so when that changes.
bool LocalCluster::check_health() {
  const bool there = file_id(attempts_dir_) == directory_id_;
  const model::Health health = there ? model::Health::Ready : model::Health::Unreachable;
  if (health != health_) outgoing_.say(model::ClusterHealth{options_.name, health});
  health_ = health;
  return there;
}

/// Directories of attempts are not synced, so that a start does not wait for the disk. What the
/// loop expects after a boot and is not there may have run before it, and is not run again.
void LocalCluster::say_everything(const std::vector<ports::Expected>& expected) {
  const model::Health before = health_;
  const bool there = check_health();
  if (health_ == before) outgoing_.say(model::ClusterHealth{options_.name, health_});
  if (!there) return;
  outgoing_.say(model::NodeSeen{options_.name, node_});
  std::set<std::string> wanted;
  for (const auto& [attempt, created, is_orphan, pods, counted, requeues, demise] : expected) {
    const std::string name = dir_name(attempt);
    if (!is_orphan) wanted.insert(name);
    const auto it = entries_.find(name);
    if (it != entries_.end()) {
      it->second.attempt = attempt;
      say_how(it->second);
    } else if (created || is_other_boot_) {
      remove(attempt);
    }
  }
  if (is_other_boot_ && replace_file(options_.directory + "/boot", boot_)) is_other_boot_ = false;
  const std::set<std::string> alive = alive_;
  for (const std::string& name : alive) {
    if (!wanted.contains(name)) stop(entries_.at(name));
  }
}

LocalCluster::Entry& LocalCluster::add(const ports::Attempt& attempt) {
  Entry& entry = entries_[dir_name(attempt)];
  entry.attempt = attempt;
  entry.name = dir_name(attempt);
  entry.made = entry.mentioned = steady_now();
  return entry;
}

/// One at a time: there is one blank directory.
void LocalCluster::expect(const model::Placed& placed) {
  {
    const std::lock_guard lock(expected_mutex_);
    if (expected_) return;
    expected_ = {ports::Verb::Create, {placed.job, placed.attempt}, placed.cluster, placed.pods};
  }
  wishes_.wake();
}

void LocalCluster::prepare_expected() {
  std::optional<ports::Action> action;
  {
    const std::lock_guard lock(expected_mutex_);
    action.swap(expected_);
  }
  if (!action || entries_.contains(dir_name(action->attempt))) return;
  auto spec = spec_of(*action);
  if (!spec) return;  // the create will say why
  if (std::exchange(prepared_, std::nullopt)) clear_blank_dir(attempts_dir_);
  if (!has_blank_) make_blank(steady_now());
  if (fill_blank_dir(attempts_dir_, *spec)) {
    prepared_ = {std::move(*action), std::move(*spec)};
  } else {
    clear_blank_dir(attempts_dir_);
  }
}

void LocalCluster::make_blank(Time now) {
  has_blank_ = health_ == model::Health::Ready && make_blank_dir(attempts_dir_).ok();
  blank_due_ = now + tick_idle;  // if it cannot be made now
}

Result<AttemptSpec> LocalCluster::spec_of(const ports::Action& action) const {
  const auto command = ports_.payloads.of(action.attempt.job);
  if (!command) return command.error();
  auto spec = make_spec(action, **command, machine_environment());
  if (!spec) return spec.error();
  if (!(*command)->stop_grace) spec->grace = stop_grace_;
  spec->cgroup = cgroup_;
  spec->output_most = options_.output_most;
  spec->descriptors = options_.pod_descriptors;
  return spec;
}

/// Whatever else the blank directory was filled for is not any more.
Result<AttemptSpec> LocalCluster::take_prepared(const ports::Action& action) {
  std::optional<Prepared> prepared = std::exchange(prepared_, std::nullopt);
  if (prepared && prepared->action.attempt == action.attempt &&
      prepared->action.pods == action.pods)
    return std::move(prepared->spec);
  if (prepared) clear_blank_dir(attempts_dir_);
  return Error{Fault::NotFound, "it is not prepared"};
}

Status LocalCluster::make_dir(const AttemptSpec& spec, bool is_prepared) {
  has_blank_ = false;
  blank_due_ = steady_now() + blank_pause;
  if (is_prepared && name_blank_dir(attempts_dir_, {spec.job, spec.attempt})) return Ok{};
  return make_attempt_dir(attempts_dir_, spec);
}

void LocalCluster::create(const ports::Action& action) {
  const auto it = entries_.find(dir_name(action.attempt));
  if (it != entries_.end()) {
    it->second.attempt = action.attempt;
    it->second.wanted = true;
    say_how(it->second);
    if (!it->second.is_known) check_unclaimed(it->second, steady_now());
    return;
  }
  for (const model::PodPlace& place : action.pods) {
    if (place.node == node_.name) continue;
    refuse(action.attempt, Outcome::StartFailed, 0,
           fmt::format("there is no node {} in cluster {}", place.node, options_.name));
    return;
  }
  auto spec = take_prepared(action);
  const bool is_prepared = spec.ok();
  if (!is_prepared) spec = spec_of(action);
  if (!spec) {
    if (spec.error().fault != Fault::Unavailable)
      refuse(action.attempt, Outcome::Failed, 126, spec.error().message);
    return;  // it is handed over again
  }
  if (Status s = make_dir(*spec, is_prepared); !s) {
    refuse(action.attempt, Outcome::StartFailed, 0, s.error().message);
    return;
  }
  Entry& entry = add(action.attempt);
  entry.spec = std::move(*spec);
  entry.tails.resize(entry.spec.pods.size());
  entry.wanted = true;
  alive_.insert(entry.name);
  launch(entry);
}

void LocalCluster::remove(const ports::Attempt& attempt) {
  const auto it = entries_.find(dir_name(attempt));
  if (it == entries_.end()) {
    refuse(attempt, Outcome::Removed, 0, "");
  } else if (it->second.is_over()) {
    it->second.attempt = attempt;
    say_how(it->second);
  } else {
    stop(it->second);
  }
}

/// An attempt that never ran is over. That it cannot be written down on a full disk does no harm:
/// a server that does not know about it was not told to make it before this was said.
void LocalCluster::refuse(const ports::Attempt& attempt, Outcome outcome, int exit_code,
                          std::string reason) {
  Entry& entry = add(attempt);
  entry.is_known = true;
  entry.state = over_state({}, outcome, exit_code, std::move(reason));
  static_cast<void>(make_tombstone(attempts_dir_, attempt, entry.state));
  say_how(entry);
}

// ----------------------------------------------------------------------------------------------
// what attempts do

void LocalCluster::launch(Entry& entry) {
  entry.launched = steady_now();
  const Status started = launcher_.start(entry.name);
  if (!started && claim(dir_of(entry)))
    end(entry, Outcome::StartFailed, 0, started.error().message);
}

void LocalCluster::stop(Entry& entry) {
  if (entry.is_over()) return;
  entry.stopping = true;
  entry.mentioned = steady_now();
  if (claim(dir_of(entry))) {
    end(entry, Outcome::Removed, 0, "");
  } else {
    ask_to_stop(dir_of(entry));
  }
}

void LocalCluster::look(Entry& entry) {
  if (entry.is_over()) return;
  auto state = read_state(dir_of(entry));
  if (!state) return;  // not written yet
  const bool is_new = !entry.is_known;
  entry.state = std::move(*state);
  entry.is_known = true;
  if (entry.is_over()) {
    over(entry);
  } else if (is_new) {
    say_how(entry);
  }
}

void LocalCluster::check(Entry& entry, Time now) {
  look(entry);
  if (entry.is_over()) return;
  if (entry.ending) {
    write_end(entry);
  } else if (exists(dir_of(entry) + "/unclaimed")) {
    check_unclaimed(entry, now);
  } else {
    if (entry.stopping) ask_to_stop(dir_of(entry));
    check_supervisor(entry);
  }
}

/// Nobody has begun with it. One of another boot had its chance: whether it ran is not known.
void LocalCluster::check_unclaimed(Entry& entry, Time now) {
  const bool other_boot = entry.spec.boot != boot_;
  const bool late = entry.wanted && now >= entry.made + options_.claim_limit;
  if (entry.stopping) {
    stop(entry);
  } else if (other_boot || late) {
    if (claim(dir_of(entry)))
      end(entry, Outcome::StartFailed, 0,
          other_boot ? "the machine was restarted" : "no supervisor came up in time");
  } else if (entry.wanted && now >= entry.launched + relaunch_pause) {
    launch(entry);
  }
}

/// The supervisor holds the lock from before its claim until after its last word. If the lock can
/// be had and the state is not over, it was killed.
void LocalCluster::check_supervisor(Entry& entry) {
  const std::string dir = dir_of(entry);
  const Fd lock(::open((dir + "/lock").c_str(), O_RDWR | O_CLOEXEC));
  if (!lock.is_open() || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return;
  look(entry);
  if (entry.is_over() || !clear_orphans(dir, entry.spec)) return;
  if (entry.stopping) {
    end(entry, Outcome::Removed, 0, "");
  } else if (entry.spec.boot != boot_) {
    end(entry, Outcome::StartFailed, 0, "the machine was restarted");
  } else {
    end(entry, Outcome::Failed, 128 + SIGKILL, "its supervisor was killed, and its pods with it");
  }
}

/// Ends it in the place of a supervisor.
void LocalCluster::end(Entry& entry, Outcome outcome, int exit_code, std::string reason) {
  entry.ending = over_state(entry.state, outcome, exit_code, std::move(reason));
  write_end(entry);
}

/// On a full disk it is tried again at every check.
void LocalCluster::write_end(Entry& entry) {
  if (!write_state(dir_of(entry), *entry.ending)) return;
  entry.state = std::move(*entry.ending);
  entry.ending.reset();
  entry.is_known = true;
  over(entry);
}

void LocalCluster::over(Entry& entry) {
  alive_.erase(entry.name);
  if (!tail(entry)) tailing_.insert(entry.name);
  say_how(entry);
}

void LocalCluster::say_how(Entry& entry) {
  const auto& [job, number] = entry.attempt;
  entry.mentioned = steady_now();
  if (!entry.is_over()) {
    if (entry.is_running() && !entry.stopping) outgoing_.say(model::Started{job, number});
    return;
  }
  // Its output first, if that is not done yet: who waits for the end wants to have seen all of it.
  if (tailing_.contains(entry.name) && tail(entry)) tailing_.erase(entry.name);
  const AttemptState& state = entry.state;
  switch (state.outcome) {
    case Outcome::None:
    case Outcome::Removed:
      outgoing_.say(model::Gone{job, number});
      return;
    case Outcome::StartFailed:
      outgoing_.say(
          model::StartFailed{job, number, wall_now() + options_.start_retry_pause, state.reason});
      return;
    case Outcome::Succeeded:
    case Outcome::Failed:
      outgoing_.say(model::Finished{job, number, state.outcome == Outcome::Succeeded,
                                    state.exit_code, state.reason});
  }
}

/// Hands new output to the sink. False if there is more that it does not take now.
bool LocalCluster::tail(Entry& entry) {
  bool all = true;
  for (std::size_t rank = 0; rank < entry.tails.size(); ++rank) all &= tail_pod(entry, rank);
  return all;
}

bool LocalCluster::tail_pod(Entry& entry, std::size_t rank) {
  Tail& tail = entry.tails[rank];
  const ports::PodOutput pod = output_of(entry.attempt, rank);
  const auto at_end = [&] {
    if (entry.is_over() && !tail.finished) tail.finished = ports_.logs.finish(pod).ok();
    return tail.finished || !entry.is_over();
  };
  while (!tail.broken) {
    if (!tail.asked) {
      const auto taken = ports_.logs.taken(pod);
      if (!taken) return false;
      tail.position = *taken;
      tail.asked = true;
    }
    const auto chunks = read_output(output_path(dir_of(entry), rank), tail.position, tail_most);
    if (!chunks) {
      tail.broken = chunks.error().fault == Fault::Invalid;
      return at_end();  // not there yet, or not readable now
    }
    if (chunks->empty()) return at_end();
    if (!ports_.logs.append(pod, *chunks)) return false;
    tail.position = chunks->back().position;
    if (!entry.is_over()) return true;  // others first; the next tick goes on
  }
  return at_end();
}

/// A program that asks something does not end its line: it is seen all the same.
void LocalCluster::release_prompts(const Entry& entry) {
  for (std::size_t rank = 0; rank < entry.tails.size(); ++rank)
    static_cast<void>(ports_.logs.release(output_of(entry.attempt, rank)));  // or the next time
}

/// The loop asks for what it has no outcome of every minute; what nobody asked for all the while
/// that this instance runs is known to it.
void LocalCluster::forget_old(Time now) {
  next_forget_ = now + forget_pause;
  for (auto it = entries_.begin(); it != entries_.end();) {
    const Entry& entry = it->second;
    const bool old = now >= entry.mentioned + options_.keep_finished;
    if (entry.is_over() && old && !tailing_.contains(entry.name) && remove_tree(dir_of(entry))) {
      it = entries_.erase(it);
    } else {
      ++it;
    }
  }
}

}  // namespace muster::clusters
