#include "clusters/kubernetes/kubernetes_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "clusters/clock.h"
#include "clusters/kubernetes/attempt_notes.h"
#include "clusters/kubernetes/in_place.h"
#include "clusters/kubernetes/listed_objects.h"
#include "clusters/kubernetes/names.h"
#include "clusters/kubernetes/pod_exec.h"
#include "clusters/kubernetes/shared_objects.h"
#include "clusters/kubernetes/sick_nodes.h"
#include "kube/json.h"
#include "manifest/ray_submitter.h"

namespace muster::clusters {

namespace {

constexpr std::size_t requests_most = 32;  // under way: more make an API server no faster
constexpr Duration pass_pause = milliseconds(200);
constexpr Duration idle_pause = seconds(1);
constexpr Duration short_pause = milliseconds(50);  // the inbox is full, or a log ends
constexpr Duration relist_pause = seconds(1);
constexpr Duration free_pause = seconds(5);
constexpr Duration object_patience = seconds(30);  // for what is deleted and has no pods
constexpr Duration clear_within = seconds(20);
constexpr Duration logs_pause = milliseconds(20);
constexpr Duration prepare_pause = minutes(1);

/// All that jobs may be made in, the cluster's own first, each once. Every one is one nameless one:
/// that is how an API server is asked for all of them at once.
std::vector<std::string> namespaces_of(const KubernetesOptions& options) {
  if (has_every_namespace(options.objects)) return {""};
  std::vector<std::string> all = {options.objects.pod.ns};
  const auto add = [&](const std::string& ns) {
    if (std::find(all.begin(), all.end(), ns) == all.end()) all.push_back(ns);
  };
  for (const std::string& ns : options.objects.namespaces) add(ns);
  for (const PoolObjects& pool : options.pools) add(pool.pod.ns);
  return all;
}

/// By the names of pools and of fleet pools they belong to; of a fleet pool the first pool here.
std::map<std::string, ObjectOptions> pool_objects_of(const KubernetesOptions& options) {
  std::map<std::string, ObjectOptions> all;
  const auto add = [&](const std::string& pool, const PodDefaults& pod) {
    if (pool.empty() || all.contains(pool)) return;
    all.emplace(pool, options.objects).first->second.pod = pod;
  };
  for (const PoolObjects& one : options.pools) {
    add(one.pool, one.pod);
    for (const std::string& fleet_pool : one.fleet_pools) add(fleet_pool, one.pod);
  }
  return all;
}

}  // namespace

Result<std::unique_ptr<KubernetesCluster>> KubernetesCluster::open(KubernetesOptions options,
                                                                   Ports ports) {
  kube::ClientOptions how;
  how.requests_max = requests_most;
  auto client = kube::Client::make(options.access, how);
  if (!client) return client.error();
  options.objects.cluster = options.name;
  std::unique_ptr<KubernetesCluster> cluster(
      new KubernetesCluster(std::move(options), ports, std::move(*client)));
  cluster->thread_ = std::thread([raw = cluster.get()] { raw->work(); });
  return cluster;
}

KubernetesCluster::KubernetesCluster(KubernetesOptions options, Ports ports,
                                     std::unique_ptr<kube::Client> client)
    : options_(std::move(options)),
      pool_objects_(pool_objects_of(options_)),
      ports_(ports),
      wishes_(options_.queue_most),
      outgoing_(ports.inbox),
      book_(options_.book),
      extra_(options_.name, options_.gpus),
      client_(std::move(client)),
      teller_(options_.name, ports.sights) {
  const std::vector<std::string> namespaces = namespaces_of(options_);
  writer_ = std::make_unique<ObjectWriter>(
      *client_, ObjectWriter::Place{namespaces, options_.objects.pod.ns, options_.objects.server,
                                    options_.objects.priority_class});
  sight_ = std::make_unique<KubernetesSight>(
      *client_, SightOptions{.cluster = options_.name,
                             .namespaces = namespaces,
                             .server = options_.objects.server,
                             .gpus = options_.gpus,
                             .is_aggregate = options_.is_aggregate,
                             .silence_max = options_.silence_max,
                             .on_change = [this] { wishes_.wake(); },
                             .others = GangWatch::watches * namespaces.size()});
  runtime_classes_ = std::make_unique<RuntimeClassWatch>(*client_, options_.gpus);
  for (const std::string& ns : namespaces) watch_namespace(ns);
  fosters_ = std::make_unique<FosterPods>(*client_, options_.objects.server);
  logs_ =
      std::make_unique<PodLogs>(*client_, PodLogOptions{}, ports_.logs, [this] { wishes_.wake(); });
}

void KubernetesCluster::watch_namespace(const std::string& ns) {
  const std::size_t first = watches_.size() * GangWatch::watches;
  Watches& watches = *watches_.emplace_back(std::make_unique<Watches>());
  watches.ns = ns;
  // A cluster whose Jobs cannot be seen (no permission) can be used as little as a silent one.
  GangWatchHandlers handlers;
  handlers.on_change = [this] { wishes_.wake(); };
  handlers.on_lost = [this, first](std::size_t watch, const std::string& why) {
    sight_->lost_other(first + watch, why);
  };
  handlers.on_found = [this, first](std::size_t watch, bool has_synced) {
    sight_->found_other(first + watch, has_synced);
  };
  const std::string selector = server_selector(options_.objects.server);
  watches.gangs = std::make_unique<GangWatch>(*client_, ns, selector, std::move(handlers));
  watches.rules = std::make_unique<NamespaceWatch>(*client_, ns);
  watches.workloads = std::make_unique<WorkloadWatch>(
      *client_, ns, selector,
      [gangs = watches.gangs.get()](const ports::Attempt& attempt) { gangs->touch(attempt); });
  if (ports_.notes != nullptr)
    watches.events = std::make_unique<EventWatch>(*client_, ns, [this] { wishes_.wake(); });
}

KubernetesCluster::~KubernetesCluster() {
  {
    const std::lock_guard lock(door_->mutex);
    door_->is_open = false;
  }
  wishes_.end();
  if (thread_.joinable()) thread_.join();
  logs_.reset();
  fosters_.reset();
  for (const auto& watches : watches_) {
    watches->events.reset();
    watches->rules.reset();
    watches->workloads.reset();
    watches->gangs.reset();
  }
  runtime_classes_.reset();
  sight_.reset();
  client_.reset();
}

Result<std::shared_ptr<ports::PodCommandSession>> KubernetesCluster::run(
    const ports::PodCommand& command, ports::PodCommandCallbacks callbacks) {
  return exec_in_pod(*client_, pods_of(command.attempt), command, std::move(callbacks));
}

std::vector<PodSight> KubernetesCluster::pods_of(const ports::Attempt& attempt) const {
  std::vector<PodSight> pods;
  for (const auto& watches : watches_) {
    pods = watches->gangs->pods_of(attempt);
    if (!pods.empty()) break;  // an attempt is in one namespace
  }
  return pods;
}

/// Of a cluster that is told as one node pods select nothing.
model::RuntimeClasses KubernetesCluster::runtime_classes() const {
  return options_.is_aggregate ? model::RuntimeClasses() : runtime_classes_->all();
}

void KubernetesCluster::leave() {
  if (!sight_->problem().empty()) return;
  std::future<void> is_cleared;
  {
    const std::lock_guard lock(mutex_);
    is_cleared = leaving_.emplace().get_future();
  }
  wishes_.wake();
  is_cleared.wait_for(std::chrono::milliseconds(clear_within.ms));
  for (const auto& watches : watches_) remove_peers(*client_, watches->ns, options_.objects.server);
}

/// Of one that leaves: all that ended goes, and nobody waits any longer when it is gone. What it
/// was asked before comes first: a relist finds what is left of former times.
void KubernetesCluster::clear_to_leave() {
  const std::lock_guard lock(mutex_);
  if (!leaving_ || has_cleared_ || is_relisting_ || !held_.empty()) return;
  if (!std::exchange(is_clearing_, true)) book_.remove_ended();
  has_cleared_ = book_.leaving().empty();
  if (has_cleared_) leaving_->set_value();
}

/// From when the cluster is seen. What every attempt needs and cannot have is asked for again: it
/// may be that no job comes that would find out.
void KubernetesCluster::get_acquainted(Time now) {
  if (!sight_->is_complete()) return;
  const bool is_due = next_prepare_ == Time{} || !writer_->trouble().empty();
  if (is_due && now >= next_prepare_) {
    writer_->prepare();
    next_prepare_ = now + prepare_pause;
  }
  acquaintance_.pass(*client_, sight_->problem().empty(), now);
}

// ----------------------------------------------------------------------------------------------
// the thread

void KubernetesCluster::work() {
  Duration pause{0};
  while (wishes_.rest(is_done(), -1, pause)) {
    const Time now = wall_now();
    do_answers();
    do_wishes(now);
    look_at_gangs(now);
    if (now >= next_pass_) {
      book_.pass(now);
      for (const ports::Attempt& attempt : bound_.due(now)) touch(attempt);
      next_pass_ = now + pass_pause;
    }
    if (now >= next_free_) {
      free_stuck(now);
      leave_sick_nodes(now);
      tell_trouble(now);
      const auto is_over = [this](const ports::Attempt& attempt) { return !book_.knows(attempt); };
      bound_.forget(is_over);
      extra_.forget(is_over);
      teller_.forget(is_over);
      fosters_->forget([this](const ports::Attempt& attempt) { return !book_.is_made(attempt); });
      fosters_->pass(now);
      logs_->forget_nodes([this](const std::string& node) { return sight_->is_node_lost(node); });
      next_free_ = now + free_pause;
    }
    get_acquainted(now);
    clear_to_leave();
    do_commands(now);
    tell_notes(now);
    extra_.tell(sight_->changes());
    const bool is_drained = sight_->changes().drain(ports_.inbox);
    outgoing_.flush();
    const bool is_calm = book_.is_settled() && held_.empty();
    pause = has_logs_due_                                               ? logs_pause
            : !is_drained || !outgoing_.empty() || logs_->has_endings() ? short_pause
            : is_calm                                                   ? idle_pause
                                                                        : pass_pause;
  }
}

bool KubernetesCluster::is_done() {
  {
    const std::lock_guard lock(mutex_);
    if (!answers_.empty()) return false;
  }
  return promised_ == 0 && unread_.empty() && held_.empty() && outgoing_.empty() &&
         book_.is_settled() && sight_->changes().size() == 0;
}

void KubernetesCluster::answer(std::function<void()> function) {
  {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(function));
  }
  wishes_.wake();
}

void KubernetesCluster::do_answers() {
  std::deque<std::function<void()>> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(answers_);
  }
  for (const auto& one : taken) {
    --promised_;
    one();
  }
}

/// Until a relist is answered, and until the cluster was seen once, wishes wait; creates also until
/// the cluster took the deletes of what the relist found and nobody wants. A cluster that cannot be
/// reached does nothing and says so.
void KubernetesCluster::do_wishes(Time now) {
  for (Wish& wish : wishes_.take()) {
    const bool is_action = std::holds_alternative<ports::Action>(wish);
    if (!is_action || held_.size() < options_.queue_most) held_.push_back(std::move(wish));
  }
  std::deque<Wish> creates;  // that wait
  while (!held_.empty() && !is_relisting_ && now >= relist_not_before_) {
    const bool is_unreachable = !sight_->problem().empty();
    if (!is_unreachable && !sight_->is_complete()) break;
    Wish wish = std::move(held_.front());
    held_.pop_front();
    if (auto* expected = std::get_if<std::vector<ports::Expected>>(&wish)) {
      clearing_.clear();  // found anew
      if (is_unreachable) {
        outgoing_.say(model::ClusterHealth{options_.name, model::Health::Unreachable});
      } else {
        begin_relist(std::move(*expected));
      }
      continue;
    }
    if (is_unreachable) continue;
    const ports::Action& action = std::get<ports::Action>(wish);
    if (action.verb == ports::Verb::Create && !clearing_.is_over()) {
      creates.push_back(std::move(wish));
    } else {
      act(action, now);
    }
  }
  held_.insert(held_.begin(), std::make_move_iterator(creates.begin()),
               std::make_move_iterator(creates.end()));
}

void KubernetesCluster::look_at_gangs(Time now) {
  const auto is_seen = [](const auto& watches) {
    return watches->gangs->has_synced() && watches->workloads->has_answered();
  };
  if (!std::all_of(watches_.begin(), watches_.end(), is_seen)) return;
  for (const auto& watches : watches_) {
    for (const ports::Attempt& attempt : watches->gangs->take_touched()) {
      if (!book_.knows(attempt)) continue;
      const std::vector<PodSight> pods = pods_of(attempt);
      claims_.pods_seen(attempt, static_cast<std::int64_t>(pods.size()));
      logs_->look(attempt, pods, now);
      look_at_nodes(attempt, pods, now);
      unread_.insert(attempt);
    }
  }
  pass_logs(now);
  for (const ports::Attempt& attempt : std::exchange(unread_, {})) {
    const auto state = state_of(attempt);
    if (!state) {
      tell_stand(attempt, state);
      continue;
    }
    if (!state->adopted_in.empty() && book_.is_made(attempt))
      fosters_->look_after(attempt, state->adopted_in, state->adopted);
    // Whoever hears that it ended finds all of its output: that of the pods which say so, too.
    if (state->is_ended) logs_->look(attempt, pods_of(attempt), now);
    const bool is_read = !state->is_ended || logs_->is_complete(attempt);
    if (!is_read) unread_.insert(attempt);
    if (is_read) book_.seen(attempt, *state, now);
    tell_stand(attempt, state);
  }
}

void KubernetesCluster::tell_stand(const ports::Attempt& attempt,
                                   const std::optional<GangState>& state) {
  if (!teller_.follows(attempt, state)) return;
  teller_.tell(attempt, state, pods_of(attempt),
               {.is_made = book_.is_made(attempt),
                .ailment = book_.ailment_of(attempt),
                .needed_pods = book_.needed_pods_of(attempt),
                .requeues = book_.requeues_before(attempt),
                .demise = book_.demise_of(attempt),
                .kept_failure = book_.kept_failure_of(attempt)});
}

/// Of a cluster that is told as one node nobody asks where in it they are.
void KubernetesCluster::expect_pods(const ports::Attempt& attempt,
                                    std::vector<model::PodPlace> places,
                                    std::vector<model::Resources> counted) {
  if (options_.is_aggregate) return;
  bound_.expect(attempt, std::move(places));
  extra_.expect(attempt, std::move(counted));
}

/// The books follow the pods, wherever the cluster's scheduler bound them.
void KubernetesCluster::look_at_nodes(const ports::Attempt& attempt,
                                      const std::vector<PodSight>& pods, Time now) {
  const auto type_of = [this](const std::string& node) { return sight_->gpu_type_of(node); };
  if (auto bound = bound_.look(attempt, pods, type_of, now)) outgoing_.say(std::move(*bound));
  extra_.look(attempt, bound_.booked(attempt), pods);
}

/// What came is passed on together: at most half of the time goes into it, whatever logs bring.
void KubernetesCluster::pass_logs(Time now) {
  has_logs_due_ = now < next_logs_;
  if (has_logs_due_) return;
  logs_->pass(now);
  const Time after = wall_now();
  next_logs_ = after + std::max(logs_pause, after - now);
}

/// A pod of a node that is gone, or marked out of service, is never said to have ended: it is
/// forced away. Of any other nobody knows whether it still runs: it stays, and what it takes stays
/// counted, unless its job chose that it be forced after a time.
void KubernetesCluster::free_stuck(Time now) {
  const auto is_lost = [this](const std::string& node) { return sight_->is_node_lost(node); };
  std::map<ports::Attempt, Time> podless;
  for (const ports::Attempt& attempt : book_.leaving()) {
    const std::vector<PodSight> pods = pods_of(attempt);
    if (pods.empty()) {
      const auto known = podless_since_.find(attempt);
      const Time since = known == podless_since_.end() ? now : known->second;
      podless.emplace(attempt, since);
      if (now - since >= object_patience) tell_held(attempt, now);
    }
    const OverduePods overdue = overdue_among(pods, is_lost, now);
    for (const PodSight& pod : overdue.lost) writer_->force_away(pod.ns, pod.name, pod.uid);
    for (const PodSight& pod : overdue.forced) writer_->force_away(pod.ns, pod.name, pod.uid);
    for (const PodSight& pod : overdue.stuck) {
      if (ports_.notes != nullptr) ports_.notes->note(stuck_note(pod, now));
    }
  }
  podless_since_.swap(podless);
}

void KubernetesCluster::tell_held(const ports::Attempt& attempt, Time now) {
  if (ports_.notes == nullptr) return;
  for (const auto& watches : watches_) {
    for (const std::string& title : watches->gangs->going_of(attempt))
      ports_.notes->note(held_note(attempt, title, now));
    for (const std::string& title : watches->workloads->going_of(attempt))
      ports_.notes->note(held_note(attempt, title, now));
  }
}

void KubernetesCluster::leave_sick_nodes(Time now) {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> marked;  // by label
  const auto nodes_with = [&](const std::string& label,
                              const std::string& value) -> const std::set<std::string>& {
    const auto [at, is_new] = marked.try_emplace({label, value});
    if (is_new) at->second = sight_->nodes_with(label, value);
    return at->second;
  };
  std::map<ports::Attempt, std::set<std::string>> sick;
  for (const auto& [attempt, marks] : book_.movable()) {
    const bool is_any = std::any_of(marks.begin(), marks.end(), [&](const model::NodeMark& mark) {
      return !nodes_with(mark.label, mark.value).empty();
    });
    if (is_any) sick[attempt] = sick_nodes_of(marks, pods_of(attempt), nodes_with);
  }
  for (const auto& [attempt, nodes] : sick) {
    if (!nodes.empty()) book_.leave_nodes(attempt, sick_reason(nodes), now);
  }
}

void KubernetesCluster::tell_notes(Time now) {
  for (const auto& watches : watches_) {
    if (!watches->events) continue;
    const auto owner_of = [&watches](const EventSight& event) {
      const auto owner = watches->gangs->owner_of(event.kind, event.ns, event.name);
      return owner ? owner : watches->workloads->owner_of(event.kind, event.ns, event.name);
    };
    watches->events->tell(owner_of, *ports_.notes, now);
  }
}

void KubernetesCluster::tell_trouble(Time now) {
  std::string trouble = clearing_.trouble(now, writer_->removal_refusal());
  if (trouble.empty()) trouble = writer_->trouble();
  const std::lock_guard lock(mutex_);
  trouble_ = std::move(trouble);
}
std::string KubernetesCluster::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

/// None: it is not known yet.
std::optional<GangState> KubernetesCluster::state_of(const ports::Attempt& attempt) const {
  const std::vector<PodSight> pods = pods_of(attempt);
  for (const auto& watches : watches_) {
    if (auto state = watches->workloads->state_of(attempt, pods)) return state;
  }
  for (const auto& watches : watches_) {
    auto state = watches->gangs->listed_state_of(attempt);
    if (state && state->is_rootless) state->care = care_of(attempt);
    if (state) return state;
  }
  GangState state;
  for (const auto& watches : watches_) {
    if (watches->gangs->is_listed(attempt)) return std::nullopt;  // its root was not seen yet
    state = watches->gangs->state_of(attempt);
    if (state.phase != GangPhase::Absent) break;
  }
  return state;
}

void KubernetesCluster::do_commands(Time now) {
  for (auto commands = book_.take(); !commands.empty(); commands = book_.take()) {
    for (BookCommand& command : commands) {
      if (auto* said = std::get_if<SayEvent>(&command)) outgoing_.say(std::move(said->body));
      if (auto* wanted = std::get_if<MakeObjects>(&command)) make(wanted->attempt, now);
      if (auto* wanted = std::get_if<RemoveObjects>(&command)) remove(wanted->attempt);
      if (auto* wanted = std::get_if<ConfirmGone>(&command)) confirm(wanted->attempt);
      if (auto* changed = std::get_if<TellStand>(&command))
        tell_stand(changed->attempt, state_of(changed->attempt));
    }
  }
}

// ----------------------------------------------------------------------------------------------
// what the loop asks

void KubernetesCluster::begin_relist(std::vector<ports::Expected> expected) {
  is_relisting_ = true;
  ++promised_;
  writer_->find_attempts([this, expected = std::move(expected)](ObjectWriter::Attempts found) {
    answer([this, expected, found = std::move(found)] { end_relist(expected, found); });
  });
}

void KubernetesCluster::end_relist(const std::vector<ports::Expected>& expected,
                                   ObjectWriter::Attempts found) {
  const Time now = wall_now();
  is_relisting_ = false;
  const auto look_again = [&] {
    held_.emplace_front(expected);
    relist_not_before_ = now + relist_pause;
  };
  if (!found) return look_again();
  std::set<ports::Attempt> wanted;
  for (const ports::Expected& one : expected) wanted.insert(one.attempt);
  std::set<ports::Attempt> unwanted;
  for (const auto& all : {*found, book_.alive()}) {
    for (const ports::Attempt& attempt : all) {
      if (wanted.contains(attempt)) continue;
      const WorkloadWatch::Kept kept = is_kept(attempt);
      if (kept == WorkloadWatch::Kept::NotKnown) return look_again();
      if (kept == WorkloadWatch::Kept::No) unwanted.insert(attempt);
    }
  }
  keep_failures(unwanted, now);
  sight_->say_everything();
  extra_.tell_everything(sight_->changes());
  sight_->changes().drain(ports_.inbox);
  for (const ports::Expected& one : expected) {
    const ports::Attempt& attempt = one.attempt;
    if (one.is_orphan) {
      unwanted.insert(attempt);
      continue;
    }
    const bool is_known = book_.knows(attempt);
    const bool was_removed = one.demise.ailment != model::Ailment::None;
    if (is_known || (!was_removed && one.created && found->contains(attempt))) {
      book_.adopt(attempt, now);
      expect_pods(attempt, one.pods, one.counted);
      touch(attempt);
    } else if (one.created) {
      AttemptCare care = care_of(attempt);
      care.requeues = static_cast<int>(one.requeues);
      if (care.has_hub) teller_.follow(attempt);
      if (was_removed) book_.go_on_removing(attempt, care, one.demise, now);
      if (!was_removed) book_.vanished(attempt, care, now);
    }
    // Otherwise its create comes again, and makes what is missing of it.
  }
  for (const ports::Attempt& attempt : unwanted) {
    book_.remove(attempt, now);
    if (book_.will_delete(attempt)) clearing_.add(attempt, now);
  }
}

/// What failed while an earlier server was there stays as long as its job wants.
void KubernetesCluster::keep_failures(std::set<ports::Attempt>& unwanted, Time now) {
  std::erase_if(unwanted, [&](const ports::Attempt& attempt) {
    if (book_.knows(attempt)) return book_.is_kept_failure(attempt);
    const auto state = state_of(attempt);
    if (!state || !stays_when_failed(*state)) return false;
    book_.keep_failure(attempt, *state, now);
    return true;
  });
}

WorkloadWatch::Kept KubernetesCluster::is_kept(const ports::Attempt& attempt) const {
  using Kept = WorkloadWatch::Kept;
  if (book_.knows(attempt)) return book_.is_kept(attempt) ? Kept::Yes : Kept::No;
  const std::vector<PodSight> pods = pods_of(attempt);
  Kept kept = Kept::No;
  for (const auto& watches : watches_) {
    Kept here = watches->workloads->is_kept(attempt, pods);
    const auto listed = watches->gangs->listed_state_of(attempt);
    if (listed && stays_when_ended(*listed)) here = Kept::Yes;
    if (here != Kept::No) kept = here;
    if (here == Kept::Yes) break;
  }
  return kept;
}

void KubernetesCluster::act(const ports::Action& action, Time now) {
  if (action.verb == ports::Verb::Delete) return book_.remove(action.attempt, now);
  if (!book_.knows(action.attempt)) making_[action.attempt] = action;
  expect_pods(action.attempt, action.pods, action.counted);
  book_.create(action.attempt, now);
}

void KubernetesCluster::make(const ports::Attempt& attempt, Time now) {
  using Making = AttemptBook::Making;
  const auto node = making_.extract(attempt);
  MUSTER_CHECK(!node.empty(), "nobody asked for attempt {} of {}", attempt.number, attempt.job);
  const auto command = ports_.payloads.of(attempt.job);
  if (!command) {
    const bool is_open = command.error().fault == Fault::Unavailable;
    return book_.made(attempt, is_open ? Making::Unavailable : Making::Refused,
                      command.error().message, now);
  }
  const ObjectOptions& options = objects_for((*command)->pool);
  const auto done = [this, attempt](MadeObjects made) {
    answer([this, attempt, made = std::move(made)] {
      for (const LuggageNote& one : made.notes) note(attempt, one, wall_now());
      claims_.objects_made(attempt);
      if (made.how != Making::Done) claims_.release(attempt);
      if (made.how == Making::Unavailable && ports_.notes != nullptr)
        ports_.notes->note(not_made_note(attempt, made.reason, wall_now()));
      book_.made(attempt, made.how, made.reason, wall_now());
      touch(attempt);  // what was seen meanwhile was not looked at
    });
  };
  if (!(*command)->objects.empty()) {
    auto listed = listed_for(node.mapped(), **command, options);
    const bool is_away = is_from_elsewhere(**command, options_.name);
    // Of another cluster's object: here it cannot be made, elsewhere it may.
    const Making never = is_away ? Making::NotNow : Making::Refused;
    if (!listed) return book_.made(attempt, never, listed.error().message, now);
    std::vector<PodsAsked> pods;
    for (const manifest::PodTemplate& one : listed->templates)
      pods.push_back({manifest::pod_of(listed->objects[one.object], one), one.count});
    if (!is_allowed(attempt, std::move(pods), listed->objects, now)) return;
    ++promised_;
    if (is_away && ports_.departures != nullptr)
      return depart(attempt, *(*command)->hub, std::move(*listed), done);
    return writer_->make(std::move(*listed), done);
  }
  auto objects = command_objects(node.mapped(), **command, options);
  if (!objects) return book_.made(attempt, Making::Refused, objects.error().message, now);
  if (!is_allowed(attempt, pods_of_jobs(*objects), *objects, now)) return;
  ++promised_;
  auto peers = peers_service(node.mapped(), kube::namespace_of(objects->front()), options.server);
  writer_->make(std::move(peers), std::move(*objects), done);
}

void KubernetesCluster::depart(const ports::Attempt& attempt, const model::HubObject& hub,
                               ListedObjects listed, const OnMade& done) {
  auto list = std::make_shared<ListedObjects>(std::move(listed));
  ports::Departure departure{attempt, options_.name, hub, list->named};
  ports_.departures->depart(std::move(departure), [this, door = door_, attempt, list,
                                                   done](const Result<ports::Luggage>& luggage) {
    const std::lock_guard lock(door->mutex);
    if (!door->is_open) return;
    if (!luggage) {
      const bool is_open = luggage.error().fault == Fault::Unavailable;
      const auto how = is_open ? AttemptBook::Making::Unavailable : AttemptBook::Making::NotNow;
      return done({how, luggage.error().message});
    }
    list->luggage = *luggage;
    answer([this, attempt, list, done] {
      for (const auto& [what, why] : list->luggage.left)
        note(attempt, {to_text(what), "it stays in the hub: " + why}, wall_now());
      ++promised_;
      writer_->make(std::move(*list), done);
    });
  });
}

void KubernetesCluster::note(const ports::Attempt& attempt, const LuggageNote& note, Time now) {
  if (ports_.notes == nullptr) return;
  ports_.notes->note(left_behind_note(attempt, note, now));
}

Result<ListedObjects> KubernetesCluster::listed_for(const ports::Action& action,
                                                    const model::Command& command,
                                                    const ObjectOptions& options) {
  auto listed = listed_objects(action, command, options);
  if (!listed) return listed;
  put_requeues(listed->root, static_cast<int>(action.requeues));
  const AttemptCare care = root_sight_of(listed->root).care;
  book_.look_after(action.attempt, care);
  if (care.has_hub) teller_.follow(action.attempt);
  if (listed->is_own_root) put_own_root(*listed);
  return listed;
}

bool KubernetesCluster::is_allowed(const ports::Attempt& attempt, std::vector<PodsAsked> pods,
                                   const std::vector<boost::json::value>& objects, Time now) {
  const std::string ns(objects.empty() ? "" : kube::namespace_of(objects.front()));
  const auto of = std::find_if(watches_.begin(), watches_.end(), [&](const auto& watches) {
    return watches->ns.empty() || watches->ns == ns;
  });
  if (of == watches_.end()) return true;
  NamespaceRules rules = (*of)->rules->rules(ns);
  if (rules.limits.empty() && rules.quotas.empty()) return true;
  claims_.release(attempt);
  claims_.add_to(ns, rules.quotas);
  std::int64_t count = 0;
  for (PodsAsked& one : pods) {
    one.overhead = runtime_classes_->overhead_of(one.pod);
    count += one.count;
  }
  const auto there = static_cast<std::int64_t>(pods_of(attempt).size());
  if (count > 0 && there >= count) return true;  // made before, and counted
  auto fits = check_namespace(rules, std::move(pods), counted(objects));
  if (fits) {
    if (!rules.quotas.empty()) claims_.claim(attempt, ns, std::move(*fits), count);
    return true;
  }
  const bool is_final = fits.error().fault == Fault::Invalid;
  book_.made(attempt, is_final ? AttemptBook::Making::Refused : AttemptBook::Making::NotNow,
             fmt::format("namespace {}: {}", ns, fits.error().message), now);
  return false;
}

const ObjectOptions& KubernetesCluster::objects_for(const std::string& pool) const {
  const auto found = pool_objects_.find(pool);
  return found == pool_objects_.end() ? options_.objects : found->second;
}

void KubernetesCluster::remove(const ports::Attempt& attempt) {
  claims_.release(attempt);
  if (attempt.job.starts_with(model::in_place_prefix)) return stop(attempt);
  remove_objects(attempt);
}

/// What is started in its place is stopped before anything of it is removed: its operator would
/// only make it anew. Until then the root stays, so that the attempt is not taken for gone.
void KubernetesCluster::stop(const ports::Attempt& attempt) {
  const auto command = ports_.payloads.of(attempt.job);
  if (!command && command.error().fault == Fault::Unavailable)
    return book_.not_removed(attempt, wall_now());
  if (!command || !is_in_place(**command)) return remove_objects(attempt);
  ++promised_;
  writer_->stop(*(*command)->hub, attempt, manifest::only_object((*command)->objects),
                [this, attempt](bool is_stopped) {
                  answer([this, attempt, is_stopped] {
                    if (!is_stopped) return book_.not_removed(attempt, wall_now());
                    remove_objects(attempt);
                  });
                });
}

void KubernetesCluster::remove_objects(const ports::Attempt& attempt) {
  ++promised_;
  writer_->remove(
      attempt, [&] { return namespace_of(attempt); },
      [this, attempt](Taken taken) {
        answer([this, attempt, taken] {
          if (taken == Taken::No) return book_.not_removed(attempt, wall_now());
          book_.removed(attempt);  // roots may be left; few attempts have one
          if (taken == Taken::All) clearing_.done(attempt);
        });
      });
}

/// As its job has it, where nothing in the cluster says so any more.
AttemptCare KubernetesCluster::care_of(const ports::Attempt& attempt) const {
  const auto command = ports_.payloads.of(attempt.job);
  if (!command) return {};
  return {.care = (*command)->care, .has_hub = (*command)->hub.has_value()};
}

/// Where a command would be made; "" if nobody knows.
std::string KubernetesCluster::namespace_of(const ports::Attempt& attempt) const {
  const auto command = ports_.payloads.of(attempt.job);
  if (!command) return "";
  const auto options = options_for((*command)->container, objects_for((*command)->pool));
  return options ? options->pod.ns : "";
}

void KubernetesCluster::confirm(const ports::Attempt& attempt) {
  ++promised_;
  writer_->confirm_gone(attempt, [this, attempt](bool is_gone) {
    answer([this, attempt, is_gone] {
      book_.confirmed(attempt, is_gone && !may_have_objects(attempt), wall_now());
      if (is_gone) clearing_.done(attempt);
    });
  });
}

/// Beside those that every attempt may have. What is started in its place stays.
bool KubernetesCluster::may_have_objects(const ports::Attempt& attempt) const {
  if (attempt.job.starts_with(model::in_place_prefix)) return false;
  return std::any_of(watches_.begin(), watches_.end(), [&](const auto& watches) {
    return watches->workloads->may_have_objects(attempt);
  });
}

}  // namespace muster::clusters
