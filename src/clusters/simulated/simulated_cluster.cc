#include "clusters/simulated/simulated_cluster.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "clusters/clock.h"

namespace muster::clusters {
namespace {

constexpr Duration rest_most = seconds(1);
constexpr Duration say_again = milliseconds(20);  // to a full inbox
constexpr Duration forget_pause = minutes(1);
constexpr std::size_t lines_least = 10'000;  // a file this short is not worth rewriting

const std::string* find(const model::Command& command, const char* name) {
  const auto& own = command.sets.empty() ? command.environment : command.sets[0].environment;
  for (const auto* environment : {&own, &command.environment}) {
    const auto it = environment->find(name);
    if (it != environment->end()) return &it->second;
  }
  return nullptr;
}

}  // namespace

SimulatedPods::Run simulated_run(const model::Command& command, Duration otherwise) {
  SimulatedPods::Run run{otherwise, 0};
  const auto& argv = command.sets.empty() ? command.argv : command.argv_of(command.sets[0]);
  const std::string* time = find(command, "MUSTER_SIM_SECONDS");
  if (time == nullptr && argv.size() == 2 && argv[0] == "sleep") time = &argv[1];
  if (time != nullptr) {
    if (const auto parsed = parse_duration(*time, "")) run.time = *parsed;
  }
  if (const std::string* code = find(command, "MUSTER_SIM_EXIT_CODE")) {
    if (const auto parsed = parse_int(*code, "", 0, 255)) run.exit_code = static_cast<int>(*parsed);
  }
  return run;
}

Result<std::unique_ptr<SimulatedCluster>> SimulatedCluster::open(SimulatedOptions options,
                                                                 Ports ports) {
  std::unique_ptr<SimulatedCluster> cluster(new SimulatedCluster(std::move(options), ports));
  if (Status s = cluster->load(); !s) return s.error();
  cluster->thread_ = std::thread([raw = cluster.get()] { raw->run(); });
  return cluster;
}

SimulatedCluster::SimulatedCluster(SimulatedOptions options, Ports ports)
    : options_(std::move(options)),
      ports_(ports),
      wishes_(options_.queue_most),
      nodes_(options_.nodes),
      run_time_(options_.run_time),
      outgoing_(ports.inbox),
      pods_(options_.timing) {
  for (const model::NodeSpec& node : nodes_) node_names_.insert(node.name);
}

SimulatedCluster::~SimulatedCluster() {
  wishes_.end();
  if (thread_.joinable()) thread_.join();
}

void SimulatedCluster::change(std::vector<model::NodeSpec> nodes, Duration run_time) {
  {
    const std::lock_guard lock(change_mutex_);
    change_ = {std::move(nodes), run_time};
  }
  wishes_.wake();
}

void SimulatedCluster::set_reachable(bool reachable) {
  is_reachable_ = reachable;
  wishes_.wake();
}

// ----------------------------------------------------------------------------------------------
// the thread

void SimulatedCluster::run() {
  // The loop asks every minute for what it has no outcome of: an end that nobody asked for all the
  // while that this instance ran is known to it.
  Time next_forget = wall_now() + options_.keep_finished;
  bool done = false;
  Duration pause{0};
  while (wishes_.rest(done, -1, pause)) {
    const Time now = wall_now();
    check_health();
    take_change();
    do_wishes(now);
    for (model::EventBody& body : pods_.pass(now)) {
      std::visit(
          [&](const auto& said) {
            if constexpr (requires { said.attempt; }) keep({said.job, said.attempt});
          },
          body);
      say(std::move(body));
    }
    if (now >= next_forget) {
      next_forget = now + forget_pause;
      pods_.forget(now - options_.keep_finished);
    }
    if (lines_ > lines_least && lines_ > 4 * pods_.size()) rewrite();
    outgoing_.flush();
    done = outgoing_.empty() && !pods_.is_changing();
    pause = std::clamp(pods_.next() - wall_now(), Duration{0}, rest_most);
    if (!outgoing_.empty()) pause = std::min(pause, say_again);
  }
}

void SimulatedCluster::check_health() {
  const bool reachable = is_reachable_;
  if (reachable == was_reachable_) return;
  was_reachable_ = reachable;
  outgoing_.say(model::ClusterHealth{
      options_.name, reachable ? model::Health::Ready : model::Health::Unreachable});
}

void SimulatedCluster::take_change() {
  std::optional<Change> change;
  {
    const std::lock_guard lock(change_mutex_);
    change.swap(change_);
  }
  if (!change) return;
  run_time_ = change->run_time;
  std::map<std::string, model::NodeSpec> before;
  for (model::NodeSpec& node : nodes_) before.emplace(node.name, std::move(node));
  nodes_ = std::move(change->nodes);
  node_names_.clear();
  for (const model::NodeSpec& node : nodes_) {
    node_names_.insert(node.name);
    const auto known = before.extract(node.name);
    if (known.empty() || known.mapped() != node)
      outgoing_.say(model::NodeSeen{options_.name, node});
  }
  for (const auto& [name, node] : before) outgoing_.say(model::NodeGone{options_.name, name});
}

void SimulatedCluster::do_wishes(Time now) {
  for (const Wish& wish : wishes_.take()) {
    if (const auto* expected = std::get_if<std::vector<ports::Expected>>(&wish)) {
      say_everything(*expected, now);
    } else if (was_reachable_) {
      act(std::get<ports::Action>(wish), now);
    }
  }
}

void SimulatedCluster::act(const ports::Action& action, Time now) {
  const ports::Attempt& attempt = action.attempt;
  if (action.verb == ports::Verb::Delete) {
    pods_.remove(attempt, now);
    keep(attempt);
  } else if (!pods_.knows(attempt)) {
    const auto command = ports_.payloads.of(attempt.job);
    if (!command && command.error().fault == Fault::Unavailable) return;  // handed over again
    // A job without a command is as good as any here.
    const auto run =
        command ? simulated_run(**command, run_time_) : SimulatedPods::Run{run_time_, 0};
    for (const model::PodPlace& place : action.pods) {
      if (!node_names_.contains(place.node))
        pods_.refuse(attempt,
                     fmt::format("there is no node {} in cluster {}", place.node, options_.name),
                     now);
    }
    pods_.create(attempt, run, now);
    keep(attempt);
  }
  say_how(attempt, now);
}

void SimulatedCluster::say_everything(const std::vector<ports::Expected>& expected, Time now) {
  outgoing_.say(model::ClusterHealth{
      options_.name, was_reachable_ ? model::Health::Ready : model::Health::Unreachable});
  if (!was_reachable_) return;
  for (const model::NodeSpec& node : nodes_) outgoing_.say(model::NodeSeen{options_.name, node});
  std::set<ports::Attempt> wanted;
  for (const auto& [attempt, created, is_orphan, pods, counted, requeues, demise] : expected) {
    if (!is_orphan) wanted.insert(attempt);
    if (created && !pods_.knows(attempt)) {
      pods_.remove(attempt, now);
      keep(attempt);
    }
    say_how(attempt, now);
  }
  for (const ports::Attempt& attempt : pods_.alive()) {
    if (wanted.contains(attempt)) continue;
    pods_.remove(attempt, now);
    keep(attempt);
  }
}

/// What happens while it cannot be reached is asked for when it can.
void SimulatedCluster::say(model::EventBody body) {
  if (was_reachable_) outgoing_.say(std::move(body));
}

void SimulatedCluster::say_how(const ports::Attempt& attempt, Time now) {
  if (auto body = pods_.how(attempt, now + options_.start_retry_pause)) say(std::move(*body));
}

// ----------------------------------------------------------------------------------------------
// the file: lines are added, later ones of an attempt count; rewritten when most are outdated

Status SimulatedCluster::load() {
  if (options_.file.empty()) return Ok{};
  const auto text = read_file(options_.file);
  if (!text && text.error().fault != Fault::NotFound) return text.error();
  if (text) pods_.read(*text);
  if (Status s = replace_file(options_.file, pods_.text()); !s) return s;
  file_ = Fd(::open(options_.file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!file_.is_open()) return io_error("open", options_.file);
  return Ok{};
}

/// On a full disk a restart forgets what happened meanwhile; pods that are not real bear that.
void SimulatedCluster::keep(const ports::Attempt& attempt) {
  if (!file_.is_open()) return;
  const std::string line = pods_.line_of(attempt);
  if (::write(file_.get(), line.data(), line.size()) > 0) ++lines_;
}

void SimulatedCluster::rewrite() {
  lines_ = 0;
  if (!replace_file(options_.file, pods_.text())) return;
  file_ = Fd(::open(options_.file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
}

}  // namespace muster::clusters
