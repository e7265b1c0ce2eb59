#include "sched/plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "sched/backfill.h"
#include "sched/counts.h"
#include "sched/estimate.h"
#include "sched/judge.h"
#include "sched/preempt.h"
#include "sched/trial.h"

namespace muster::sched {
namespace {

using model::Strategy;

class Planner {
 public:
  Planner(World& world, Agenda& agenda, const Policy& policy, Time now)
      : world_(world),
        agenda_(agenda),
        policy_(policy),
        now_(now),
        placer_(world, agenda.cache, policy),
        trial_(world),
        calendar_(world, policy, now) {}

  Plan run() {
    end_what_is_due();
    find_idle_reservations();
    evictions_left_ = policy_.evictions_per_round;
    do {
      for (LineId line = agenda_.next(world_); !line.is_none(); line = agenda_.next(world_)) {
        ++plan_.tried;
        consider(line);
      }
    } while (start_served() || drop_overdue());
    set_next_look();
    return std::move(plan_);
  }

 private:
  // -------------------------------------------------------------------------------- time passes

  void end_what_is_due() {
    if (policy_.rules.has(Rule::Deadline)) {
      for (const auto& [when, slot] : world_.deadlines) {
        if (when > now_) break;
        give_up(slot, model::FailWhy::DeadlinePassed);
      }
    }
    for (const JobSlot slot : world_.doomed) give_up(slot, model::FailWhy::DependencyFailed);
    if (policy_.rules.has(Rule::RunLimit)) {
      for (const auto& [when, slot] : world_.run_limits) {
        if (when > now_) break;
        stop(slot, model::StopWhy::RunLimit, "");
      }
    }
    for (const ClusterId id : world_.fleet.by_name()) {
      const Cluster& cluster = world_.fleet.cluster(id);
      if (cluster.health == model::Health::Draining && policy_.rules.has(Rule::Drain))
        leave_draining(id);
      if (cluster.health == model::Health::Unreachable &&
          now_ >= cluster.health_since + cluster.spec.grace) {
        rerun_lost(id);
      }
    }
  }

  /// And with it those that depend on it.
  void give_up(JobSlot slot, model::FailWhy why) {
    if (!given_up_.insert(slot).second) return;
    plan_.decisions.emplace_back(model::GivenUp{world_.job(slot).id, why});
    agenda_.retry(world_, world_.job(slot).line);
    const auto it = world_.dependents.find(world_.job(slot).id);
    if (it == world_.dependents.end()) return;
    for (const JobSlot other : it->second) {
      if (!model::is_final(world_.job(other).state)) {
        give_up(other, model::FailWhy::DependencyFailed);
      }
    }
  }

  void stop(JobSlot slot, model::StopWhy why, const std::string& beneficiary) {
    const Job& job = world_.job(slot);
    const bool lost = why == model::StopWhy::ClusterLost && !job.active->cancelled &&
                      job.active->stop != model::StopWhy::RunLimit;
    if ((job.active->stopping && !lost) || !stopped_.insert(slot).second) return;
    trial_.told_to_leave(slot);
    plan_.decisions.emplace_back(model::Stopped{job.id, job.attempt, why, beneficiary});
  }

  std::vector<JobSlot> by_id(std::vector<JobSlot> slots) const {
    std::sort(slots.begin(), slots.end(),
              [&](JobSlot a, JobSlot b) { return world_.job(a).id < world_.job(b).id; });
    return slots;
  }

  /// While a cluster is lost or drains this is asked with every event, and most of its jobs stay or
  /// have been told: so they are chosen by their stakes, without a look at any job.
  template <typename Chosen>
  void stop_all(ClusterId cluster, model::StopWhy why, Chosen is_chosen) {
    const std::vector<Stake>& stakes = world_.stakes_in(cluster);
    std::vector<JobSlot> chosen;
    for (std::size_t i = 0; i < stakes.size(); ++i) {
      if (is_chosen(stakes[i])) chosen.push_back(world_.active_in(cluster)[i]);
    }
    for (const JobSlot slot : by_id(std::move(chosen))) stop(slot, why, "");
  }

  void leave_draining(ClusterId cluster) {
    stop_all(cluster, model::StopWhy::Drain,
             [](const Stake& stake) { return stake.preemptible && !stake.stopping; });
  }

  void rerun_lost(ClusterId cluster) {
    stop_all(cluster, model::StopWhy::ClusterLost, [&](const Stake& stake) {
      return stake.reruns || !policy_.rules.has(Rule::RerunOnLoss);
    });
  }

  /// Reservations whose time has come without a start, or whose cluster takes no jobs any more, are
  /// made anew.
  void find_idle_reservations() {
    for (std::size_t i = 0; i < world_.reservations().size(); ++i) {
      const Reservation& r = world_.reservations()[i];
      if (r.job.is_none() || r.preempting || given_up_.contains(r.job)) continue;
      const model::Health health = world_.fleet.cluster(r.cluster).health;
      const bool useless = health != model::Health::Ready && health != model::Health::Degraded;
      const auto is_lost = [&](NodeId node) {
        return !world_.fleet.usable(world_.fleet.node(node));
      };
      const bool broken = !world_.fleet.all_reserved_usable() &&
                          std::any_of(r.nodes.begin(), r.nodes.end(), is_lost);
      if (useless || broken || r.start <= now_) overdue_.push_back(r.job);
    }
  }

  /// Jobs whose victims have left them their place while others came to stand before them: their
  /// own victim in the same line, a new first of their fifo queue. They start all the same: the
  /// place was made when it was their turn, and with anybody else in it they would evict again.
  bool start_served() {
    std::vector<JobSlot> served;
    for (const Reservation& r : world_.reservations()) {
      if (r.job.is_none() || !r.preempting || world_.leaving_for(r.job) > 0) continue;
      if (!evicting_.contains(r.job) && !given_up_.contains(r.job)) served.push_back(r.job);
    }
    considered_ = JobSlot::none();
    for (const JobSlot slot : by_id(served)) {
      const Job& job = world_.job(slot);
      if (job.reservation.is_none()) continue;  // another of them was given its nodes
      Why why;
      out_of_turn_.insert(slot);
      if (!world_.quota[job.queue].alive || !try_start(job.line, slot, why)) {
        out_of_turn_.erase(slot);
        drop_reservation(slot);
      }
      tell_rights();
    }
    return !served.empty();
  }

  /// Holders that were not looked at in this plan (their fifo queue waits for another job) would
  /// keep their nodes for ever.
  bool drop_overdue() {
    for (const JobSlot slot : std::exchange(overdue_, {})) {
      const ReservationId id = world_.job(slot).reservation;
      if (!id.is_none() && !world_.reservation(id).preempting &&
          world_.reservation(id).start <= now_) {
        drop_reservation(slot);
      }
    }
    const bool dropped = rights_changed_;
    tell_rights();
    return dropped;
  }

  void set_next_look() {
    const auto sooner = [&](Time t) {
      if (t > now_) plan_.next_look = std::min(plan_.next_look, t);
    };
    if (!world_.eligible_at.empty()) sooner(world_.eligible_at.begin()->first);
    if (!world_.deadlines.empty()) sooner(world_.deadlines.begin()->first);
    if (!world_.run_limits.empty()) sooner(world_.run_limits.begin()->first);
    for (const Reservation& r : world_.reservations()) {
      if (!r.job.is_none()) sooner(r.start);
    }
    for (const ClusterId id : world_.fleet.by_name()) {
      const Cluster& cluster = world_.fleet.cluster(id);
      if (cluster.health == model::Health::Unreachable)
        sooner(cluster.health_since + cluster.spec.grace);
    }
    const Time recheck = agenda_.next_recheck();
    sooner(recheck <= now_ ? now_ + seconds(1) : recheck);
  }

  // ---------------------------------------------------------------------------------- one line

  void consider(LineId id) {
    const JobSlot slot = agenda_.current(id);
    considered_ = slot;
    over_held_ = lent_ = false;  // of the line before
    const Line& line = world_.line(id);
    if (given_up_.contains(slot) || out_of_turn_.contains(slot) || behind_.contains(slot)) {
      agenda_.advance(world_, id);
      return;
    }
    const QueueNode& queue = world_.quota[line.queue];
    if (!queue.alive) {
      agenda_.park(world_, id, UnknownQueue{});
      return;
    }
    if (const auto it = evicting_.find(slot); it != evicting_.end()) {
      agenda_.park(world_, id, it->second);
      return;
    }
    if (const Why* known = agenda_.known_failure(world_, line.shape, slot)) {
      wait(id, slot, *known);
      return;
    }
    Why why;
    turn_ = agenda_.is_turn_inside(world_, id) ? Turn::Inside : Turn::Everybody;
    const bool starts = try_start(id, slot, why);
    turn_ = Turn::Everybody;
    if (starts) return;
    if (lent_) {
      agenda_.defer(world_, id);
    } else {
      wait(id, slot, why);
    }
  }

  /// The job does not start now: reserve, evict or just wait, by the strategy of its queue.
  void wait(LineId id, JobSlot slot, Why why) {
    const Line& line = world_.line(id);
    Time recheck = Time::never();
    const bool lacks_room =
        std::holds_alternative<NoRoom>(why) || std::holds_alternative<WouldDelay>(why);
    const bool over_quota = std::holds_alternative<OverQuota>(why);
    bool preempting = victims_leaving(slot);
    if (preempting) {
      why = Preempting{world_.reservation(world_.job(slot).reservation).cluster,
                       world_.leaving_for(slot)};
    } else if ((lacks_room || over_quota) && may_preempt(slot) && preempt(slot, why, recheck)) {
      preempting = true;  // `why` says so
    } else if (lacks_room && world_.quota[line.queue].strategy != Strategy::SkipAhead) {
      reserve(slot, why, recheck);
    } else if (!world_.job(slot).reservation.is_none()) {
      await_quota(slot, why, recheck);
    }
    if ((lacks_room || over_quota) && evictions_left_ <= 0 && !preempting) recheck = now_;
    // Equal jobs behind it may evict as well: a queue need not get its own back one by one.
    const bool fifo = world_.quota[line.queue].strategy == Strategy::Fifo;
    if (preempting && !fifo && agenda_.has_next(world_, id)) {
      if (!evicting_.contains(slot)) passed_.insert(slot);
      agenda_.advance(world_, id);
    } else {
      agenda_.park(world_, id, why, recheck);
      if (std::exchange(wants_nodes_, false)) agenda_.wants_nodes(id);
      if (over_held_) agenda_.watches_others(id);
    }
    tell_rights();
  }

  // ---------------------------------------------------------------------------------- start

  bool try_start(LineId id, JobSlot slot, Why& why) {
    const Job& job = world_.job(slot);
    const Shape& shape = world_.shapes[job.shape];
    const Asker asker = asker_of(world_, policy_, slot, now_);
    Counts full = full_of(shape);
    if (shape.elastic) keep_inside_guarantee(slot, shape, full);
    if (start_with(id, slot, full, asker, why)) return true;
    const std::vector<VenueRoom> rooms = std::move(rooms_);
    const bool over_somewhere = over_somewhere_;
    if (shape.elastic && policy_.rules.has(Rule::Elastic) && start_smaller(id, slot, asker)) {
      return true;
    }
    if (lent_) return false;
    if (std::holds_alternative<NoRoom>(why)) {
      if (const auto never = infeasible(world_, agenda_, policy_, job.shape)) why = *never;
    }
    // Not of its queue: with other quota a job of the shape may start where this one may not.
    const bool of_shape = !std::holds_alternative<OverQuota>(why) && !over_somewhere;
    if (of_shape && job.reservation.is_none()) agenda_.set_failed(world_, slot, why, rooms);
    return false;
  }

  /// An elastic gang that fits into its guarantee does not start beyond it: what it got as its own
  /// would be somebody else's to take back at once.
  void keep_inside_guarantee(JobSlot slot, const Shape& shape, std::vector<int>& counts) {
    const Claim claim = claim_of(world_, slot, policy_);
    const Venues& venues = agenda_.venues(world_, policy_, world_.job(slot).shape);
    if (venues.all.empty() || world_.quota.guarantor(claim.queue).is_none()) return;
    const Counts least = least_of(shape);
    const auto inside = [&](const std::vector<int>& n) {
      return world_.guarantees.would_be_inside(
          world_, claim, world_.charges(shape, n, venues.all.front().types, policy_));
    };
    if (!inside(least)) return;
    while (!inside(counts) && shrink(counts, least)) continue;
  }

  bool start_with(LineId id, JobSlot slot, const std::vector<int>& counts, const Asker& asker,
                  Why& why) {
    Judgement judged = judge(world_, agenda_, placer_, policy_, asker, counts, turn_);
    lent_ = lent_ || judged.lent;
    if (auto chosen = place_best(world_, placer_, policy_, asker, counts, judged)) {
      started(id, slot, judged.candidates[chosen->candidate], std::move(chosen->pods),
              judged.candidates);
      return true;
    }
    why = judged.why;
    rooms_ = std::move(judged.rooms);
    over_somewhere_ = judged.over_somewhere;
    over_held_ = judged.over_held;
    return false;
  }

  /// Fewer pods than asked, but as many as there is room and quota for.
  bool start_smaller(LineId id, JobSlot slot, const Asker& asker) {
    const Job& job = world_.job(slot);
    const Venues& venues = agenda_.venues(world_, policy_, job.shape);
    const Shape& shape = world_.shapes[job.shape];
    const Counts most = full_of(shape);
    const Counts least = least_of(shape);
    int best_pods = -1;
    std::vector<int> best;
    for (const Venue& venue : venues.all) {
      std::vector<int> counts = placer_.rooms(venue, shape, most, asker);
      bool possible = true;
      for (std::size_t i = 0; i < counts.size(); ++i) possible = possible && counts[i] >= least[i];
      if (!possible) continue;
      const auto over = [&] {
        const Charges charges = world_.charges(shape, counts, venue.types, policy_);
        return over_quota(world_, job, charges, agenda_.capacity, policy_.rules) ||
               over_kept_quota(world_, policy_, asker, charges);
      };
      while (over()) {
        if (!shrink(counts, least)) {
          possible = false;
          break;
        }
      }
      if (possible && sum(counts) > best_pods) {
        best_pods = sum(counts);
        best = counts;
      }
    }
    Why ignored;
    while (best_pods >= 0) {
      if (start_with(id, slot, best, asker, ignored)) return true;
      if (!shrink(best, least)) return false;
    }
    return false;
  }

  void started(LineId id, JobSlot slot, const Candidate& chosen, std::vector<PodOn> pods,
               const std::vector<Candidate>& candidates) {
    const Job& job = world_.job(slot);
    const Shape& shape = world_.shapes[job.shape];
    model::Placed placed{
        job.id, job.attempt + 1, world_.fleet.cluster(chosen.venue->cluster).spec.name, "", {}};
    if (!chosen.venue->pool.is_none()) placed.pool = world_.pool(chosen.venue->pool).spec.name;
    placed.pods.reserve(pods.size());
    for (std::uint32_t set = 0; set < shape.sets.size(); ++set) {
      for (const PodOn& pod : pods) {
        if (pod.set != set) continue;
        const model::NodeSpec& node = world_.fleet.node(pod.node).spec;
        placed.pods.push_back(
            {pod.set, node.name, pod.devices != 0 ? node.gpu_type : "", pod.devices, pod.each});
      }
    }
    PlacementScore score{job.id, {}};
    for (const Candidate& c : candidates) {
      const auto same = [&](const ClusterScore& row) { return row.cluster == c.score.cluster; };
      if (std::none_of(score.rows.begin(), score.rows.end(), same)) score.rows.push_back(c.score);
    }
    plan_.scores.push_back(std::move(score));
    if (!job.reservation.is_none()) unreserve(job.reservation);
    const Time end = now_ + expected_run_time(world_, job, policy_);
    for (const PodOn& pod : pods) {
      const ReservationId kept = world_.fleet.node(pod.node).reserved;
      if (!kept.is_none() && end > world_.reservation(kept).start) overrule(pod.node, slot);
    }
    const auto now_placed =
        trial_.placed(slot, std::move(pods), world_.charges(shape, placed.pods, policy_));
    calendar_.placed(chosen.venue->cluster, slot, now_placed.pods);
    plan_.decisions.emplace_back(std::move(placed));
    passed_.erase(slot);
    if (was_passed_in(id)) behind_.insert(slot);
    if (out_of_turn_.contains(slot)) {
      agenda_.started_out_of_turn(world_, job.queue);
    } else {
      agenda_.advance(world_, id);
    }
    tell_rights();
  }

  // ---------------------------------------------------------------------------------- reserve

  void drop_reservation(JobSlot slot) {
    const ReservationId id = world_.job(slot).reservation;
    if (id.is_none()) return;
    unreserve(id);
    if (given_up_.contains(slot)) return;  // it leaves the queue, and its reservation with it
    plan_.decisions.emplace_back(model::ReservationDropped{world_.job(slot).id});
    if (slot != considered_) lost_.push_back(slot);
  }

  void unreserve(ReservationId id) {
    const Reservation& r = world_.reservation(id);
    promise_ended_ = promise_ended_ || r.preempting;
    others_kept_away_ =
        others_kept_away_ || (r.preempting && world_.shapes[world_.job(r.job).shape].keeps_away);
    opened_.insert(opened_.end(), r.nodes.begin(), r.nodes.end());
    const Job& job = world_.job(r.job);
    freed_.push_back(job.queue);
    freed_.insert(freed_.end(), job.extra_queues.begin(), job.extra_queues.end());
    trial_.unreserve(id);
    rights_changed_ = true;
  }

  /// What reservations made and dropped mean to others, said once the line at hand is done with.
  void tell_rights() {
    if (!rights_changed_) return;
    rights_changed_ = false;
    agenda_.rights_changed(world_, evictions_left_ > 0, opened_, freed_);
    for (const JobSlot slot : lost_) agenda_.retry(world_, world_.job(slot).line);
    if (std::exchange(promise_ended_, false)) agenda_.looks_at_others_again();
    if (std::exchange(others_kept_away_, false)) agenda_.retry_all(world_);
    if (!opened_.empty()) no_nodes_.clear();
    go_back();
    opened_.clear();
    freed_.clear();
    lost_.clear();
  }

  /// To those whose victims are leaving, before others of their lines that came to be looked at
  /// behind them: what these gave back may be enough for the first of each.
  void go_back() {
    if (opened_.empty() && freed_.empty()) return;
    std::map<LineId, JobSlot> first;
    for (const JobSlot slot : passed_) {
      const auto [it, is_new] = first.try_emplace(world_.job(slot).line, slot);
      if (!is_new && comes_before(world_.job(slot), world_.job(it->second))) it->second = slot;
    }
    for (const auto& [line, slot] : first) agenda_.go_back(world_, slot);
  }

  bool was_passed_in(LineId id) const {
    return std::any_of(passed_.begin(), passed_.end(),
                       [&](JobSlot slot) { return world_.job(slot).line == id; });
  }

  /// The node was kept for a job of a lower class: that reservation is made anew in a later plan.
  void overrule(NodeId node, JobSlot by) {
    const ReservationId id = world_.fleet.node(node).reserved;
    if (!id.is_none() && world_.reservation(id).job != by) {
      drop_reservation(world_.reservation(id).job);
    }
  }

  /// One per queue and `reservation_depth` in the fleet; a job of a higher class takes the place of
  /// the lowest.
  bool may_reserve(JobSlot slot, JobSlot& displaced) const {
    const Job& job = world_.job(slot);
    int taken = 0;
    JobSlot lowest = JobSlot::none();
    for (const Reservation& r : world_.reservations()) {
      if (r.job.is_none() || r.preempting) continue;
      const Job& holder = world_.job(r.job);
      if (holder.queue == job.queue) {
        if (!comes_before(job, holder)) return false;
        displaced = r.job;
        return true;
      }
      ++taken;
      if (lowest.is_none() || lower_class(r.job, lowest)) lowest = r.job;
    }
    if (taken < policy_.reservation_depth) return true;
    if (lowest.is_none() || priority_class(world_, world_.job(lowest), policy_) >=
                                priority_class(world_, job, policy_)) {
      return false;
    }
    displaced = lowest;
    return true;
  }

  bool lower_class(JobSlot a, JobSlot b) const {
    const int x = priority_class(world_, world_.job(a), policy_);
    const int y = priority_class(world_, world_.job(b), policy_);
    if (x != y) return x < y;
    return world_.job(a).id > world_.job(b).id;
  }

  /// Its quota is the obstacle, not its nodes: they stay reserved until their time has come.
  void await_quota(JobSlot slot, Why& why, Time& recheck) {
    const Reservation& kept = world_.reservation(world_.job(slot).reservation);
    if (kept.preempting || kept.start <= now_) {
      drop_reservation(slot);
      return;
    }
    why = HasReservation{kept.cluster, kept.start};
    recheck = std::min(recheck, kept.start);
  }

  void reserve(JobSlot slot, Why& why, Time& recheck) {
    if (!policy_.rules.has(Rule::Reservation)) return;
    const Job& job = world_.job(slot);
    const bool overdue = std::find(overdue_.begin(), overdue_.end(), slot) != overdue_.end();
    if (!job.reservation.is_none() && !overdue && !world_.reservation(job.reservation).preempting) {
      const Reservation& kept = world_.reservation(job.reservation);
      why = HasReservation{kept.cluster, kept.start};
      recheck = std::min(recheck, kept.start);
      return;
    }
    drop_reservation(slot);
    std::erase(overdue_, slot);
    JobSlot displaced = JobSlot::none();
    if (!may_reserve(slot, displaced)) return;
    if (displaced.is_none() && no_nodes_.contains(job.shape)) {
      wants_nodes_ = true;
      return;
    }
    // Whoever has to give way does so only for a reservation that can be made.
    const ReservationId open =
        displaced.is_none() ? ReservationId::none() : world_.job(displaced).reservation;
    const Venues venues = with_quota(job, agenda_.venues(world_, policy_, job.shape));
    const auto fit =
        best_future_fit(world_, placer_, policy_, venues, world_.shapes[job.shape],
                        {slot, Time::never(), open, model::priority_min - 1}, calendar_, now_);
    if (!fit) {
      const std::size_t all = agenda_.venues(world_, policy_, job.shape).all.size();
      // What others start in this plan may open nodes to pods that look for them.
      const bool lasting = !world_.shapes[job.shape].relational;
      if (displaced.is_none() && venues.all.size() == all && lasting) no_nodes_.insert(job.shape);
      wants_nodes_ = true;
      return;
    }
    if (!displaced.is_none()) drop_reservation(displaced);
    add_reservation(
        {slot, fit->cluster, fit->start, false, fit->nodes, venues.least[fit->charges]});
    why = HasReservation{fit->cluster, fit->start};
    recheck = std::min(recheck, fit->start);
  }

  /// Those where quota is not the obstacle. What is held for others may be given to them in this
  /// plan.
  Venues with_quota(const Job& job, Venues venues) {
    std::erase_if(venues.all, [&](const Venue& venue) {
      const auto over =
          over_quota(world_, job, venues.least[venue.charges], agenda_.capacity, policy_.rules);
      over_held_ = over_held_ || (over && over->bound == QuotaBound::Held);
      return over.has_value();
    });
    return venues;
  }

  void add_reservation(const Reservation& reservation) {
    model::Reserved reserved{world_.job(reservation.job).id,
                             world_.fleet.cluster(reservation.cluster).spec.name,
                             reservation.start,
                             reservation.preempting,
                             {},
                             {}};
    for (const NodeId node : reservation.nodes)
      reserved.nodes.push_back(world_.fleet.node(node).spec.name);
    for (const Charge& charge : reservation.charges)
      reserved.charges[world_.quota.resource_name(charge.resource)] = charge.amount;
    plan_.decisions.emplace_back(std::move(reserved));
    trial_.reserve(reservation);
    rights_changed_ = true;
  }

  // ---------------------------------------------------------------------------------- preempt

  bool victims_leaving(JobSlot slot) const {
    const ReservationId id = world_.job(slot).reservation;
    return !id.is_none() && world_.reservation(id).preempting && world_.leaving_for(slot) > 0;
  }

  /// A cheap look before the search: is there anybody who could stand lower than this job?
  bool may_preempt(JobSlot slot) {
    if (evictions_left_ <= 0) return false;
    const Job& job = world_.job(slot);
    if (!job.reservation.is_none() && world_.reservation(job.reservation).preempting) return false;
    return agenda_.may_evict(world_, job.line);
  }

  bool preempt(JobSlot slot, Why& why, Time& recheck) {
    const Job& job = world_.job(slot);
    const Venues& venues = agenda_.venues(world_, policy_, job.shape);
    if (!pool_) {
      pool_.emplace(world_, policy_, now_);
      for (const JobSlot leaving : stopped_) pool_->taken(leaving);
    }
    // The first of a round may need more than a round has: else it would wait for ever.
    const bool first = evictions_left_ == policy_.evictions_per_round;
    const int limit = first ? std::numeric_limits<int>::max() : evictions_left_;
    VictimSearch search = pool_->search(placer_, venues, slot, agenda_.capacity, limit);
    recheck = std::min(recheck, search.protected_until);
    if (search.no_room) agenda_.set_no_victims(world_, slot);
    if (search.over_limit && !search.found) recheck = now_;  // it may be the first of a later round
    if (!search.found) return false;
    plan_.scores.push_back({job.id, std::move(search.table)});
    const Preemption& p = *search.found;
    for (const JobSlot victim : p.victims) {
      stop(victim, p.why, job.id);
      pool_->taken(victim);
      trial_.leaves(victim);
      calendar_.leaves(victim);
    }
    evictions_left_ -= static_cast<int>(p.victims.size());
    no_nodes_.clear();  // theirs will be free sooner
    drop_reservation(slot);
    for (const NodeId node : p.nodes) overrule(node, slot);
    add_reservation({slot, p.cluster, now_, true, p.nodes, p.charges});
    std::erase(overdue_, slot);
    const Preempting preempting{p.cluster, static_cast<int>(p.victims.size())};
    evicting_.insert_or_assign(slot, preempting);
    why = preempting;
    return true;
  }

  World& world_;
  Agenda& agenda_;
  const Policy& policy_;
  Time now_;
  Placer placer_;
  Trial trial_;
  Calendar calendar_;
  Plan plan_;
  int evictions_left_ = 0;
  JobSlot considered_;
  std::optional<VictimPool> pool_;  // made when first needed
  std::set<JobSlot> given_up_;
  std::set<JobSlot> stopped_;
  std::set<JobSlot> out_of_turn_;           // started before others of their line or fifo queue
  std::map<JobSlot, Preempting> evicting_;  // for whom others were stopped in this plan
  std::set<JobSlot> passed_;                // their victims are leaving: equals behind were tried
  std::set<JobSlot> behind_;                // those of them who started
  std::vector<JobSlot> overdue_;
  Turn turn_ = Turn::Everybody;   // of the line at hand
  bool lent_ = false;             // it has a place that it is not its turn to take
  std::vector<VenueRoom> rooms_;  // found by the last try in vain
  bool over_somewhere_ = false;   // its own quota kept it out of a venue
  bool over_held_ = false;        // because it is kept for others
  std::set<ShapeId> no_nodes_;    // found no nodes to reserve, not even in the future
  bool wants_nodes_ = false;      // the line at hand is one of those
  // To be told to the agenda:
  bool rights_changed_ = false;
  bool promise_ended_ = false;     // to a gang whose victims have left, kept or not
  bool others_kept_away_ = false;  // from its neighbourhood
  std::vector<NodeId> opened_;     // nodes of dropped reservations
  std::vector<QueueId> freed_;     // queues they held quota in
  std::vector<JobSlot> lost_;      // who lost one
};

}  // namespace

Plan plan(World& world, Agenda& agenda, const Policy& policy, Time now) {
  agenda.absorb(world, policy, now);
  Plan plan = Planner(world, agenda, policy, now).run();
  agenda.cache.keep_model();
  return plan;
}

Why verdict(const World& world, const Agenda& agenda, JobSlot slot, Time now) {
  const Job& job = world.job(slot);
  if (job.state == model::JobState::Held) return OnHold{};
  if (!job.depends_on.empty()) return WaitsFor{world.find_job(job.depends_on.front())};
  if (job.line.is_none()) return NotBefore{std::max(job.eligible_at, now)};
  if (!job.reservation.is_none()) {
    const Reservation& r = world.reservation(job.reservation);
    if (!r.preempting) return HasReservation{r.cluster, r.start};
    if (world.leaving_for(slot) > 0) return Preempting{r.cluster, world.leaving_for(slot)};
  }
  const LineState& state = agenda.state(job.line);
  const QueueNode& queue = world.quota[job.queue];
  if (!world.quota.is_in_main_tree(job.queue))
    return queue.alive ? Why{FurtherTree{job.queue}} : UnknownQueue{};
  const LineId first_line = world.lines_of(job.queue).begin()->line;
  if (queue.alive && queue.strategy == model::Strategy::Fifo && first_line != job.line) {
    return BehindFirst{world.first_of(first_line)};
  }
  // A reservation or a preemption belongs to one job of the line; the others wait behind it.
  const bool personal = std::holds_alternative<HasReservation>(state.why) ||
                        std::holds_alternative<Preempting>(state.why);
  return personal && state.current != slot ? Why{BehindFirst{state.current}} : state.why;
}

Why fresh_verdict(World& world, Agenda& agenda, const Policy& policy, JobSlot slot, Time now) {
  Why why = verdict(world, agenda, slot, now);
  const bool about_room =
      std::holds_alternative<NoRoom>(why) || std::holds_alternative<WouldDelay>(why) ||
      std::holds_alternative<OverQuota>(why) || std::holds_alternative<Infeasible>(why) ||
      (std::holds_alternative<HasReservation>(why) && world.job(slot).reservation.is_none());
  if (!about_room) return why;
  Placer placer(world, agenda.cache, policy);
  const Counts full = full_of(world.shapes[world.job(slot).shape]);
  Judgement judged = judge(world, agenda, placer, policy, asker_of(world, policy, slot, now), full);
  if (!judged.candidates.empty()) return why;
  if (std::holds_alternative<NoRoom>(judged.why)) {
    if (const auto never = infeasible(world, agenda, policy, world.job(slot).shape)) return *never;
  }
  return judged.why;
}

}  // namespace muster::sched
