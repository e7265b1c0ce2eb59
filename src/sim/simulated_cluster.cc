#include "sim/simulated_cluster.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace muster::sim {
namespace {

constexpr std::size_t said_most = 32;
constexpr Duration probe = seconds(10);  // how long until silence is noticed
constexpr Duration push_again = milliseconds(100);

}  // namespace

SimulatedCluster::SimulatedCluster(std::uint32_t index, Setting setting)
    : index_(index), name_(setting.workload.clusters[index].name), s_(setting) {
  for (const Machine& machine : s_.workload.machines) {
    if (machine.cluster == name_) hosts_[machine.node.name].spec = machine.node;
  }
}

std::vector<std::string> SimulatedCluster::node_names() const {
  std::vector<std::string> names;
  for (const auto& [name, host] : hosts_) names.push_back(name);
  return names;
}

// ----------------------------------------------------------------------------------------------
// what Muster asks

void SimulatedCluster::apply(const ports::Action& action) {
  if (!reachable_) return;
  Time when = s_.timeline.now() + s_.workload.timing.request;
  if (s_.faults != nullptr) when = when + s_.faults->slow();
  s_.timeline.at(when, [this, action] { act(action); });
}

void SimulatedCluster::act(const ports::Action& action) {
  if (!reachable_) return;
  if (action.verb == ports::Verb::Delete) {
    remove(action.attempt);
    return;
  }
  const auto [it, is_new] = groups_.try_emplace(action.attempt);
  if (is_new) {
    create(action, it->second);
  } else {
    say_state(action.attempt, it->second);
  }
}

model::StartFailed SimulatedCluster::start_failed(const ports::Attempt& attempt) const {
  return {attempt.job, attempt.number, s_.timeline.now() + s_.workload.policy.start_retry_pause};
}

void SimulatedCluster::create(const ports::Action& action, Group& group) {
  bool possible =
      s_.faults == nullptr || !s_.faults->hits(s_.faults->mix().apply_refused, "apply refused");
  for (const model::PodPlace& place : action.pods) {
    const auto host = hosts_.find(place.node);
    if (host == hosts_.end())
      s_.record.violate(fmt::format("{} was sent to node {}, which {} does not have",
                                    action.attempt.job, place.node, name_));
    possible = possible && host != hosts_.end() && host->second.up;
  }
  if (!possible || !bind(action, group)) {
    group.outcome = start_failed(action.attempt);
    if (s_.faults != nullptr) ended_lately_.push_back(action.attempt);
    say(group.outcome);
    return;
  }
  group.phase = Phase::Creating;
  group.quiet = s_.faults != nullptr && s_.faults->hits(s_.faults->mix().reply_lost, "reply lost");
  group.run = s_.record.created({action.verb, action.attempt, action.cluster, group.pods}, index_,
                                s_.timeline.now());
  alive_.insert(action.attempt);
  if (group.is_elsewhere)
    say(model::PodsBound{action.attempt.job, action.attempt.number, group.pods});
  s_.timeline.after(s_.workload.timing.start,
                    [this, attempt = action.attempt] { started(attempt); });
}

/// False: a pod finds no room, and nothing is taken.
bool SimulatedCluster::bind(const ports::Action& action, Group& group) {
  group.pods = action.pods;
  for (std::size_t i = 0; i < group.pods.size(); ++i) {
    if (bind_pod(action.attempt, group.pods[i])) continue;
    group.pods.resize(i);
    occupy(action.attempt, group, -1);
    group.pods.clear();
    return false;
  }
  for (std::size_t i = 0; i < group.pods.size(); ++i)
    group.is_elsewhere = group.is_elsewhere || group.pods[i].node != action.pods[i].node;
  return true;
}

bool SimulatedCluster::bind_pod(const ports::Attempt& attempt, model::PodPlace& place) {
  if (s_.faults != nullptr && s_.faults->mix().bound_elsewhere > 0) {
    const model::PodShape& pod = s_.record.job(attempt.job).spec.gang.sets[place.set].pod;
    Host& planned = hosts_.at(place.node);
    const bool strays = s_.faults->hits(s_.faults->mix().bound_elsewhere, "bound elsewhere");
    const auto is_like = [&](const model::NodeSpec& spec) {
      const bool has_type =
          pod.gpu.count == 0 || pod.gpu_types.empty() || spec.gpu_type == planned.spec.gpu_type;
      return has_type && spec.labels == planned.spec.labels && spec.taints == planned.spec.taints &&
             spec.gpu_memory == planned.spec.gpu_memory && spec.ready && !spec.cordoned;
    };
    bool is_settled = !strays && settle_on(planned, pod.requests, place);
    for (auto& [name, host] : hosts_) {
      if (is_settled) break;
      is_settled = &host != &planned && host.up && is_like(host.spec) &&
                   settle_on(host, pod.requests, place);
    }
    if (!is_settled && !settle_on(planned, pod.requests, place)) return false;
  }
  occupy(attempt, place, +1);
  return true;
}

/// The pod's place is on this host from now on, if it has room: on the devices that it was planned
/// for, or else on those that the host chooses. A share does not leave its host.
bool SimulatedCluster::settle_on(Host& host, const model::Resources& asks,
                                 model::PodPlace& place) const {
  const model::NodeSpec& spec = host.spec;
  if (host.cpu + asks.cpu.v > spec.allocatable.cpu.v || host.pods + 1 > spec.pods_max ||
      host.memory + asks.memory.v > spec.allocatable.memory.v)
    return false;
  for (const auto& [name, amount] : asks.extended) {
    const auto has = spec.allocatable.extended.find(name);
    const std::int64_t most = has == spec.allocatable.extended.end() ? 0 : has->second;
    if (host.extended[name] + amount > most) return false;
  }
  const bool is_share = place.devices != 0 && place.each != 1000;
  if (is_share && place.node != spec.name) return false;
  int left = std::popcount(place.devices);
  std::uint32_t devices = 0;
  for (const bool planned : {true, false}) {
    for (int d = 0; d < spec.gpu_count && left > 0; ++d) {
      if (((place.devices >> d) & 1u) != (planned ? 1u : 0u)) continue;
      if (host.devices[static_cast<std::size_t>(d)] + int{place.each} > 1000) continue;
      devices |= 1u << d;
      --left;
    }
  }
  if (left > 0) return false;
  place.node = spec.name;
  place.devices = devices;
  if (devices != 0) place.gpu_type = spec.gpu_type;
  return true;
}

void SimulatedCluster::remove(const ports::Attempt& attempt) {
  Group& group = groups_[attempt];  // one that never was is over from now on
  if (group.phase == Phase::Over) {
    const bool never_was = group.outcome.index() == model::EventBody{}.index();
    if (never_was) group.outcome = model::Gone{attempt.job, attempt.number};
    say(group.outcome);
    return;
  }
  if (group.phase == Phase::Terminating || group.phase == Phase::Failing) return;
  group.phase = Phase::Terminating;
  s_.timeline.after(s_.workload.timing.grace, [this, attempt] {
    Group& leaving = groups_.at(attempt);
    if (leaving.phase == Phase::Terminating)
      over(attempt, leaving, End::Removed, model::Gone{attempt.job, attempt.number});
  });
}

void SimulatedCluster::relist(std::span<const ports::Expected> expected) {
  if (!reachable_) {
    push(model::ClusterHealth{name_, model::Health::Unreachable});
    return;
  }
  resync();
  std::set<ports::Attempt> wanted;
  for (const auto& [attempt, created, is_orphan, pods, counted, requeues, demise] : expected) {
    if (!is_orphan) wanted.insert(attempt);
    const auto it = groups_.find(attempt);
    if (it != groups_.end()) {
      // Those alive were said by the resync.
      if (it->second.phase == Phase::Over) deliver(it->second.outcome, Duration{0});
    } else if (created) {
      groups_[attempt].outcome = model::Gone{attempt.job, attempt.number};
      deliver(groups_[attempt].outcome, Duration{0});
      ended_lately_.push_back(attempt);
    }
  }
  const std::set<ports::Attempt> alive = alive_;
  for (const ports::Attempt& attempt : alive) {
    if (!wanted.contains(attempt)) remove(attempt);
  }
}

// ----------------------------------------------------------------------------------------------
// what pods do

void SimulatedCluster::started(const ports::Attempt& attempt) {
  Group& group = groups_.at(attempt);
  if (group.phase != Phase::Creating) return;
  group.phase = Phase::Running;
  s_.record.started(group.run, s_.timeline.now());
  if (!group.quiet) say_state(attempt, group);
  group.quiet = false;
  s_.timeline.after(s_.record.job(attempt.job).run_time, [this, attempt] { finished(attempt); });
  if (s_.record.job(attempt.job).checkpoint.ms > 0) checkpoint_later(attempt);
}

void SimulatedCluster::checkpoint_later(const ports::Attempt& attempt) {
  s_.timeline.after(s_.record.job(attempt.job).checkpoint, [this, attempt] {
    if (groups_.at(attempt).phase != Phase::Running) return;
    say(model::Checkpointed{attempt.job});
    checkpoint_later(attempt);
  });
}

void SimulatedCluster::finished(const ports::Attempt& attempt) {
  Group& group = groups_.at(attempt);
  if (group.phase != Phase::Running && group.phase != Phase::Terminating) return;
  const bool success = s_.record.finishes(attempt.job) >= s_.record.job(attempt.job).failures;
  over(attempt, group, success ? End::Succeeded : End::Failed,
       model::Finished{attempt.job, attempt.number, success});
}

void SimulatedCluster::over(const ports::Attempt& attempt, Group& group, End how,
                            model::EventBody outcome) {
  occupy(attempt, group, -1);
  group.phase = Phase::Over;
  group.pods.clear();
  group.outcome = std::move(outcome);
  alive_.erase(attempt);
  if (s_.faults != nullptr) ended_lately_.push_back(attempt);
  s_.record.ended(group.run, how, s_.timeline.now());
  say(group.outcome);
}

void SimulatedCluster::occupy(const ports::Attempt& attempt, const Group& group, int sign) {
  for (const model::PodPlace& place : group.pods) occupy(attempt, place, sign);
}

void SimulatedCluster::occupy(const ports::Attempt& attempt, const model::PodPlace& place,
                              int sign) {
  Host& host = hosts_.at(place.node);
  const model::Resources& asks = s_.record.job(attempt.job).spec.gang.sets[place.set].pod.requests;
  host.cpu += sign * asks.cpu.v;
  host.memory += sign * asks.memory.v;
  for (const auto& [name, amount] : asks.extended) host.extended[name] += sign * amount;
  for (std::size_t d = 0; d < host.devices.size(); ++d) {
    if ((place.devices >> d & 1u) != 0) host.devices[d] += sign * int{place.each};
  }
  host.pods += sign;
  if (sign > 0) check_room(attempt, host);
}

void SimulatedCluster::check_room(const ports::Attempt& attempt, const Host& host) {
  const model::NodeSpec& spec = host.spec;
  const char* what = nullptr;
  if (host.cpu > spec.allocatable.cpu.v) what = "cpu";
  if (host.memory > spec.allocatable.memory.v) what = "memory";
  if (host.pods > spec.pods_max) what = "pods";
  for (const auto& [name, used] : host.extended) {
    const auto has = spec.allocatable.extended.find(name);
    if (used > (has == spec.allocatable.extended.end() ? 0 : has->second)) what = name.c_str();
  }
  for (std::size_t d = 0; d < host.devices.size(); ++d) {
    const int has = static_cast<int>(d) < spec.gpu_count ? 1000 : 0;
    if (host.devices[d] > has) what = "gpu";
  }
  if (what == nullptr) return;
  s_.record.violate(fmt::format("node {}/{} is over its {} after attempt {} of {} came", name_,
                                spec.name, what, attempt.number, attempt.job));
}

void SimulatedCluster::node_down(const std::string& node) {
  Host& host = hosts_.at(node);
  if (!host.up) return;
  host.up = false;
  model::NodeSpec seen = host.spec;
  seen.ready = false;
  say(model::NodeSeen{name_, seen});
  const std::set<ports::Attempt> alive = alive_;
  for (const ports::Attempt& attempt : alive) {
    Group& group = groups_.at(attempt);
    if (group.phase != Phase::Creating && group.phase != Phase::Running) continue;
    bool hit = false;
    for (const model::PodPlace& place : group.pods) hit = hit || place.node == node;
    if (!hit) continue;
    group.phase = Phase::Failing;  // the rest of the gang goes too, and only then it is said
    s_.timeline.after(s_.workload.timing.grace, [this, attempt] {
      over(attempt, groups_.at(attempt), End::Lost, start_failed(attempt));
    });
  }
}

void SimulatedCluster::node_up(const std::string& node) {
  hosts_.at(node).up = true;
  say(model::NodeSeen{name_, hosts_.at(node).spec});
}

void SimulatedCluster::set_cordoned(const std::string& node, bool cordoned) {
  Host& host = hosts_.at(node);
  host.spec.cordoned = cordoned;
  model::NodeSpec seen = host.spec;
  seen.ready = seen.ready && host.up;
  say(model::NodeSeen{name_, seen});
}

// ----------------------------------------------------------------------------------------------
// what it says

void SimulatedCluster::say_state(const ports::Attempt& attempt, const Group& group) {
  if (group.phase == Phase::Over) say(group.outcome);
  if (group.phase == Phase::Running) say(model::Started{attempt.job, attempt.number});
}

void SimulatedCluster::resync() {
  if (!reachable_) return;
  deliver(model::ClusterHealth{name_, model::Health::Ready}, Duration{0});
  for (const auto& [name, host] : hosts_) {
    model::NodeSpec seen = host.spec;
    seen.ready = seen.ready && host.up;
    deliver(model::NodeSeen{name_, seen}, Duration{0});
  }
  for (const ports::Attempt& attempt : alive_) {
    const Group& group = groups_.at(attempt);
    if (group.is_elsewhere)
      deliver(model::PodsBound{attempt.job, attempt.number, group.pods}, Duration{0});
    if (group.phase == Phase::Running)
      deliver(model::Started{attempt.job, attempt.number}, Duration{0});
  }
  for (const auto* ended : {&ended_before_, &ended_lately_}) {
    for (const ports::Attempt& attempt : *ended) deliver(groups_.at(attempt).outcome, Duration{0});
  }
  ended_before_ = std::move(ended_lately_);
  ended_lately_.clear();
}

void SimulatedCluster::set_reachable(bool reachable) {
  if (reachable_ == reachable) return;
  reachable_ = reachable;
  if (reachable) {
    resync();
    return;
  }
  s_.timeline.after(probe, [this] {
    if (!reachable_) push(model::ClusterHealth{name_, model::Health::Unreachable});
  });
}

void SimulatedCluster::say(model::EventBody body) {
  if (!reachable_) return;
  const Fate fate = s_.faults == nullptr ? Fate::Deliver : s_.faults->watch();
  if (s_.faults != nullptr) {
    said_.push_back(body);
    if (said_.size() > said_most) said_.pop_front();
  }
  if (fate == Fate::Drop) return;
  if (fate == Fate::Stale) deliver(said_[s_.faults->prng().below(said_.size())], Duration{0});
  if (fate == Fate::Double) deliver(body, s_.faults->lateness());
  deliver(std::move(body), fate == Fate::Late ? s_.faults->lateness() : Duration{0});
}

void SimulatedCluster::deliver(model::EventBody body, Duration delay) {
  s_.timeline.after(s_.workload.timing.watch + delay,
                    [this, listener = listener_, body = std::move(body)] {
                      if (listener == listener_ && reachable_) push(body);
                    });
}

/// A refused event is kept and put again later, in order.
void SimulatedCluster::push(model::EventBody body) {
  unsent_.push_back(std::move(body));
  if (!flushing_) flush();
}

void SimulatedCluster::flush() {
  flushing_ = false;
  while (!unsent_.empty()) {
    if (!s_.inbox.put({s_.timeline.now(), unsent_.front()})) {
      if (s_.faults != nullptr && s_.faults->mix().tiny_inbox > 0) s_.faults->count("tiny inbox");
      flushing_ = true;
      s_.timeline.after(push_again, [this] { flush(); });
      return;
    }
    unsent_.pop_front();
  }
}

void SimulatedCluster::listener_died() {
  ++listener_;
  unsent_.clear();
}

}  // namespace muster::sim
