#include "sched/tryout.h"

#include <algorithm>
#include <utility>

#include "sched/estimate.h"
#include "sched/judge.h"

namespace muster::sched {
namespace {

/// Looking ahead in time stops when so many pods have been taken off their nodes.
constexpr std::size_t pods_ended_max = 16'384;

}  // namespace

Counts full_of(const Shape& shape) {
  Counts counts;
  for (const SetRec& set : shape.sets) counts.push_back(set.count);
  return counts;
}

Counts least_of(const Shape& shape) {
  Counts counts;
  for (const SetRec& set : shape.sets) counts.push_back(set.least);
  return counts;
}

int sum(const Counts& counts) {
  int total = 0;
  for (const int n : counts) total += n;
  return total;
}

Counts shrunk(Counts counts, const Counts& floor, int pods) {
  for (int n = 0; n < pods; ++n) {
    std::size_t largest = counts.size();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] > floor[i] && (largest == counts.size() || counts[i] > counts[largest]))
        largest = i;
    }
    if (largest == counts.size()) break;
    --counts[largest];
  }
  return counts;
}

Tryout::Tryout(World& world, Kit& kit, JobSlot slot, Time now)
    : world_(world),
      kit_(kit),
      policy_(kit.policy()),
      slot_(slot),
      now_(now),
      placer_(world, kit.cache(), policy_),
      shape_(world.shapes[world.job(slot).shape]),
      venues_(venues_of(world, policy_, shape_)),
      capacity_(world.capacity(policy_)),
      asker_(asker_of(world, policy_, slot, now)) {}

std::optional<OverQuota> Tryout::over(const Charges& charges) const {
  return over_quota(world_, job(), charges, capacity_, policy_.rules);
}

std::optional<std::vector<PodOn>> Tryout::place(const Venue& venue, const Counts& counts) {
  if (!placer_.view(venue, shape_, counts, asker_).enough) return std::nullopt;
  return placer_.place(venue, shape_, counts, asker_);
}

std::optional<Start> Tryout::start(const Venues& venues, const Counts& counts, const Asker& asker) {
  const std::vector<TypeId>* last_types = nullptr;
  bool allowed = false;
  for (const Venue& venue : venues.all) {
    if (last_types == nullptr || *last_types != venue.types)
      allowed = !over(charges(venue, counts));
    last_types = &venue.types;
    if (!allowed || !placer_.view(venue, shape_, counts, asker).enough) continue;
    auto pods = placer_.place(venue, shape_, counts, asker);
    if (!pods) continue;
    take_back(*pods);
    return Start{&venue, std::move(*pods)};
  }
  return std::nullopt;
}

std::vector<Candidate> Tryout::ranked(const Venues& venues, const Counts& counts) {
  std::vector<Candidate> list;
  for (const Venue& venue : venues.all) {
    if (over(charges(venue, counts))) continue;
    Candidate c{&venue, placer_.view(venue, shape_, counts, asker_), counts, {}};
    if (c.view.enough) list.push_back(std::move(c));
  }
  rank_clusters(world_, policy_, shape_, list);
  return list;
}

std::optional<Start> Tryout::best(const Venues& venues, const Counts& counts) {
  Judgement judged;
  judged.candidates = ranked(venues, counts);
  if (auto chosen = place_best(world_, placer_, policy_, asker_, judged)) {
    take_back(chosen->pods);
    return Start{judged.candidates[chosen->candidate].venue, std::move(chosen->pods)};
  }
  return std::nullopt;
}

int Tryout::fewest_less(const Counts& from, const Counts& floor, int low, int high) {
  if (low > high || !starts(shrunk(from, floor, high))) return -1;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (starts(shrunk(from, floor, middle))) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

std::optional<WhenJobEnds> Tryout::when_job_ends() {
  const std::vector<JobEnd> list = endings();
  const Asker patient{slot_, Time::never(), asker_.own, asker_.priority};
  const Counts counts = least_of(shape_);
  std::size_t worth_trying = 0;
  std::size_t pods = 0;
  while (worth_trying < list.size() && pods < pods_ended_max)
    pods += world_.job(list[worth_trying++].job).active->pods.size();
  Ended future(world_, list);
  ClusterId cluster;
  const auto starts_after = [&](std::size_t ended) {
    future.advance_to(ended);
    const auto found = start(venues_, counts, patient);
    if (found) cluster = found->venue->cluster;
    return found.has_value();
  };
  // Ends only add room and quota: the shortest sufficient prefix, by doubling, then by halving.
  std::size_t too_few = 0;
  std::size_t enough = std::min<std::size_t>(1, worth_trying);
  while (enough < worth_trying && !starts_after(enough)) {
    too_few = enough;
    enough = std::min(enough * 2, worth_trying);
  }
  if (worth_trying == 0 || !starts_after(enough)) return std::nullopt;
  while (enough - too_few > 1) {
    const std::size_t middle = too_few + (enough - too_few) / 2;
    (starts_after(middle) ? enough : too_few) = middle;
  }
  starts_after(enough);
  return WhenJobEnds{list[enough - 1].job, list[enough - 1].end, cluster};
}

/// Jobs whose end could help, soonest first: those in the venues' clusters, and all if quota is in
/// the way.
std::vector<JobEnd> Tryout::endings() {
  const Counts counts = least_of(shape_);
  bool allowed = true;
  for (const Venue& venue : venues_.all) allowed = allowed && !over(charges(venue, counts));
  std::vector<JobEnd> list;
  for (const ClusterId cluster : world_.fleet.by_name()) {
    if (allowed && !has_venue(venues_, cluster)) continue;
    for (const JobSlot other : world_.active_in(cluster))
      list.push_back({expected_end(world_, world_.job(other), policy_, now_), other});
  }
  std::sort(list.begin(), list.end(), [&](const JobEnd& a, const JobEnd& b) {
    if (a.end != b.end) return a.end < b.end;
    return world_.job(a.job).id < world_.job(b.job).id;
  });
  return list;
}

std::optional<Preemption> Tryout::victims() {
  if (!pool_) pool_.emplace(world_, policy_, now_);
  return pool_->search(placer_, venues_, slot_, capacity_, policy_.evictions_per_round).found;
}

Why Tryout::why_not() {
  Why why = judge(world_, kit_.agenda(), placer_, policy_, asker_, full_of(shape_)).why;
  const bool lacks_room =
      std::holds_alternative<NoRoom>(why) || std::holds_alternative<WouldDelay>(why);
  if (!lacks_room && !std::holds_alternative<OverQuota>(why)) return why;
  if (const auto found = victims())
    return Preempting{found->cluster, static_cast<int>(found->victims.size())};
  if (!lacks_room) return why;
  if (const auto never = infeasible(world_, kit_.agenda(), policy_, job().shape)) return *never;
  return why;
}

}  // namespace muster::sched
