#include "sched/preempt.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "sched/judge.h"
#include "sched/room_walk.h"

namespace muster::sched {
namespace {

bool is_running(const Job& job) { return job.active && !job.active->stopping; }

std::int64_t lost_work(const Job& job, std::int64_t gpu_milli, const Policy& policy, Time now) {
  const Active& a = *job.active;
  if (a.started_at.is_never()) return 0;
  const Time since = policy.rules.has(Rule::CheckpointCost)
                         ? std::max(a.started_at, a.checkpoint_at)
                         : a.started_at;
  // CPU-only jobs count as a thousandth of a GPU, so that among them the youngest goes first.
  return (now - since).ms * std::max<std::int64_t>(gpu_milli, 1) / 1000;
}

/// So that most ids are told apart without a look at the jobs.
std::array<std::uint64_t, 2> head_of(const std::string& id) {
  std::array<std::uint64_t, 2> head{};
  for (std::size_t i = 0; i < sizeof(head); ++i) {
    const auto byte = i < id.size() ? static_cast<unsigned char>(id[i]) : std::uint8_t{0};
    head[i / 8] = head[i / 8] << 8 | byte;
  }
  return head;
}

}  // namespace

int priority_class(const World& world, const Job& job, const Policy& policy) {
  if (!policy.rules.has(Rule::PriorityCap)) return job.priority;
  return std::min(job.priority, world.quota.cap(job.queue));
}

Claim claim_of(const World& world, JobSlot slot, const Policy& policy) {
  const Job& job = world.job(slot);
  return {slot, job.queue, priority_class(world, job, policy)};
}

VictimPool::VictimPool(World& world, const Policy& policy, Time now)
    : world_(world), policy_(policy), now_(now) {
  const Rules& rules = policy.rules;
  turns_seen_ = world.guarantees.turns();
  by_class_ = rules.has(Rule::PreemptibleOnly) && rules.has(Rule::PriorityCap);
  if (by_class_) return;  // read() takes those who may stand lower, as far as asked
  read_up_to_ = everybody;
  for (const ClusterId cluster : world.fleet.by_name()) {
    for (const JobSlot slot : world.active_in(cluster)) {
      const Job& job = world.job(slot);
      if (!is_running(job)) continue;
      const model::Gang& gang = world.shapes[job.shape].gang;
      if (gang.preemptible || !rules.has(Rule::PreemptibleOnly)) add_suspect(slot);
    }
  }
}

/// Starts and evictions of the plan move others into their guarantee, or out of it.
void VictimPool::read_standings() {
  turns_seen_ = world_.guarantees.turns();
  if (!policy_.rules.has(Rule::ProtectGuaranteed)) return;
  for (Suspect& s : suspects_) {
    const bool inside = world_.guarantees.is_inside(world_, s.job);
    in_order_ = in_order_ && s.standing.inside == inside;
    s.standing.inside = inside;
  }
  last_.reset();
}

void VictimPool::add_suspect(JobSlot slot) {
  if (taken_.contains(slot)) return;
  const Job& job = world_.job(slot);
  const model::Gang& gang = world_.shapes[job.shape].gang;
  Suspect s;
  s.job = slot;
  s.cluster = job.active->cluster;
  s.standing.priority = priority_class(world_, job, policy_);
  s.standing.inside =
      policy_.rules.has(Rule::ProtectGuaranteed) && world_.guarantees.is_inside(world_, slot);
  s.gpu_milli = job.active->gpu_milli;
  s.lost_gpu_ms = lost_work(job, s.gpu_milli, policy_, now_);
  if (gang.min_runtime.ms > 0 && policy_.rules.has(Rule::MinRuntime)) {
    const bool started = !job.active->started_at.is_never();
    s.safe_until = (started ? job.active->started_at : now_) + gang.min_runtime;
  }
  s.id_head = head_of(job.id);
  suspects_.push_back(s);
  in_order_ = false;
}

void VictimPool::read(int below) {
  if (below <= read_up_to_) return;
  for (const auto& [priority, jobs] : world_.running_by_class()) {
    if (priority < read_up_to_) continue;
    if (priority >= below) break;
    for (const JobSlot slot : jobs) add_suspect(slot);
  }
  read_up_to_ = below;
}

Standing VictimPool::standing_of(JobSlot slot, const Charges& charges) const {
  const Claim claim = claim_of(world_, slot, policy_);
  return {world_.guarantees.would_be_inside(world_, claim, charges), claim.priority};
}

void VictimPool::taken(JobSlot job) {
  last_.reset();
  taken_.insert(job);
  std::erase_if(suspects_, [&](const Suspect& s) { return s.job == job; });
}

/// The lowest first, among equals the least lost work first.
void VictimPool::put_in_order(std::vector<Suspect>& list) const {
  std::sort(list.begin(), list.end(), [&](const Suspect& a, const Suspect& b) {
    if (a.standing != b.standing) return a.standing < b.standing;
    if (a.lost_gpu_ms != b.lost_gpu_ms) return a.lost_gpu_ms < b.lost_gpu_ms;
    if (a.id_head != b.id_head) return a.id_head < b.id_head;
    return world_.job(a.job).id < world_.job(b.job).id;
  });
}

/// Everyone who stands lower and may go, in order.
std::vector<Suspect> VictimPool::below(const Standing& mine, QueueId guarantor,
                                       const std::vector<JobSlot>& pushed, Time& protected_until) {
  read(mine.inside ? everybody : mine.priority);
  if (!in_order_) put_in_order(suspects_);
  in_order_ = true;
  bool moved = false;
  std::vector<Suspect> list;
  const Rules& rules = policy_.rules;
  for (Suspect s : suspects_) {
    if (s.standing.inside && std::find(pushed.begin(), pushed.end(), s.job) != pushed.end()) {
      s.standing.inside = false;
      moved = true;
    }
    if (!(s.standing < mine)) continue;
    const bool by_priority = s.standing.priority < mine.priority;
    if (by_priority && !rules.has(Rule::PreemptByPriority)) continue;
    if (!by_priority && !rules.has(Rule::Reclaim)) continue;
    // What it borrows is lent by others: the next of its own queue takes nothing back by it.
    if (!by_priority && world_.quota.guarantor(world_.job(s.job).queue) == guarantor) continue;
    if (s.safe_until > now_) {
      protected_until = std::min(protected_until, s.safe_until);
      continue;
    }
    list.push_back(s);
  }
  if (moved) put_in_order(list);
  return list;
}

/// One gang in one venue: takes victims off the world, looks whether the gang fits, puts them back.
struct VictimPool::Ask {
  World& world;
  Placer& placer;
  const Policy& policy;
  const Venue& venue;
  const Capacity& capacity;
  JobSlot slot;
  std::vector<int> counts;
  const Charges& charges;
  bool inside = false;        // what it stands at
  bool quota_counts = false;  // else what others use is nothing to it
  std::int64_t& looks_left;
  std::size_t suspects_max;
  bool cut = false;  // there were more suspects than that
  std::vector<NodeId> nodes = {};

  Ask(VictimPool& pool, Placer& p, const Venue& v, const Charges& least, const Capacity& c,
      JobSlot job)
      : world(pool.world_),
        placer(p),
        policy(pool.policy_),
        venue(v),
        capacity(c),
        slot(job),
        charges(least),
        looks_left(pool.looks_left_),
        suspects_max(pool.suspects_max_) {
    const Job& mine = world.job(job);
    for (const SetRec& set : world.shapes[mine.shape].sets) counts.push_back(set.least);
    const auto limited = [&](QueueId queue) { return world.quota[queue].limited; };
    quota_counts = world.quota.any_guarantee() || limited(mine.queue) ||
                   std::any_of(mine.extra_queues.begin(), mine.extra_queues.end(), limited);
  }

  /// Quota kept for others would be in its way when its victims are gone.
  std::optional<OverQuota> over() const {
    if (auto over = over_quota(world, world.job(slot), charges, capacity, policy.rules))
      return over;
    return over_kept_quota(world, policy, asker(), charges);
  }

  /// The job, or one of its extra charges, counts in this queue.
  bool counts_in(JobSlot other, QueueId queue) const {
    const Job& job = world.job(other);
    const auto below = [&](QueueId id) {
      while (!id.is_none() && id != queue) id = world.quota[id].parent;
      return !id.is_none();
    };
    return below(job.queue) || std::any_of(job.extra_queues.begin(), job.extra_queues.end(), below);
  }

  Asker asker() const {
    const Job& job = world.job(slot);
    return {slot, Time::never(), job.reservation, priority_class(world, job, policy), inside};
  }

  bool fits() {
    if (over()) return false;
    const Shape& shape = world.shapes[world.job(slot).shape];
    looks_left -= shape.pods;
    const Asker asker = this->asker();
    if (!placer.view(venue, shape, counts, asker).enough) return false;
    const auto pods = placer.place(venue, shape, counts, asker);
    if (!pods) return false;
    nodes.clear();
    for (const PodOn& pod : *pods) nodes.push_back(pod.node);
    std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
      return world.fleet.node(a).rank < world.fleet.node(b).rank;  // ids follow arrival
    });
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    placer.take_back(*pods);
    return true;
  }

  /// Where one of its pods is a pod of the gang could go. Nobody else's leaving makes room, but for
  /// pods that look at others.
  bool makes_room(const Suspect& s, const Asker& mine) const {
    const std::vector<PodOn>& pods = world.job(s.job).active->pods;
    return std::any_of(pods.begin(), pods.end(), [&](const PodOn& on) {
      for (std::size_t set = 0; set < counts.size(); ++set) {
        if (RoomWalk::could_hold(placer, venue, set, mine, on.node)) return true;
      }
      return false;
    });
  }

  /// The suspects in this cluster whose leaving could help, in their order, up to the first above
  /// the cutoff; nothing if all their GPUs are not enough. Costs one look per pod of theirs at
  /// most.
  std::vector<const Suspect*> here(const Lower& lower, int cutoff) {
    const Shape& shape = world.shapes[world.job(slot).shape];
    const Asker mine = asker();
    const bool anybody = shape.relational || world.fleet.repelling_pods() > 0;
    std::int64_t idle = world.fleet.cluster(venue.cluster).idle_gpu_milli;
    std::vector<const Suspect*> found;
    for (const std::uint32_t at : lower.by_cluster[venue.cluster.index()]) {
      const Suspect& s = lower.list[at];
      if (!anybody && !makes_room(s, mine)) continue;
      cut = found.size() == suspects_max;
      if (cut) break;
      found.push_back(&s);
      if (s.standing.priority > cutoff) return found;
      idle += s.gpu_milli;
    }
    if (idle < shape.least_gpu_milli) found.clear();
    return found;
  }

  /// How many of them must go at least so that every set alone has room, or so many that one above
  /// the cutoff is among them. Nothing if not even all are enough. Leaves the world as it is.
  std::optional<std::size_t> needed_of(const std::vector<const Suspect*>& list, int cutoff) const {
    const Shape& shape = world.shapes[world.job(slot).shape];
    std::size_t needed = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      RoomWalk walk(placer, venue, i, shape.sets[i].pods_per_node, asker());
      std::size_t gone = 0;
      while (walk.room() < counts[i] && gone < list.size() && looks_left > 0) {
        const Suspect& s = *list[gone++];
        if (s.standing.priority > cutoff) return std::max(needed, gone);
        const std::vector<PodOn>& pods = world.job(s.job).active->pods;
        looks_left -= static_cast<std::int64_t>(pods.size());
        walk.release(pods);
      }
      if (walk.room() < counts[i]) return std::nullopt;
      needed = std::max(needed, gone);
    }
    return needed;
  }

  bool is_counted() const { return is_simple(world, world.shapes[world.job(slot).shape]); }

  void remove(JobSlot victim) {
    const Job& job = world.job(victim);
    for (const PodOn& pod : job.active->pods) world.fleet.vacate(pod, world.shapes);
    charge(job, -1);
  }
  void restore(JobSlot victim) {
    const Job& job = world.job(victim);
    for (const PodOn& pod : job.active->pods) world.fleet.occupy(pod, world.shapes);
    charge(job, +1);
  }
  void charge(const Job& job, int sign) {
    if (!quota_counts) return;
    world.quota.charge(job.queue, job.active->charges, sign, Time{0}, Duration{0});
    for (const QueueId extra : job.extra_queues) {
      world.quota.charge(extra, job.active->charges, sign, Time{0}, Duration{0});
    }
  }
};

/// Who has gone for the gang so far. Of a simple gang room is counted, without touching the nodes;
/// else they leave their nodes, and the gang is placed to see whether it fits.
struct VictimPool::Gone {
  Ask& ask;
  std::optional<RoomWalk> walk;
  std::vector<const Suspect*> chosen = {};

  Gone(Ask& a, bool by_count) : ask(a) {
    if (!by_count) return;
    const Shape& shape = ask.world.shapes[ask.world.job(ask.slot).shape];
    walk.emplace(ask.placer, ask.venue, 0, shape.sets[0].pods_per_node, ask.asker());
  }

  void remove(const Suspect& s) {
    if (!walk) return ask.remove(s.job);
    const Job& job = ask.world.job(s.job);
    ask.charge(job, -1);
    ask.looks_left -= static_cast<std::int64_t>(job.active->pods.size());
    if (s.cluster == ask.venue.cluster) walk->release(job.active->pods);
  }
  void restore(const Suspect& s) {
    if (!walk) return ask.restore(s.job);
    const Job& job = ask.world.job(s.job);
    ask.charge(job, +1);
    if (s.cluster == ask.venue.cluster) walk->take_back(job.active->pods);
  }
  bool fits() { return walk ? walk->room() >= ask.counts[0] && !ask.over() : ask.fits(); }

  bool may_go_on() const { return chosen.size() < ask.suspects_max && ask.looks_left > 0; }

  /// Removes in order until it fits. False if all of them are not enough. `here`: those of the list
  /// who can make room.
  bool take(const std::vector<Suspect>& list, const std::vector<const Suspect*>& here,
            std::size_t needed) {
    std::vector<bool> removed(list.size(), false);
    const auto take_one = [&](const Suspect& s) {
      remove(s);
      removed[static_cast<std::size_t>(&s - list.data())] = true;
      chosen.push_back(&s);
    };
    // First the quota: only jobs that count in the queue in the way help, wherever they run. Then
    // the room: only jobs in this cluster do.
    std::optional<OverQuota> over = ask.over();
    for (std::size_t i = 0; i < list.size() && over && may_go_on(); ++i) {
      if (!ask.counts_in(list[i].job, over->queue)) continue;
      take_one(list[i]);
      over = ask.over();
    }
    if (over) return false;
    // If nobody has gone yet it is known how many must before a look helps. Where a look is dear
    // more go before each next one: whoever went for nothing is spared.
    const std::size_t first_look = chosen.empty() ? needed : chosen.size();
    std::size_t next_look = std::max<std::size_t>(first_look, 1);
    bool enough = !chosen.empty() && fits();
    std::size_t looked_at = chosen.size();
    for (std::size_t i = 0; i < here.size() && !enough && may_go_on(); ++i) {
      if (removed[static_cast<std::size_t>(here[i] - list.data())]) continue;
      take_one(*here[i]);
      if (chosen.size() < next_look) continue;
      enough = fits();
      looked_at = chosen.size();
      next_look = looked_at + (walk ? 1 : looked_at - first_look + 1);
    }
    return enough || (chosen.size() > looked_at && fits());
  }

  /// Whoever turns out not to be needed stays, those of the highest standing first. Where a look is
  /// dear they are tried in blocks, which comes to the same: a block that is not needed is made of
  /// jobs that are not.
  void spare() {
    std::size_t block = 1;
    for (std::size_t end = chosen.size(); end > 0 && ask.looks_left > 0;) {
      block = std::min(block, end);
      const std::size_t first = end - block;
      for (std::size_t i = first; i < end; ++i) restore(*chosen[i]);
      if (fits()) {
        const auto at = [&](std::size_t i) {
          return chosen.begin() + static_cast<std::ptrdiff_t>(i);
        };
        chosen.erase(at(first), at(end));
        end = first;
        if (!walk) block *= 2;
        continue;
      }
      for (std::size_t i = first; i < end; ++i) remove(*chosen[i]);
      if (block == 1) end = first;
      block = std::max<std::size_t>(block / 2, 1);
    }
  }

  void restore_all() {
    for (const Suspect* s : chosen) restore(*s);
  }
};

/// In the end the gang is placed where the victims were, whether or not room was counted before.
std::optional<std::vector<const Suspect*>> VictimPool::fewest(
    Ask& ask, const std::vector<Suspect>& list, const std::vector<const Suspect*>& here,
    std::size_t needed, bool by_count) {
  Gone gone(ask, by_count);
  const bool enough = gone.take(list, here, needed);
  if (enough && policy_.rules.has(Rule::MinimalVictims)) gone.spare();
  gone.restore_all();
  if (!enough) return std::nullopt;
  if (gone.chosen.empty()) return std::vector<const Suspect*>{};
  for (const Suspect* s : gone.chosen) ask.remove(s->job);
  const bool fits = ask.fits();
  for (const Suspect* s : gone.chosen) ask.restore(s->job);
  if (!fits && by_count) return fewest(ask, list, here, needed, false);
  return fits ? std::optional(std::move(gone.chosen)) : std::nullopt;
}

std::optional<Preemption> VictimPool::choose(Ask& ask, const Lower& lower, int limit,
                                             VictimSearch& search) {
  if (lower.list.empty()) return std::nullopt;
  const std::vector<const Suspect*> here = ask.here(lower, everybody);
  const auto needed = ask.needed_of(here, everybody);
  search.cut = search.cut || ask.cut;
  if (needed || ask.cut || cut_short()) search.no_room = false;
  if (!needed) return std::nullopt;
  const auto chosen = fewest(ask, lower.list, here, *needed, ask.is_counted());
  if (!chosen || chosen->empty() || cut_short()) return std::nullopt;
  const bool limited = policy_.rules.has(Rule::EvictionLimit);
  if (limited && static_cast<int>(chosen->size()) > limit) {
    search.over_limit = true;
    return std::nullopt;
  }
  Preemption p{ask.venue.cluster, {}, ask.nodes, model::StopWhy::Priority, 0, ask.charges};
  const int mine = priority_class(world_, world_.job(ask.slot), policy_);
  for (const Suspect* s : *chosen) {
    p.victims.push_back(s->job);
    p.lost_gpu_ms += s->lost_gpu_ms;
    if (s->standing.priority >= mine) p.why = model::StopWhy::Reclaim;
  }
  return p;
}

void VictimPool::Lower::sort_by_cluster(std::size_t clusters) {
  by_cluster.resize(clusters);
  for (std::uint32_t at = 0; at < list.size(); ++at)
    by_cluster[list[at].cluster.index()].push_back(at);
}

void VictimPool::look_from(JobSlot slot, const Charges& charges, Time& protected_until) {
  if (turns_seen_ != world_.guarantees.turns()) read_standings();
  const Standing mine = standing_of(slot, charges);
  std::vector<JobSlot> pushed =
      world_.guarantees.pushed_by(world_, claim_of(world_, slot, policy_), charges);
  const QueueId guarantor = world_.quota.guarantor(world_.job(slot).queue);
  if (!last_ || last_->mine != mine || last_->guarantor != guarantor || last_->pushed != pushed) {
    std::vector<Suspect> list = below(mine, guarantor, pushed, protected_until);
    last_ = Lower{mine, guarantor, std::move(pushed), std::move(list), protected_until};
    last_->sort_by_cluster(world_.fleet.cluster_count());
  }
  protected_until = std::min(protected_until, last_->protected_until);
}

/// Of a lower class, on nodes the gang could use.
bool VictimPool::anybody_in(const Venue& venue, int priority) const {
  return std::any_of(venue.types.begin(), venue.types.end(), [&](TypeId type) {
    return type.v == 0 || world_.evictable_below(venue.cluster, type, priority).pods > 0;
  });
}

/// By score; among equals where the least is lost, then where the fewest go.
void VictimPool::choose_cluster(const Shape& shape, const Venues& venues,
                                std::vector<std::pair<std::size_t, Preemption>>& found,
                                VictimSearch& search) const {
  if (found.empty()) return;
  const std::vector<ClusterScore> known = score_venues(world_, policy_, shape, venues);
  std::int64_t least = found.front().second.lost_gpu_ms;
  for (const auto& [venue, p] : found) least = std::min(least, p.lost_gpu_ms);
  struct Row {
    std::int64_t lost = 0;
    std::size_t victims = 0;
    std::size_t at = 0;
    ClusterScore score;
  };
  std::vector<Row> rows;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Preemption& p = found[i].second;
    rows.push_back({p.lost_gpu_ms, p.victims.size(), i, known[found[i].first]});
    set_points(rows.back().score, Part::Damage, damage_points(rows.back().lost, least),
               policy_.cluster_weights);
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    if (a.score.total != b.score.total) return a.score.total > b.score.total;
    return std::tie(a.lost, a.victims, a.at) < std::tie(b.lost, b.victims, b.at);
  });
  search.found = std::move(found[rows.front().at].second);
  for (const Row& row : rows) {
    const auto same = [&](const ClusterScore& s) { return s.cluster == row.score.cluster; };
    if (std::none_of(search.table.begin(), search.table.end(), same))
      search.table.push_back(row.score);
  }
}

VictimSearch VictimPool::search(Placer& placer, const Venues& venues, JobSlot slot,
                                const Capacity& capacity, int limit) {
  VictimSearch result;
  result.no_room = world_.quota.guarantor(world_.job(slot).queue).is_none();
  const int mine = priority_class(world_, world_.job(slot), policy_);
  std::vector<std::pair<std::size_t, Preemption>> found;  // by position in venues
  for (const Venue& venue : venues.all) {
    Ask ask(*this, placer, venue, venues.least[venue.charges], capacity, slot);
    // For quota it does not matter where a victim runs, nor to pods that look at others; for room
    // it does.
    const int up_to = standing_of(slot, ask.charges).inside ? everybody : mine;
    const bool relations =
        world_.shapes[world_.job(slot).shape].relational || world_.fleet.repelling_pods() > 0;
    if (by_class_ && !relations && !anybody_in(venue, up_to) && !ask.over()) continue;
    look_from(slot, ask.charges, result.protected_until);
    ask.inside = last_->mine.inside && policy_.rules.has(Rule::ProtectGuaranteed);
    if (auto here = choose(ask, *last_, limit, result))
      found.emplace_back(static_cast<std::size_t>(&venue - venues.all.data()), std::move(*here));
  }
  choose_cluster(world_.shapes[world_.job(slot).shape], venues, found, result);
  // Who is protected now may go later: each line must look again then.
  result.no_room = result.no_room && result.protected_until.is_never();
  return result;
}

std::optional<int> VictimPool::highest_needed(Placer& placer, const Venues& venues,
                                              const Venue& venue, JobSlot slot,
                                              const Capacity& capacity, int cutoff) {
  Ask ask(*this, placer, venue, venues.least[venue.charges], capacity, slot);
  Time ignored = Time::never();
  look_from(slot, ask.charges, ignored);
  ask.inside = last_->mine.inside && policy_.rules.has(Rule::ProtectGuaranteed);
  const std::vector<const Suspect*> here = ask.here(*last_, cutoff);
  const auto needed = ask.needed_of(here, cutoff);
  if (!needed || last_->list.empty()) return std::nullopt;
  int highest = std::numeric_limits<int>::min();
  for (std::size_t i = 0; i < *needed; ++i) highest = std::max(highest, here[i]->standing.priority);
  return highest;
}

}  // namespace muster::sched
