#include "sched/preempt.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "sched/cheapest_nodes.h"
#include "sched/counts.h"
#include "sched/judge.h"
#include "sched/room_walk.h"

namespace muster::sched {
namespace {

std::int64_t lost_work(const Stake& stake, const Policy& policy, Time now) {
  if (stake.started_at.is_never()) return 0;
  const Time since = policy.rules.has(Rule::CheckpointCost)
                         ? std::max(stake.started_at, stake.checkpoint_at)
                         : stake.started_at;
  // CPU-only jobs count as a thousandth of a GPU, so that among them the youngest goes first.
  return (now - since).ms * std::max<std::int64_t>(stake.gpu_milli, 1) / 1000;
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

std::set<JobSlot> jobs_of(const std::vector<const Suspect*>& list) {
  std::set<JobSlot> jobs;
  for (const Suspect* s : list) jobs.insert(s->job);
  return jobs;
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
    : world_(world), policy_(policy), now_(now), rolls_(world.fleet.cluster_count()) {
  turns_seen_ = world.guarantees.turns();
  by_class_ = policy.rules.has(Rule::PreemptibleOnly) && policy.rules.has(Rule::PriorityCap);
}

/// Starts and evictions of the plan move others into their guarantee, or out of it.
void VictimPool::read_standings() {
  turns_seen_ = world_.guarantees.turns();
  if (!policy_.rules.has(Rule::ProtectGuaranteed)) return;
  for (Roll& roll : rolls_) {
    for (Suspect& s : roll.all) s.standing.inside = world_.guarantees.is_inside(world_, s.job);
  }
  last_.reset();
}

/// Those of a lower class than this, whom others may evict.
void VictimPool::read(ClusterId cluster, int below) {
  Roll& roll = rolls_[cluster.index()];
  if (!by_class_) below = everybody;
  if (below <= roll.read_up_to) return;
  const Rules& rules = policy_.rules;
  const bool guarantees = rules.has(Rule::ProtectGuaranteed) && world_.quota.any_guarantee();
  const std::vector<JobSlot>& jobs = world_.active_in(cluster);
  const std::vector<Stake>& stakes = world_.stakes_in(cluster);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Stake& stake = stakes[i];
    if (stake.stopping || (!stake.preemptible && rules.has(Rule::PreemptibleOnly))) continue;
    const int priority =
        by_class_ ? stake.priority : priority_class(world_, world_.job(jobs[i]), policy_);
    if (priority < roll.read_up_to || priority >= below || taken_.contains(jobs[i])) continue;
    Suspect& s = roll.all.emplace_back();
    s.job = jobs[i];
    s.cluster = cluster;
    s.standing.priority = priority;
    s.standing.inside = guarantees && world_.guarantees.is_inside(world_, jobs[i]);
    s.gpu_milli = stake.gpu_milli;
    s.lost_gpu_ms = lost_work(stake, policy_, now_);
    if (stake.min_runtime.ms > 0 && rules.has(Rule::MinRuntime))
      s.safe_until = (stake.started_at.is_never() ? now_ : stake.started_at) + stake.min_runtime;
    s.types = by_class_ ? stake.types : ~std::uint64_t{0};
  }
  roll.read_up_to = below;
  roll.heads_known = false;
}

Standing VictimPool::standing_of(JobSlot slot, const Charges& charges) const {
  const Claim claim = claim_of(world_, slot, policy_);
  return {world_.guarantees.would_be_inside(world_, claim, charges), claim.priority};
}

void VictimPool::taken(JobSlot job) {
  last_.reset();
  taken_.insert(job);
  if (!world_.job(job).active) return;
  std::erase_if(rolls_[world_.job(job).active->cluster.index()].all,
                [&](const Suspect& s) { return s.job == job; });
}

/// The lowest first, among equals the least lost work first.
bool VictimPool::comes_first(const Suspect& a, const Suspect& b) const {
  if (a.standing != b.standing) return a.standing < b.standing;
  if (a.lost_gpu_ms != b.lost_gpu_ms) return a.lost_gpu_ms < b.lost_gpu_ms;
  if (a.id_head != b.id_head) return a.id_head < b.id_head;
  return world_.job(a.job).id < world_.job(b.job).id;
}

void VictimPool::put_in_order(Peers& peers, ClusterId cluster) {
  if (peers.in_order) return;
  peers.in_order = true;
  const auto read_heads = [&](auto& list) {
    for (Suspect& s : list) s.id_head = head_of(world_.job(s.job).id);
  };
  Roll& roll = rolls_[cluster.index()];
  if (!roll.heads_known) {
    read_heads(roll.all);
    read_heads(last_->clusters[cluster.index()].pushed);
  }
  roll.heads_known = true;
  std::sort(peers.list.begin(), peers.list.end(),
            [&](const Suspect* a, const Suspect* b) { return comes_first(*a, *b); });
}

/// Everyone in the cluster who stands lower and may go.
VictimPool::Below& VictimPool::below(ClusterId cluster) {
  Below& found = last_->clusters[cluster.index()];
  if (std::exchange(found.known, true)) return found;
  const Standing& mine = last_->mine;
  const Rules& rules = policy_.rules;
  read(cluster, mine.inside ? everybody : mine.priority);
  for (const Suspect& in_roll : rolls_[cluster.index()].all) {
    const Suspect* s = &in_roll;
    const std::vector<JobSlot>& pushed = last_->pushed;
    if (s->standing.inside && std::find(pushed.begin(), pushed.end(), s->job) != pushed.end()) {
      found.pushed.push_back(*s);
      found.pushed.back().standing.inside = false;
      s = &found.pushed.back();
    }
    if (!(s->standing < mine)) continue;
    const bool by_priority = s->standing.priority < mine.priority;
    if (by_priority && !rules.has(Rule::PreemptByPriority)) continue;
    if (!by_priority && !rules.has(Rule::Reclaim)) continue;
    // What it borrows is lent by others: the next of the same guarantee takes nothing back by it.
    if (!by_priority && world_.quota.is_below(world_.job(s->job).queue, last_->guarantor)) continue;
    if (s->safe_until > now_) {
      found.protected_until = std::min(found.protected_until, s->safe_until);
      continue;
    }
    found.peers[s->standing].list.push_back(s);
  }
  return found;
}

VictimPool::Victims VictimPool::in_order(ClusterId cluster) {
  Victims list;
  for (auto& [standing, peers] : below(cluster).peers) {
    put_in_order(peers, cluster);
    list.insert(list.end(), peers.list.begin(), peers.list.end());
  }
  return list;
}

/// Of all clusters, in order: for quota it does not matter where a victim runs.
const VictimPool::Victims& VictimPool::everywhere() {
  if (last_->everywhere) return *last_->everywhere;
  Victims& all = last_->everywhere.emplace();
  for (const ClusterId cluster : world_.fleet.by_name()) {
    const Victims here = in_order(cluster);
    all.insert(all.end(), here.begin(), here.end());
  }
  std::sort(all.begin(), all.end(),
            [&](const Suspect* a, const Suspect* b) { return comes_first(*a, *b); });
  return all;
}

VictimPool::Damage VictimPool::damage_of(const Victims& victims) {
  Damage damage;
  damage.victims = victims.size();
  for (const Suspect* s : victims) {
    damage.highest = std::max(damage.highest, s->standing);
    damage.lost_gpu_ms += s->lost_gpu_ms;
  }
  return damage;
}

/// One gang in one venue: takes victims off the world, looks whether the gang fits, puts them back.
struct VictimPool::Ask {
  World& world;
  Placer& placer;
  const Policy& policy;
  const Venue& venue;
  const Capacity& capacity;
  JobSlot slot;
  Counts counts;
  const Charges& charges;
  bool inside = false;        // what it stands at
  bool quota_counts = false;  // else what others use is nothing to it
  std::int64_t& looks_left;
  std::size_t suspects_max;
  bool cut = false;         // there were more suspects than that
  std::uint64_t types = 0;  // of GPUs that its nodes may have, a bit for each
  std::vector<NodeId> nodes = {};

  Ask(VictimPool& pool, Placer& p, const Venue& v, const Charges& least, const Capacity& c,
      JobSlot job)
      : world(pool.world_),
        placer(p),
        policy(pool.policy_),
        venue(v),
        capacity(c),
        slot(job),
        counts(least_of(world.shapes[world.job(job).shape])),
        charges(least),
        looks_left(pool.looks_left_),
        suspects_max(pool.suspects_max_) {
    const Job& mine = world.job(job);
    for (const TypeId type : venue.types) types |= type.v == 0 ? ~std::uint64_t{0} : type_bit(type);
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
    const auto below = [&](QueueId id) { return world.quota.is_below(id, queue); };
    return below(job.queue) || std::any_of(job.extra_queues.begin(), job.extra_queues.end(), below);
  }

  Asker asker() const {
    const Job& job = world.job(slot);
    return {slot, Time::never(), job.reservation, priority_class(world, job, policy), inside};
  }

  bool fits() {
    if (over()) return false;
    looks_left -= shape().pods;
    const Asker asker = this->asker();
    if (!placer.view(venue, shape(), counts, asker).enough) return false;
    const auto pods = placer.place(venue, shape(), counts, asker);
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

  bool fits_without(const Victims& victims) {
    for (const Suspect* s : victims) remove(s->job);
    const bool fits = this->fits();
    for (const Suspect* s : victims) restore(s->job);
    return fits;
  }

  /// Those of the list who would leave the cheapest nodes to the largest pods; behind them, if
  /// there are other pods, the rest.
  Victims by_node(const Victims& list) const {
    const Shape& shape = world.shapes[world.job(slot).shape];
    Victims order;
    if (needs_one_domain(policy, shape)) {
      for (const auto& [value, there] : by_domain(list, shape.gang.topology->key)) {
        Victims here = cheapest(there, Placer::Domain{shape.gang.topology->key, value});
        const bool better = order.empty() || damage_of(here) < damage_of(order);
        if (!here.empty() && better) order = std::move(here);
      }
    } else {
      order = cheapest(list, std::nullopt);
    }
    if (order.empty() || counts.size() == 1) return order;
    const std::set<JobSlot> first = jobs_of(order);
    for (const Suspect* s : list) {
      if (!first.contains(s->job)) order.push_back(s);
    }
    return order;
  }

  Victims cheapest(const Victims& list, std::optional<Placer::Domain> domain) const {
    std::size_t largest = 0;
    for (std::size_t i = 1; i < counts.size(); ++i) {
      if (gpus_of(i) > gpus_of(largest)) largest = i;
    }
    int wanted = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (gpus_of(i) == gpus_of(largest)) wanted += counts[i];
    }
    const int per_node = world.shapes[world.job(slot).shape].sets[largest].pods_per_node;
    return cheapest_by_node(world,
                            RoomWalk(placer, venue, largest, per_node, asker(), std::move(domain)),
                            world.shapes.pod(venue.pods[largest]), list, wanted);
  }

  /// Those with pods in each of the first domains.
  std::map<std::string, Victims> by_domain(const Victims& list, const std::string& key) const {
    constexpr std::size_t domains_max = 64;
    std::map<std::string, Victims> found;
    for (const Suspect* s : list) {
      for (const PodOn& on : world.job(s->job).active->pods) {
        const Node& node = world.fleet.node(on.node);
        if (node.profile.is_none()) continue;
        const model::Labels& labels = world.fleet.profile(node.profile).labels;
        const auto value = labels.find(key);
        if (value == labels.end()) continue;
        Victims& there = found[value->second];
        if (there.empty() || there.back() != s) there.push_back(s);
      }
    }
    while (found.size() > domains_max) found.erase(std::prev(found.end()));
    return found;
  }
  int gpus_of(std::size_t set) const { return world.shapes.pod(venue.pods[set]).gpus; }

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

  /// Of whole GPUs: how much of one a share takes depends on where it is.
  std::int64_t least_gpu_milli() const {
    std::int64_t milli = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const PodShapeRec& pod = world.shapes.pod(venue.pods[i]);
      if (!pod.spec.gpu.is_share()) milli += std::int64_t{pod.gpus} * counts[i] * 1000;
    }
    return milli;
  }
  bool looks_at_others() const { return shape().relational || world.fleet.repelling_pods() > 0; }

  /// Its leaving could help. Costs one look per pod of it at most.
  bool helps(const Suspect& s, const Asker& mine) const {
    if (looks_at_others()) return true;
    return (s.types & types) != 0 && makes_room(s, mine);
  }

  /// Those of the cluster's suspects whose leaving could help; nothing if all their GPUs are not
  /// enough.
  Victims here(const Victims& list) {
    const Asker mine = asker();
    std::int64_t idle = world.fleet.cluster(venue.cluster).idle_gpu_milli;
    Victims found;
    for (const Suspect* s : list) {
      if (!helps(*s, mine)) continue;
      cut = found.size() == suspects_max;
      if (cut) break;
      found.push_back(s);
      idle += s->gpu_milli;
    }
    if (idle < least_gpu_milli()) found.clear();
    return found;
  }

  /// How many of them must go at least so that every set alone has room. Nothing if not even all
  /// are enough. Leaves the world as it is.
  std::optional<std::size_t> needed_of(const Victims& list) const {
    std::size_t needed = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      RoomWalk walk(placer, venue, i, shape().sets[i].pods_per_node, asker());
      std::size_t gone = 0;
      while (walk.room() < counts[i] && gone < list.size() && looks_left > 0)
        release(walk, *list[gone++]);
      if (walk.room() < counts[i]) return std::nullopt;
      needed = std::max(needed, gone);
    }
    return needed;
  }
  void release(RoomWalk& walk, const Suspect& s) const {
    const std::vector<PodOn>& pods = world.job(s.job).active->pods;
    looks_left -= static_cast<std::int64_t>(pods.size());
    walk.release(pods);
  }

  bool is_counted() const { return is_simple(world, shape()); }
  const Shape& shape() const { return world.shapes[world.job(slot).shape]; }

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
    world.quota.charge_for_now(job.queue, job.active->charges, sign);
    for (const QueueId extra : job.extra_queues) {
      world.quota.charge_for_now(extra, job.active->charges, sign);
    }
  }
};

/// Who has gone for the gang so far. Of a simple gang room is counted, without touching the nodes;
/// else they leave their nodes, and the gang is placed to see whether it fits.
struct VictimPool::Gone {
  Ask& ask;
  std::optional<RoomWalk> walk;
  Victims chosen = {};

  Gone(Ask& a, bool by_count) : ask(a) {
    if (!by_count) return;
    const Shape& shape = ask.world.shapes[ask.world.job(ask.slot).shape];
    walk.emplace(ask.placer, ask.venue, 0, shape.sets[0].pods_per_node, ask.asker());
  }

  void take_one(const Suspect& s) {
    remove(s);
    chosen.push_back(&s);
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

  /// Removes in order until it fits. False if that is not enough. `all`: for the sake of quota;
  /// `here`: for room.
  bool take(const Victims& all, const Victims& here, std::size_t needed) {
    // First the quota: only jobs that count in the queue in the way help, wherever they run. Then
    // the room: only jobs in this cluster do.
    std::optional<OverQuota> over = ask.over();
    for (std::size_t i = 0; i < all.size() && over && may_go_on(); ++i) {
      if (!ask.counts_in(all[i]->job, over->queue)) continue;
      take_one(*all[i]);
      over = ask.over();
    }
    if (over) return false;
    // If nobody has gone yet it is known how many must before a look helps. Where a look is dear
    // more go before each next one: whoever went for nothing is spared.
    const std::size_t first_look = chosen.empty() ? needed : chosen.size();
    std::size_t next_look = std::max<std::size_t>(first_look, 1);
    bool enough = !chosen.empty() && fits();
    std::size_t looked_at = chosen.size();
    const std::set<JobSlot> gone = jobs_of(chosen);
    for (std::size_t i = 0; i < here.size() && !enough && may_go_on(); ++i) {
      if (gone.contains(here[i]->job)) continue;
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

/// Those of `here` who go, in their order, as far as it is known without placing the gang.
std::optional<VictimPool::Victims> VictimPool::propose(Ask& ask, const Victims& all,
                                                       const Victims& here, std::size_t needed,
                                                       bool by_count) const {
  Gone gone(ask, by_count);
  const bool enough = gone.take(all, here, needed);
  if (enough && policy_.rules.has(Rule::MinimalVictims)) gone.spare();
  gone.restore_all();
  return enough ? std::optional(std::move(gone.chosen)) : std::nullopt;
}

/// The lowest first is the set whose highest stands lowest, but each of them was the cheapest
/// alone. A set that is cheaper as a whole has nobody who stands higher, or who costs more than all
/// of it.
std::optional<VictimPool::Victims> VictimPool::cheaper(Ask& ask, const Victims& all,
                                                       const Victims& here, const Victims& known,
                                                       bool by_count) const {
  const bool wanted = policy_.rules.has(Rule::CheapestVictims) && known.size() > 1;
  if (!wanted || ask.looks_left <= 0) return std::nullopt;
  const Damage most = damage_of(known);
  Victims able;
  for (const Suspect* s : here) {
    if (s->standing <= most.highest && s->lost_gpu_ms <= most.lost_gpu_ms) able.push_back(s);
  }
  const Victims order = ask.by_node(able);
  if (order.empty()) return std::nullopt;
  auto other = propose(ask, all, order, 1, by_count);
  if (!other || !(damage_of(*other) < most) || !ask.fits_without(*other)) return std::nullopt;
  return other;
}

/// In the end the gang is placed where the victims were, whether or not room was counted before.
std::optional<VictimPool::Victims> VictimPool::fewest(Ask& ask, const Victims& all,
                                                      const Victims& here, std::size_t needed,
                                                      bool by_count) const {
  auto lowest = propose(ask, all, here, needed, by_count);
  if (!lowest || lowest->empty()) return lowest;
  if (auto other = cheaper(ask, all, here, *lowest, by_count)) return other;
  if (ask.fits_without(*lowest)) return lowest;
  return by_count ? fewest(ask, all, here, needed, false) : std::nullopt;
}

std::optional<Preemption> VictimPool::choose(Ask& ask, int limit, VictimSearch& search) {
  static const Victims nobody;
  const Victims& all = ask.over() ? everywhere() : nobody;
  const Victims here = ask.here(in_order(ask.venue.cluster));
  for (const ClusterId cluster : world_.fleet.by_name()) {
    if (all.empty() && cluster != ask.venue.cluster) continue;
    search.protected_until = std::min(search.protected_until, below(cluster).protected_until);
  }
  const auto needed = ask.needed_of(here);
  search.cut = search.cut || ask.cut;
  if (needed || ask.cut || cut_short()) search.no_room = false;
  if (!needed) return std::nullopt;
  const auto chosen = fewest(ask, all, here, *needed, ask.is_counted());
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

void VictimPool::look_from(Ask& ask) {
  if (turns_seen_ != world_.guarantees.turns()) read_standings();
  const Claim claim = claim_of(world_, ask.slot, policy_);
  const QueueId guarantor = world_.guarantees.inside_of(world_, claim, ask.charges);
  const Standing mine{!guarantor.is_none(), claim.priority};
  std::vector<JobSlot> pushed = world_.guarantees.pushed_by(world_, claim, ask.charges);
  if (!last_ || last_->mine != mine || last_->guarantor != guarantor || last_->pushed != pushed)
    last_ = Lower{mine, guarantor, std::move(pushed), std::vector<Below>(rolls_.size())};
  ask.inside = mine.inside && policy_.rules.has(Rule::ProtectGuaranteed);
}

/// A bound by GPUs alone: with everybody of a lower class gone from nodes that the gang could use.
bool VictimPool::may_have_room(const Ask& ask, int below) const {
  if (!by_class_ || ask.looks_at_others()) return true;
  const PerSet<TypeId>& types = ask.venue.types;
  std::int64_t milli = world_.fleet.cluster(ask.venue.cluster).idle_gpu_milli;
  bool anybody = false;
  for (auto type = types.begin(); type != types.end(); ++type) {
    if (std::find(types.begin(), type, *type) != type) continue;
    const Evictable held = world_.evictable_below(ask.venue.cluster, *type, below);
    anybody = anybody || type->v == 0 || held.pods > 0;
    milli += held.gpu_milli;
  }
  return anybody && milli >= ask.least_gpu_milli();
}

/// Where no start of it failed, then by score; among equals where the least is lost, then where the
/// fewest go.
void VictimPool::choose_cluster(const Job& job, const Venues& venues,
                                std::vector<std::pair<std::size_t, Preemption>>& found,
                                VictimSearch& search) const {
  if (found.empty()) return;
  const std::vector<ClusterScore> known =
      score_venues(world_, policy_, world_.shapes[job.shape], venues);
  std::int64_t least = found.front().second.lost_gpu_ms;
  for (const auto& [venue, p] : found) least = std::min(least, p.lost_gpu_ms);
  struct Row {
    std::ptrdiff_t turn = 0;
    std::int64_t lost = 0;
    std::size_t victims = 0;
    std::size_t at = 0;
    ClusterScore score;
  };
  std::vector<Row> rows;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Preemption& p = found[i].second;
    const std::ptrdiff_t turn = turn_of(job, p.cluster);
    rows.push_back({turn, p.lost_gpu_ms, p.victims.size(), i, known[found[i].first]});
    rows.back().score.failed_before = turn > 0;
    set_points(rows.back().score, Part::Damage, damage_points(rows.back().lost, least),
               policy_.cluster_weights);
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.turn, b.score.total, a.lost, a.victims, a.at) <
           std::tie(b.turn, a.score.total, b.lost, b.victims, b.at);
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
  result.no_room = true;
  const int mine = priority_class(world_, world_.job(slot), policy_);
  std::vector<std::pair<std::size_t, Preemption>> found;       // by position in venues
  std::vector<std::optional<bool>> over(venues.least.size());  // by charges
  for (const Venue& venue : venues.all) {
    Ask ask(*this, placer, venue, venues.least[venue.charges], capacity, slot);
    // For quota it does not matter where a victim runs, nor to pods that look at others; for room
    // it does.
    const bool inside = standing_of(slot, ask.charges).inside;
    const int up_to = inside ? everybody : mine;
    if (inside) result.no_room = false;  // that others of its class are not says nothing
    if (!may_have_room(ask, up_to)) {
      std::optional<bool>& is_over = over[venue.charges];
      if (!is_over) is_over = ask.over().has_value();
      if (!*is_over) continue;
    }
    look_from(ask);
    if (auto here = choose(ask, limit, result))
      found.emplace_back(static_cast<std::size_t>(&venue - venues.all.data()), std::move(*here));
  }
  choose_cluster(world_.job(slot), venues, found, result);
  // Who is protected now may go later: each line must look again then.
  result.no_room = result.no_room && result.protected_until.is_never();
  return result;
}

std::optional<int> VictimPool::highest_needed(Placer& placer, const Venues& venues,
                                              const Venue& venue, JobSlot slot,
                                              const Capacity& capacity, int cutoff) {
  Ask ask(*this, placer, venue, venues.least[venue.charges], capacity, slot);
  look_from(ask);
  int highest = std::numeric_limits<int>::min();
  for (std::size_t set = 0; set < ask.counts.size(); ++set) {
    const auto of_set = highest_needed(ask, set, cutoff);
    if (!of_set) return std::nullopt;
    highest = std::max(highest, *of_set);
  }
  return highest;
}

/// All of a standing go before anybody who stands higher, so their order does not matter.
std::optional<int> VictimPool::highest_needed(Ask& ask, std::size_t set, int cutoff) {
  const Asker mine = ask.asker();
  RoomWalk walk(ask.placer, ask.venue, set, ask.shape().sets[set].pods_per_node, mine);
  int highest = std::numeric_limits<int>::min();
  if (walk.room() >= ask.counts[set]) return highest;
  const int up_to = last_->mine.inside ? everybody : last_->mine.priority;
  if (!may_have_room(ask, up_to)) return std::nullopt;
  for (const auto& [standing, peers] : below(ask.venue.cluster).peers) {
    for (const Suspect* s : peers.list) {
      if (!ask.helps(*s, mine)) continue;
      highest = std::max(highest, standing.priority);
      if (standing.priority > cutoff) return highest;
      ask.release(walk, *s);
      if (walk.room() >= ask.counts[set]) return highest;
      if (looks_left_ <= 0) return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace muster::sched
