#include "sched/judge.h"

#include <algorithm>

#include "sched/estimate.h"
#include "sched/preempt.h"

namespace muster::sched {
namespace {

/// The reservation in the way: the first to start among the clusters the job could use.
Why would_delay(const World& world, const Venues& venues, const Asker& asker) {
  WouldDelay found{JobSlot::none(), Time::never()};
  for (const Reservation& r : world.reservations()) {
    if (r.job.is_none() || r.job == asker.job || r.start >= found.reserved_start) continue;
    for (const Venue& venue : venues.all) {
      if (venue.cluster == r.cluster) found = {r.job, r.start};
    }
  }
  return found;
}

std::int64_t room_when_empty(World& world, Agenda& agenda, const Policy& policy, const Venue& venue,
                             std::size_t set, int per_node) {
  std::int64_t room = 0;
  const PodShapeRec& pod = world.shapes.pod(venue.pods[set]);
  for (const ProfileId id : world.fleet.cluster(venue.cluster).profiles) {
    const Profile& profile = world.fleet.profile(id);
    if (profile.seen == 0) continue;
    if (pod.gpus > 0 && profile.type != venue.types[set]) continue;
    const Match& match = agenda.cache.match(world, policy, venue.pods[set], id);
    if (!match.allowed) continue;
    NodeClass empty;
    empty.cpu = profile.cpu;
    empty.memory = profile.memory;
    empty.pod_slots = profile.pod_slots;
    empty.extended = profile.extended;
    GpuState gpu;
    gpu.count = static_cast<std::uint8_t>(profile.gpus);
    gpu.whole = gpu.count;
    gpu.total = profile.gpus * 1000;
    std::fill_n(gpu.free.begin(), profile.gpus, std::uint16_t{1000});
    const int fits = pods_that_fit(pod, match.each, empty, gpu, policy.rules);
    room += std::int64_t{per_node > 0 ? std::min(fits, per_node) : fits} * profile.seen;
  }
  return room;
}

}  // namespace

Asker asker_of(const World& world, const Policy& policy, JobSlot slot, Time now) {
  const Job& job = world.job(slot);
  return {slot, now + expected_run_time(world, job, policy), job.reservation,
          priority_class(world, job, policy)};
}

std::optional<OverQuota> over_quota(const World& world, const Job& job, const Charges& charges,
                                    const Capacity& capacity, const Rules& rules) {
  // What is kept for it while its victims leave is charged already and must not count twice.
  const Charges none;
  const Charges& kept =
      job.reservation.is_none() ? none : world.reservation(job.reservation).charges;
  if (auto over = world.quota.over(job.queue, charges, capacity, rules, kept)) return over;
  if (!rules.has(Rule::ExtraTrees)) return std::nullopt;
  for (const QueueId extra : job.extra_queues) {
    if (auto over = world.quota.over(extra, charges, capacity, rules, kept)) return over;
  }
  return std::nullopt;
}

std::optional<Infeasible> infeasible(World& world, Agenda& agenda, const Policy& policy,
                                     ShapeId id) {
  const Shape& shape = world.shapes[id];
  const Venues& venues = agenda.venues(world, policy, id);
  if (venues.all.empty()) return std::nullopt;
  Infeasible none{shape.least_pods, 0, venues.all.front().cluster};
  for (const Venue& venue : venues.all) {
    int placeable = 0;
    for (std::size_t i = 0; i < shape.sets.size(); ++i) {
      const std::int64_t room =
          room_when_empty(world, agenda, policy, venue, i, shape.sets[i].pods_per_node);
      placeable += static_cast<int>(std::min<std::int64_t>(room, shape.sets[i].least));
    }
    if (placeable == shape.least_pods) return std::nullopt;
    if (placeable > none.best) none = {shape.least_pods, placeable, venue.cluster};
  }
  return none;
}

Judgement judge(World& world, Agenda& agenda, Placer& placer, const Policy& policy,
                const Asker& asker, const std::vector<int>& counts) {
  Judgement j;
  const Job& job = world.job(asker.job);
  const Shape& shape = world.shapes[job.shape];
  const Venues& venues = agenda.venues(world, policy, job.shape);
  if (venues.all.empty()) {
    j.why = NoCluster{venues.excluded, venues.unhealthy};
    return j;
  }
  std::optional<OverQuota> first_over;
  std::optional<OverQuota> over;
  NoRoom none{shape.pods, 0, venues.all.front().cluster};
  bool reserved_only = false;
  bool all_over = true;
  const std::vector<TypeId>* types = nullptr;
  for (const Venue& venue : venues.all) {
    if (types == nullptr || *types != venue.types) {
      over = over_quota(world, job, world.charges(shape, counts, venue.types, policy),
                        agenda.capacity, policy.rules);
      types = &venue.types;
    }
    if (over) {
      if (!first_over) first_over = over;
      continue;
    }
    all_over = false;
    Candidate c{&venue, placer.view(venue, shape, counts, asker), counts, {}};
    if (c.view.placeable > none.best) none = {shape.pods, c.view.placeable, venue.cluster};
    reserved_only = reserved_only || c.view.reserved_only;
    if (c.view.enough) j.candidates.push_back(std::move(c));
  }
  rank_clusters(world, policy, shape, j.candidates);
  // Room by count may still not be room by rule (spread, topology): then at least one pod does not
  // find a place.
  if (!j.candidates.empty()) none.best = std::min(none.best, shape.pods - 1);
  j.why = none;
  if (reserved_only) j.why = would_delay(world, venues, asker);
  if (all_over && first_over) j.why = *first_over;
  return j;
}

std::optional<Chosen> place_best(const World& world, Placer& placer, const Policy& policy,
                                 const Asker& asker, Judgement& judged) {
  const Shape& shape = world.shapes[world.job(asker.job).shape];
  auto& all = judged.candidates;
  for (std::size_t from = 0; from < all.size();) {
    std::size_t to = from;
    while (to < all.size() && all[to].venue->cluster == all[from].venue->cluster) {
      placer.price(*all[to].venue, shape, asker, all[to].view);
      ++to;
    }
    rank_inside_cluster(world, policy, {all.data() + from, to - from});
    for (std::size_t i = from; i < to; ++i) {
      const Candidate& c = all[i];
      auto pods = placer.place_one(*c.venue, shape, asker, c.view);
      if (!pods) pods = placer.place(*c.venue, shape, c.counts, asker);
      if (pods) return Chosen{i, std::move(*pods)};
    }
    from = to;
  }
  return std::nullopt;
}

}  // namespace muster::sched
