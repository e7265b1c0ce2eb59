#include "sched/preempt.h"

#include <algorithm>
#include <map>

#include "sched/estimate.h"

namespace muster::sched {
namespace {

struct Suspect {
  JobSlot job;
  Standing standing;
  std::int64_t lost_gpu_ms = 0;
};

bool is_running(const Job& job) { return job.active && !job.active->stopping; }

/// Highest standing first: the order in which jobs fill a guarantee.
bool fills_before(const World& world, const Policy& policy, JobSlot a, JobSlot b) {
  const Job& x = world.job(a);
  const Job& y = world.job(b);
  const int px = priority_class(world, x, policy);
  const int py = priority_class(world, y, policy);
  if (px != py) return px > py;
  if (x.seq != y.seq) return x.seq < y.seq;
  return x.id < y.id;
}

/// Which of these jobs are inside the guarantee of `queue`.
std::vector<bool> fill_guarantee(const World& world, QueueId queue,
                                 const std::vector<const Charges*>& asks) {
  const QueueNode& node = world.quota[queue];
  std::vector<std::int64_t> left;
  for (const LimitRec& limit : node.limits) left.push_back(limit.guaranteed);
  std::vector<bool> inside;
  for (const Charges* charges : asks) {
    bool fits = false;
    bool over = false;
    for (const Charge& c : *charges) {
      if (c.resource.index() >= left.size() || node.limits[c.resource.index()].guaranteed == unset)
        continue;
      fits = true;
      over = over || c.amount > left[c.resource.index()];
    }
    inside.push_back(fits && !over);
    if (!inside.back()) continue;
    for (const Charge& c : *charges) {
      if (c.resource.index() < left.size() && node.limits[c.resource.index()].guaranteed != unset) {
        left[c.resource.index()] -= c.amount;
      }
    }
  }
  return inside;
}

std::int64_t gpu_milli_of(const Job& job) {
  std::int64_t milli = 0;
  for (const PodOn& pod : job.active->pods)
    milli += std::int64_t{pod.each} * __builtin_popcount(pod.devices);
  return milli;
}

std::int64_t lost_work(const Job& job, const Policy& policy, Time now) {
  const Active& a = *job.active;
  if (a.started_at.is_never()) return 0;
  const Time since = policy.rules.has(Rule::CheckpointCost)
                         ? std::max(a.started_at, a.checkpoint_at)
                         : a.started_at;
  // CPU-only jobs count as a thousandth of a GPU so that among them the youngest goes first.
  return (now - since).ms * std::max<std::int64_t>(gpu_milli_of(job), 1) / 1000;
}

class Search {
 public:
  Search(World& world, Placer& placer, const Policy& policy, const Venue& venue, JobSlot job,
         const Capacity& capacity, Time now)
      : world_(world),
        placer_(placer),
        policy_(policy),
        venue_(venue),
        slot_(job),
        capacity_(capacity),
        now_(now) {
    const Shape& shape = world.shapes[world.job(job).shape];
    for (const SetRec& set : shape.sets) counts_.push_back(set.least);
    charges_ = world.charges(shape, counts_, venue.types, policy);
  }
  const Charges& charges() const { return charges_; }

  /// Everyone who may go for this job, least lost work first.
  std::vector<Suspect> suspects(const Standing& mine, Time& protected_until) {
    std::vector<Suspect> list;
    std::map<JobSlot, bool> inside;
    standings(inside);
    for (std::size_t c = 0; c < world_.fleet.cluster_count(); ++c) {
      for (const JobSlot slot : world_.active_in(ClusterId{static_cast<std::uint32_t>(c)})) {
        const Job& job = world_.job(slot);
        const Shape& shape = world_.shapes[job.shape];
        if (!is_running(job)) continue;
        if (!shape.gang.preemptible && policy_.rules.has(Rule::PreemptibleOnly)) continue;
        const Standing theirs{inside[slot] && policy_.rules.has(Rule::ProtectGuaranteed),
                              priority_class(world_, job, policy_)};
        if (!(theirs < mine)) continue;
        if (theirs.inside == mine.inside && !policy_.rules.has(Rule::PreemptByPriority)) continue;
        if (theirs.inside != mine.inside && theirs.priority >= mine.priority &&
            !policy_.rules.has(Rule::Reclaim)) {
          continue;
        }
        const Time safe_until =
            (job.active->started_at.is_never() ? now_ : job.active->started_at) +
            shape.gang.min_runtime;
        if (shape.gang.min_runtime.ms > 0 && safe_until > now_ &&
            policy_.rules.has(Rule::MinRuntime)) {
          protected_until = std::min(protected_until, safe_until);
          continue;
        }
        list.push_back({slot, theirs, lost_work(job, policy_, now_)});
      }
    }
    std::sort(list.begin(), list.end(), [&](const Suspect& a, const Suspect& b) {
      if (a.standing.inside != b.standing.inside) return b.standing.inside;
      if (a.standing.priority != b.standing.priority)
        return a.standing.priority < b.standing.priority;
      if (a.lost_gpu_ms != b.lost_gpu_ms) return a.lost_gpu_ms < b.lost_gpu_ms;
      return world_.job(a.job).id < world_.job(b.job).id;
    });
    return list;
  }

  std::optional<Preemption> run(const std::vector<Suspect>& list, int limit) {
    const Job& job = world_.job(slot_);
    const Shape& shape = world_.shapes[job.shape];
    std::vector<const Suspect*> chosen;
    std::vector<NodeId> nodes;
    bool enough = fits(shape, nodes);
    for (const Suspect& s : list) {
      if (enough) break;
      if (static_cast<int>(chosen.size()) >= limit && policy_.rules.has(Rule::EvictionLimit)) break;
      if (!helps(s.job)) continue;
      remove(s.job);
      chosen.push_back(&s);
      enough = fits(shape, nodes);
    }
    if (enough && policy_.rules.has(Rule::MinimalVictims)) {
      // Whoever turns out not to be needed stays, the most costly first.
      for (std::size_t i = chosen.size(); i-- > 0;) {
        restore(chosen[i]->job);
        if (fits(shape, nodes)) {
          chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
          remove(chosen[i]->job);
        }
      }
      enough = fits(shape, nodes);
    }
    for (const Suspect* s : chosen) restore(s->job);
    if (!enough || chosen.empty()) return std::nullopt;
    Preemption p{venue_.cluster, {}, nodes, model::StopWhy::Priority, 0, counts_};
    for (const Suspect* s : chosen) {
      p.victims.push_back(s->job);
      p.lost_gpu_ms += s->lost_gpu_ms;
      if (s->standing.priority >= priority_class(world_, job, policy_))
        p.why = model::StopWhy::Reclaim;
    }
    return p;
  }

 private:
  /// Inside its guarantee or not, for every running job.
  void standings(std::map<JobSlot, bool>& inside) const {
    std::map<QueueId, std::vector<JobSlot>> groups;
    for (std::size_t c = 0; c < world_.fleet.cluster_count(); ++c) {
      for (const JobSlot slot : world_.active_in(ClusterId{static_cast<std::uint32_t>(c)})) {
        if (!is_running(world_.job(slot))) continue;
        const QueueId queue = world_.quota.guarantor(world_.job(slot).queue);
        if (!queue.is_none()) groups[queue].push_back(slot);
      }
    }
    const Job& mine = world_.job(slot_);
    const QueueId my_queue = world_.quota.guarantor(mine.queue);
    if (!my_queue.is_none()) groups[my_queue].push_back(slot_);
    for (auto& [queue, slots] : groups) {
      std::sort(slots.begin(), slots.end(),
                [&](JobSlot a, JobSlot b) { return fills_before(world_, policy_, a, b); });
      std::vector<const Charges*> asks;
      for (const JobSlot slot : slots)
        asks.push_back(slot == slot_ ? &charges_ : &world_.job(slot).active->charges);
      const std::vector<bool> flags = fill_guarantee(world_, queue, asks);
      for (std::size_t i = 0; i < slots.size(); ++i) inside[slots[i]] = flags[i];
    }
  }

  bool helps(JobSlot victim) const {
    const Job& job = world_.job(victim);
    if (job.active->cluster == venue_.cluster) return true;
    // Elsewhere it helps only with a quota that both charge.
    return over_quota().has_value();
  }

  std::optional<OverQuota> over_quota() const {
    const Job& job = world_.job(slot_);
    if (auto over = world_.quota.over(job.queue, charges_, capacity_, policy_.rules)) return over;
    for (const QueueId extra : job.extra_queues) {
      if (auto over = world_.quota.over(extra, charges_, capacity_, policy_.rules)) return over;
    }
    return std::nullopt;
  }

  bool fits(const Shape& shape, std::vector<NodeId>& nodes) {
    if (over_quota()) return false;
    const Asker asker{slot_, Time::never(), world_.job(slot_).reservation};
    if (!placer_.view(venue_, shape, counts_, asker).enough) return false;
    const auto pods = placer_.place(venue_, shape, counts_, asker);
    if (!pods) return false;
    nodes.clear();
    for (const PodOn& pod : *pods) nodes.push_back(pod.node);
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    placer_.take_back(*pods);
    return true;
  }

  void remove(JobSlot victim) {
    const Job& job = world_.job(victim);
    for (const PodOn& pod : job.active->pods) world_.fleet.vacate(pod, world_.shapes);
    charge(job, -1);
  }
  void restore(JobSlot victim) {
    const Job& job = world_.job(victim);
    for (const PodOn& pod : job.active->pods) world_.fleet.occupy(pod, world_.shapes);
    charge(job, +1);
  }
  void charge(const Job& job, int sign) {
    world_.quota.charge(job.queue, job.active->charges, sign, now_, Duration{0});
    for (const QueueId extra : job.extra_queues) {
      world_.quota.charge(extra, job.active->charges, sign, now_, Duration{0});
    }
  }

  World& world_;
  Placer& placer_;
  const Policy& policy_;
  const Venue& venue_;
  JobSlot slot_;
  const Capacity& capacity_;
  Time now_;
  Charges charges_;
  std::vector<int> counts_;
};

}  // namespace

int priority_class(const World& world, const Job& job, const Policy& policy) {
  if (!policy.rules.has(Rule::PriorityCap)) return job.priority;
  return std::min(job.priority, world.quota[job.queue].priority_cap);
}

Standing standing(const World& world, JobSlot slot, const Charges& charges, const Policy& policy) {
  const Job& mine = world.job(slot);
  Standing s{false, priority_class(world, mine, policy)};
  const QueueId queue = world.quota.guarantor(mine.queue);
  if (queue.is_none()) return s;
  std::vector<JobSlot> peers;
  for (std::size_t c = 0; c < world.fleet.cluster_count(); ++c) {
    for (const JobSlot other : world.active_in(ClusterId{static_cast<std::uint32_t>(c)})) {
      if (is_running(world.job(other)) && world.quota.guarantor(world.job(other).queue) == queue) {
        peers.push_back(other);
      }
    }
  }
  peers.push_back(slot);
  std::sort(peers.begin(), peers.end(),
            [&](JobSlot a, JobSlot b) { return fills_before(world, policy, a, b); });
  std::vector<const Charges*> asks;
  std::size_t me = 0;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (peers[i] == slot) me = i;
    asks.push_back(peers[i] == slot ? &charges : &world.job(peers[i]).active->charges);
  }
  s.inside = fill_guarantee(world, queue, asks)[me];
  return s;
}

VictimSearch find_victims(World& world, Placer& placer, const Policy& policy, const Venues& venues,
                          JobSlot slot, const Capacity& capacity, int limit, Time now) {
  VictimSearch result;
  for (const Venue& venue : venues.all) {
    Search search(world, placer, policy, venue, slot, capacity, now);
    const Standing mine = standing(world, slot, search.charges(), policy);
    const std::vector<Suspect> list = search.suspects(mine, result.protected_until);
    if (list.empty()) continue;
    auto found = search.run(list, limit);
    if (found && (!result.found || found->lost_gpu_ms < result.found->lost_gpu_ms))
      result.found = std::move(found);
  }
  return result;
}

}  // namespace muster::sched
