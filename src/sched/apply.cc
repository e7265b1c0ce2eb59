// How each event changes the world. One function per event; each first asks whether the event still
// applies.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "sched/bounds.h"
#include "sched/estimate.h"
#include "sched/world.h"

namespace muster::sched {
namespace {

using model::JobState;

class Applier {
 public:
  Applier(World& world, const Policy& policy, Time at) : w_(world), policy_(policy), at_(at) {}

  // ---- what people ask
  bool operator()(const model::JobSubmitted& e) {
    if (!w_.find_job(e.spec.id).is_none()) return false;
    Job job;
    job.id = e.spec.id;
    job.seq = e.seq;
    w_.newest_submit = std::max(w_.newest_submit, e.seq);
    job.queue = w_.quota.find_or_make(e.spec.queue);
    for (const auto& name : e.spec.extra_queues)
      job.extra_queues.push_back(w_.quota.find_or_make(name));
    w_.quota.keep_one_per_tree(job.extra_queues);  // old journals name several
    w_.set_gang(job, e.spec.gang);
    for (const SetRec& set : w_.shapes[job.shape].sets) w_.shapes.expect(set.pod, set.count);
    job.priority = e.spec.priority;
    job.state = e.spec.held ? JobState::Held : JobState::Waiting;
    job.user = w_.text_id(e.spec.user);
    job.name = w_.text_id(e.spec.name);
    job.submitted = at_;
    job.eligible_at = e.spec.start_after;
    job.deadline = e.spec.deadline;
    job.run_limit = e.spec.run_limit;
    if (policy_.rules.has(Rule::Dependencies)) job.depends_on = unmet(e.spec.depends_on);
    const JobSlot slot = w_.add_job(std::move(job));
    for (const auto& id : w_.job(slot).depends_on) {
      w_.dependents[id].push_back(slot);
      const JobSlot other = w_.find_job(id);
      if (!other.is_none() && model::is_final(w_.job(other).state)) w_.doomed.insert(slot);
    }
    wait(slot);
    give_estimate(slot);
    return true;
  }
  bool operator()(const model::JobCancelled& e) {
    const JobSlot slot = w_.find_job(e.job);
    if (slot.is_none() || model::is_final(w_.job(slot).state)) return false;
    Job& job = w_.job(slot);
    if (!job.active) {
      finish(slot, JobState::Cancelled);
      return true;
    }
    if (job.active->cancelled) return false;
    job.active->cancelled = true;
    job.active->held = false;
    stop(slot);
    return true;
  }
  bool operator()(const model::JobHeld& e) {
    const JobSlot slot = w_.find_job(e.job);
    if (slot.is_none()) return false;
    if (w_.job(slot).active) return e.stops && stop_to_hold(slot);
    if (w_.job(slot).state != JobState::Waiting) return false;
    stop_waiting(slot);
    move(slot, JobState::Held);
    return true;
  }
  bool operator()(const model::JobReleased& e) {
    const JobSlot slot = w_.find_job(e.job);
    if (slot.is_none()) return false;
    if (w_.job(slot).active) return std::exchange(w_.job(slot).active->held, false);
    if (w_.job(slot).state != JobState::Held) return false;
    move(slot, JobState::Waiting);
    wait(slot);
    return true;
  }
  bool operator()(const model::PriorityChanged& e) {
    const JobSlot slot = w_.find_job(e.job);
    if (slot.is_none() || model::is_final(w_.job(slot).state) ||
        w_.job(slot).priority == e.priority) {
      return false;
    }
    w_.dequeue(slot);
    const bool running = w_.job(slot).active && !w_.job(slot).active->stopping;
    if (running) w_.count_running(slot, -1);
    w_.job(slot).priority = e.priority;
    if (running) w_.count_running(slot, +1);
    w_.settle_guarantee(slot);
    w_.enqueue(slot);
    w_.changes.everything = true;  // a running job's priority decides who may evict it
    return true;
  }
  bool operator()(const model::QueueChanged& e) {
    const JobSlot slot = w_.find_job(e.job);
    if (slot.is_none() || w_.job(slot).active || model::is_final(w_.job(slot).state)) return false;
    const QueueId queue = w_.quota.find_or_make(e.queue);
    if (queue == w_.job(slot).queue) return false;
    give_reservation_back(slot);
    w_.dequeue(slot);
    w_.job(slot).queue = queue;
    w_.enqueue(slot);
    return true;
  }
  bool operator()(const model::QueueSet& e) {
    w_.quota.set(e.spec, at_, policy_.half_life);
    w_.recount_running();  // caps may have changed
    w_.guarantees.rebuild(w_);
    w_.changes.everything = true;
    return true;
  }
  bool operator()(const model::QueueRemoved& e) {
    w_.quota.remove(e.queue);
    w_.recount_running();
    w_.guarantees.rebuild(w_);
    w_.changes.everything = true;
    return true;
  }
  bool operator()(const model::PoolSet& e) {
    w_.set_pool(e.spec);
    return true;
  }
  bool operator()(const model::FleetPoolSet& e) {
    w_.set_fleet_pool(e.spec);
    return true;
  }
  bool operator()(const model::ClusterSet& e) {
    const ClusterId known = w_.fleet.find_cluster(e.spec.name);
    const bool joins = known.is_none() || !w_.fleet.cluster(known).joined;
    const ClusterId id = w_.fleet.set_cluster(e.spec);
    if (joins) {
      w_.fleet.cluster(id).health = model::Health::Ready;
      w_.fleet.cluster(id).health_since = at_;
    }
    w_.changes.everything = true;
    return true;
  }
  bool operator()(const model::ClusterLeft& e) {
    const ClusterId id = w_.fleet.find_cluster(e.cluster);
    if (id.is_none() || !w_.fleet.cluster(id).joined) return false;
    const std::vector<NodeId> nodes = w_.fleet.cluster(id).nodes;
    for (const NodeId node : nodes)
      w_.fleet.lose_node(id, w_.fleet.node(node).spec.name, w_.shapes);
    w_.fleet.cluster(id).joined = false;
    w_.fleet.cluster(id).kinds.clear();
    w_.fleet.cluster(id).are_kinds_known = false;
    w_.fleet.cluster(id).health = model::Health::Unreachable;  // its jobs wait or rerun after grace
    w_.fleet.cluster(id).health_since = at_;
    w_.changes.everything = true;
    return true;
  }

  // ---- what the planner decided
  bool operator()(const model::Placed& e) {
    const JobSlot slot = w_.find_job(e.job);
    if (slot.is_none() || w_.job(slot).state != JobState::Waiting ||
        e.attempt != w_.job(slot).attempt + 1) {
      return false;
    }
    const ClusterId cluster = w_.fleet.find_cluster(e.cluster);
    if (cluster.is_none() || !is_gang(slot, e.pods) || !are_devices_free(cluster, e.pods))
      return false;
    Job& job = w_.job(slot);
    score_estimate(w_.estimate_score, job, at_);
    const Shape& shape = w_.shapes[job.shape];
    Active active;
    active.cluster = cluster;
    active.placed_at = at_;
    active.pods.reserve(e.pods.size());
    for (const model::PodPlace& place : e.pods) {
      PodOn pod;
      pod.job = slot;
      pod.set = place.set;
      pod.pod = shape.sets[place.set].pod;
      pod.node = w_.fleet.node_for(cluster, place.node);
      pod.devices = place.devices;
      pod.each = place.each;
      active.pods.push_back(pod);
    }
    active.charges = w_.charges(shape, e.pods, policy_);
    // What its victims left it was out of everybody's reach: now it may be evicted for it.
    if (!job.reservation.is_none() && w_.reservation(job.reservation).preempting) free_quota(slot);
    drop_reservation(slot);
    const LineId line = w_.job(slot).line;
    // It went before the first of its line: what that one waits for is to be said anew.
    if (!line.is_none() && w_.first_of(line) != slot) w_.changes.again.push_back(line);
    stop_waiting(slot);
    w_.job(slot).attempt = e.attempt;
    w_.start(slot, std::move(active), at_, policy_);
    w_.changes.started.push_back(slot);
    move(slot, JobState::Starting);
    return true;
  }
  bool operator()(const model::Stopped& e) {
    const JobSlot slot = w_.find_job(e.job);
    if (!is_current(slot, e.attempt)) return false;
    Job& job = w_.job(slot);
    if (e.why == model::StopWhy::ClusterLost) {
      if (job.active->cancelled) return false;
      Active left = *job.active;
      left.beneficiary = JobSlot::none();  // nobody waits for what is left behind
      left.held = false;
      left.demise = {};  // however it ends now, nobody asks
      left.at_in_cluster = 0;
      back_to_queue(slot, Time{0});
      // The old pods may still run: they keep their nodes until the cluster says otherwise.
      for (const PodOn& pod : left.pods) w_.fleet.occupy(pod, w_.shapes);
      w_.add_orphan({slot, e.attempt, std::move(left)});
      return true;
    }
    if (job.active->stopping) return false;
    job.active->stop = e.why;
    if (!e.beneficiary.empty()) job.active->beneficiary = w_.find_job(e.beneficiary);
    w_.count_leaving(job.active->beneficiary, +1);
    stop(slot);
    return true;
  }
  bool operator()(const model::Reserved& e) {
    const JobSlot slot = w_.find_job(e.job);
    const ClusterId cluster = w_.fleet.find_cluster(e.cluster);
    if (slot.is_none() || cluster.is_none() || w_.job(slot).state != JobState::Waiting)
      return false;
    drop_reservation(slot);
    Reservation reservation{slot, cluster, e.start, e.preempting, {}, {}};
    std::set<NodeId> known;
    for (const auto& name : e.nodes) {
      const NodeId node = w_.fleet.node_for(cluster, name);
      const bool is_free = w_.fleet.node(node).reserved.is_none();
      if (is_free && known.insert(node).second) reservation.nodes.push_back(node);
    }
    reservation.charges = reserved_charges(slot, e);
    w_.add_reservation(reservation);
    return true;
  }
  bool operator()(const model::ReservationDropped& e) {
    const JobSlot slot = w_.find_job(e.job);
    if (slot.is_none() || w_.job(slot).reservation.is_none()) return false;
    drop_reservation(slot);
    if (!w_.job(slot).line.is_none()) w_.changes.again.push_back(w_.job(slot).line);
    return true;
  }
  bool operator()(const model::GivenUp& e) {
    const JobSlot slot = w_.find_job(e.job);
    if (slot.is_none() || w_.job(slot).active || model::is_final(w_.job(slot).state)) return false;
    finish(slot, JobState::Failed);
    return true;
  }

  // ---- what came of it
  bool operator()(const model::Started& e) {
    const JobSlot slot = w_.find_job(e.job);
    if (!is_current(slot, e.attempt) || w_.job(slot).state != JobState::Starting) return false;
    Job& job = w_.job(slot);
    job.ran = true;
    job.failed_in.clear();
    job.active->started_at = at_;
    job.active->checkpoint_at = at_;
    w_.attempt_changed(slot);
    if (job.run_limit.ms > 0) w_.run_limits.emplace(run_limit_end(job), slot);
    move(slot, JobState::Running);
    return true;
  }
  bool operator()(const model::Finished& e) {
    const JobSlot slot = w_.find_job(e.job);
    if (!is_current(slot, e.attempt)) return orphan_gone(slot, e.attempt);
    Job& job = w_.job(slot);
    const Active& active = *job.active;
    if (!active.started_at.is_never() && e.success)
      w_.learn_run_time(job, std::max(at_ - active.started_at, Duration{0}));
    if (job.state == JobState::Stopping && !e.success)
      return operator()(model::Gone{e.job, e.attempt});
    if (!e.success && !active.cancelled &&
        job.failures < static_cast<std::uint32_t>(w_.shapes[job.shape].gang.max_retries)) {
      ++job.failures;
      back_to_queue(slot, Time{0});
      return true;
    }
    free(slot);
    finish(slot, e.success ? JobState::Succeeded : JobState::Failed);
    return true;
  }
  bool operator()(const model::StartFailed& e) {
    const JobSlot slot = w_.find_job(e.job);
    if (!is_current(slot, e.attempt)) return orphan_gone(slot, e.attempt);
    Job& job = w_.job(slot);
    job.requeues = std::max(job.requeues, e.requeues);
    if (job.active->stopping) return operator()(model::Gone{e.job, e.attempt});
    if (job.active->started_at.is_never()) {
      std::erase(job.failed_in, job.active->cluster);
      job.failed_in.push_back(job.active->cluster);
    }
    back_to_queue(slot, e.not_before);
    return true;
  }
  bool operator()(const model::Ailing& e) {
    const JobSlot slot = w_.find_job(e.job);
    if (!is_current(slot, e.attempt)) return false;
    Active& active = *w_.job(slot).active;
    if (active.stopping || active.demise == e.demise) return false;
    active.demise = e.demise;
    return true;
  }
  bool operator()(const model::Gone& e) {
    const JobSlot slot = w_.find_job(e.job);
    if (!is_current(slot, e.attempt)) return orphan_gone(slot, e.attempt);
    const Active& active = *w_.job(slot).active;
    if (!active.stopping) return operator()(model::StartFailed{e.job, e.attempt, at_});
    if (active.cancelled || active.stop == model::StopWhy::RunLimit) {
      const JobState end = active.cancelled ? JobState::Cancelled : JobState::Failed;
      free(slot);
      finish(slot, end);
    } else {
      back_to_queue(slot, Time{0});
    }
    return true;
  }
  bool operator()(const model::PodsBound& e) {
    const JobSlot slot = w_.find_job(e.job);
    if (!is_current(slot, e.attempt) || !w_.bind(slot, e.pods, at_, policy_)) return false;
    // Whoever has one of these nodes reserved counted on room that is not there.
    for (const PodOn& pod : w_.job(slot).active->pods) {
      const ReservationId kept = w_.fleet.node(pod.node).reserved;
      if (kept.is_none() || w_.reservation(kept).preempting) continue;
      const JobSlot waiting = w_.reservation(kept).job;
      give_reservation_back(waiting);
      if (!w_.job(waiting).line.is_none()) w_.changes.again.push_back(w_.job(waiting).line);
    }
    return true;
  }
  bool operator()(const model::Checkpointed& e) {
    const JobSlot slot = w_.find_job(e.job);
    if (slot.is_none() || !w_.job(slot).active || w_.job(slot).active->checkpoint_at >= at_)
      return false;
    w_.job(slot).active->checkpoint_at = at_;
    w_.set_stake(w_.job(slot));
    return true;
  }
  bool operator()(const model::ClusterHealth& e) {
    const ClusterId id = w_.fleet.find_cluster(e.cluster);
    if (id.is_none() || w_.fleet.cluster(id).health == e.health) return false;
    w_.fleet.cluster(id).health = e.health;
    w_.fleet.cluster(id).health_since = at_;
    w_.changes.everything = true;
    return true;
  }

  // ---- sight
  bool operator()(const model::ClusterKinds& e) {
    const ClusterId id = w_.fleet.find_cluster(e.cluster);
    if (id.is_none()) return false;
    Cluster& cluster = w_.fleet.cluster(id);
    if (cluster.are_kinds_known == e.is_known && cluster.kinds == e.kinds) return false;
    cluster.kinds = e.kinds;
    cluster.are_kinds_known = e.is_known;
    w_.changes.everything = true;
    return true;
  }
  bool operator()(const model::NodeSeen& e) {
    const ClusterId id = w_.fleet.find_cluster(e.cluster);
    if (id.is_none()) return false;
    const Fleet::Totals before = w_.fleet.totals();
    const NodeId known = w_.fleet.find_node(id, e.node.name);
    const ProfileId profile = known.is_none() ? ProfileId::none() : w_.fleet.node(known).profile;
    w_.fleet.see_node(id, e.node, w_.shapes);
    // What was infeasible or over capacity may not be any more: look at everything again.
    const ProfileId now = w_.fleet.node(w_.fleet.find_node(id, e.node.name)).profile;
    if (profile != now || !(before == w_.fleet.totals())) w_.changes.everything = true;
    if (profile != now) w_.changes.node_types = true;
    return true;
  }
  bool operator()(const model::NodeGone& e) {
    const ClusterId id = w_.fleet.find_cluster(e.cluster);
    if (id.is_none()) return false;
    w_.fleet.lose_node(id, e.node, w_.shapes);
    w_.changes.everything = true;
    return true;
  }
  bool operator()(const model::ForeignPodSeen& e) {
    const ClusterId id = w_.fleet.find_cluster(e.cluster);
    if (id.is_none()) return false;
    if (w_.fleet.see_foreign(id, e.pod, w_.shapes)) w_.changes.released = true;
    return true;
  }
  bool operator()(const model::ForeignPodGone& e) {
    const ClusterId id = w_.fleet.find_cluster(e.cluster);
    if (id.is_none()) return false;
    w_.fleet.lose_foreign(id, e.uid, w_.shapes);
    w_.changes.released = true;
    return true;
  }

  bool operator()(const model::Ticked&) {
    while (!w_.eligible_at.empty() && w_.eligible_at.begin()->first <= at_) {
      const JobSlot slot = w_.eligible_at.begin()->second;
      w_.eligible_at.erase(w_.eligible_at.begin());
      w_.enqueue(slot);
    }
    return true;
  }
  bool operator()(const model::FinishedForgotten& e) {
    w_.forget_finished(std::min(e.until, at_ - Duration{1}));
    w_.forget_names(std::min(e.names_until, at_ - Duration{1}));
    return true;
  }

 private:
  /// The pods of the whole gang, or of as much of it as its minimum allows.
  bool is_gang(JobSlot slot, const std::vector<model::PodPlace>& places) const {
    const auto& sets = w_.shapes[w_.job(slot).shape].sets;
    std::vector<int> counts(sets.size(), 0);
    for (const model::PodPlace& place : places) {
      if (place.set >= sets.size()) return false;
      ++counts[place.set];
    }
    if (!policy_.rules.has(Rule::GangWhole)) return true;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      if (counts[i] < sets[i].least || counts[i] > sets[i].count) return false;
    }
    return true;
  }

  /// No device gets more than the whole of it from our own pods.
  bool are_devices_free(ClusterId cluster, const std::vector<model::PodPlace>& places) const {
    using Devices = std::array<int, gpus_per_node_max>;
    const auto take = [](Devices& taken, std::uint32_t devices, int each) {
      for (; devices != 0; devices &= devices - 1)
        taken[static_cast<std::size_t>(__builtin_ctz(devices))] += each;
    };
    std::map<std::string_view, Devices> by_node;
    for (const model::PodPlace& place : places) {
      if (place.devices == 0) continue;
      const auto [it, is_new] = by_node.try_emplace(place.node);
      const NodeId node = is_new ? w_.fleet.find_node(cluster, place.node) : NodeId::none();
      if (!node.is_none()) {
        for (const PodOn& on : w_.fleet.node(node).pods) take(it->second, on.devices, on.each);
      }
      take(it->second, place.devices, place.each);
    }
    return std::all_of(by_node.begin(), by_node.end(), [](const auto& node) {
      return *std::max_element(node.second.begin(), node.second.end()) <= 1000;
    });
  }

  /// What a job that waits for its victims will charge at least: nobody else may take it meanwhile.
  Charges reserved_charges(JobSlot slot, const model::Reserved& e) {
    Charges charges;
    for (const auto& [name, amount] : e.charges)
      charges.push_back({w_.quota.resource(name), amount});
    if (!charges.empty()) return charges;
    // Of an old journal: what is seen of nodes must not decide, so its GPUs are of no known type.
    const Shape& shape = w_.shapes[w_.job(slot).shape];
    std::vector<int> counts;
    for (const SetRec& set : shape.sets) counts.push_back(set.least);
    return w_.charges(shape, counts, std::vector<TypeId>(counts.size(), TypeId{0}), policy_);
  }

  std::vector<std::string> unmet(const std::vector<std::string>& ids) const {
    std::vector<std::string> left;
    for (const auto& id : ids) {
      const JobSlot other = w_.find_job(id);
      if (other.is_none() || w_.job(other).state != JobState::Succeeded) left.push_back(id);
    }
    return left;
  }

  bool is_current(JobSlot slot, std::uint32_t attempt) const {
    return !slot.is_none() && w_.job(slot).active && w_.job(slot).attempt == attempt;
  }

  /// Whoever sees no nodes, as in a journal that is folded, has nothing to estimate from.
  void give_estimate(JobSlot slot) {
    if (w_.fleet.profile_count() == 0) return;
    const Estimate first = estimate(w_, slot, policy_, at_);
    Job& job = w_.job(slot);
    job.first_low = first.low;
    job.first_expected = first.expected;
    job.first_high = first.high;
  }

  static Time run_limit_end(const Job& job) {
    return job.run_limit.ms > 0 && !job.active->started_at.is_never()
               ? job.active->started_at + job.run_limit
               : Time::never();
  }

  void move(JobSlot slot, JobState to) {
    Job& job = w_.job(slot);
    MUSTER_CHECK(job.state == to || model::is_legal(job.state, to), "{}: {} to {}", job.id,
                 model::to_text(job.state), model::to_text(to));
    job.state = to;
  }

  void wait(JobSlot slot) {
    Job& job = w_.job(slot);
    if (job.state != JobState::Waiting) return;
    if (job.eligible_at > at_ && policy_.rules.has(Rule::StartAfter)) {
      w_.eligible_at.emplace(job.eligible_at, slot);
    }
    if (!job.deadline.is_never() && !job.ran) w_.deadlines.emplace(job.deadline, slot);
    w_.enqueue(slot);
  }

  void stop_waiting(JobSlot slot) {
    Job& job = w_.job(slot);
    give_reservation_back(slot);
    w_.dequeue(slot);
    w_.eligible_at.erase({job.eligible_at, slot});
    w_.deadlines.erase({job.deadline, slot});
  }

  /// Not by a plan: the next one looks who can use the nodes and the quota.
  void give_reservation_back(JobSlot slot) {
    const Job& job = w_.job(slot);
    if (job.reservation.is_none()) return;
    w_.changes.released = true;
    free_quota(slot);
    drop_reservation(slot);
  }

  /// Who waits for quota of its queues is looked at again.
  void free_quota(JobSlot slot) {
    const Job& job = w_.job(slot);
    w_.changes.freed.push_back(job.queue);
    for (const QueueId extra : job.extra_queues) w_.changes.freed.push_back(extra);
  }

  void drop_reservation(JobSlot slot) {
    const ReservationId id = w_.job(slot).reservation;
    if (!id.is_none()) w_.drop_reservation(id);
  }

  void free(JobSlot slot) {
    Job& job = w_.job(slot);
    w_.run_limits.erase({run_limit_end(job), slot});
    w_.release(slot, at_, policy_);
    free_quota(slot);
  }

  /// Its pods are on their way out.
  void stop(JobSlot slot) {
    Job& job = w_.job(slot);
    if (!job.active->stopping) w_.count_running(slot, -1);
    w_.run_limits.erase({run_limit_end(job), slot});
    job.active->stopping = true;
    w_.attempt_changed(slot);
    move(slot, JobState::Stopping);
  }

  /// One that is stopped for good is not held any more; one that makes room for another is, after
  /// that.
  bool stop_to_hold(JobSlot slot) {
    Active& active = *w_.job(slot).active;
    const bool ends = active.stopping && active.stop == model::StopWhy::RunLimit;
    if (active.cancelled || ends || active.held) return false;
    active.held = true;
    stop(slot);
    return true;
  }

  /// Or on hold, if that was asked meanwhile.
  void back_to_queue(JobSlot slot, Time not_before) {
    const bool is_held = w_.job(slot).active->held;
    free(slot);
    Job& job = w_.job(slot);
    move(slot, is_held ? JobState::Held : JobState::Waiting);
    job.eligible_at = not_before;
    wait(slot);
  }

  void finish(JobSlot slot, JobState state) {
    stop_waiting(slot);
    move(slot, state);
    w_.doomed.erase(slot);
    w_.job(slot).finished = at_;
    w_.finished.emplace(at_, slot);
    for (const std::string& id : w_.job(slot).depends_on) wait_no_more(slot, id);
    const auto it = w_.dependents.find(w_.job(slot).id);
    if (it == w_.dependents.end()) return;
    for (const JobSlot other : it->second) {
      Job& job = w_.job(other);
      if (model::is_final(job.state)) continue;
      if (state == JobState::Succeeded) {
        std::erase(job.depends_on, w_.job(slot).id);
        w_.enqueue(other);
      } else {
        w_.doomed.insert(other);
      }
    }
    w_.dependents.erase(it);
  }

  void wait_no_more(JobSlot slot, const std::string& dependency) {
    const auto it = w_.dependents.find(dependency);
    if (it == w_.dependents.end()) return;
    std::erase(it->second, slot);
    if (it->second.empty()) w_.dependents.erase(it);
  }

  bool orphan_gone(JobSlot slot, std::uint32_t attempt) {
    auto& orphans = w_.orphans();
    const auto it = std::find_if(orphans.begin(), orphans.end(), [&](const Orphan& o) {
      return o.job == slot && o.attempt == attempt;
    });
    if (slot.is_none() || it == orphans.end()) return false;
    for (const PodOn& pod : it->active.pods) w_.fleet.vacate(pod, w_.shapes);
    orphans.erase(it);
    return true;
  }

  World& w_;
  const Policy& policy_;
  Time at_;
};

}  // namespace

bool apply(World& world, const model::Event& event, const Policy& policy) {
  ++world.version;
  if (!within_bounds(event)) return false;
  return std::visit(Applier(world, policy, event.at), event.body);
}

}  // namespace muster::sched
