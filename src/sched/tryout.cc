#include "sched/tryout.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "sched/judge.h"

namespace muster::sched {

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

std::optional<OverQuota> Tryout::over(const Charges& charges, const Asker& asker) const {
  if (auto over = over_quota(world_, job(), charges, capacity_, policy_.rules)) return over;
  return over_kept_quota(world_, policy_, inside_guarantee(world_, policy_, asker, charges),
                         charges);
}

Asker Tryout::asker_at(const Venue& venue, const Counts& counts, const Asker& asker) {
  if (world_.quota.guarantor(job().queue).is_none()) return asker;
  return inside_guarantee(world_, policy_, asker, charges(venue, counts));
}

std::optional<std::vector<PodOn>> Tryout::place(const Venue& venue, const Counts& counts) {
  const Asker here = asker_at(venue, counts, asker_);
  if (!placer_.view(venue, shape_, counts, here).enough) return std::nullopt;
  return placer_.place(venue, shape_, counts, here);
}

std::optional<Start> Tryout::start(const Venues& venues, const Counts& counts, const Asker& asker) {
  const PerSet<TypeId>* last_types = nullptr;
  bool allowed = false;
  Asker here = asker;
  for (const Venue& venue : venues.all) {
    if (last_types == nullptr || *last_types != venue.types) {
      allowed = !over(charges(venue, counts), asker);
      here = asker_at(venue, counts, asker);
    }
    last_types = &venue.types;
    if (!allowed || !placer_.view(venue, shape_, counts, here).enough) continue;
    auto pods = placer_.place(venue, shape_, counts, here);
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
    const Asker here = asker_at(venue, counts, asker_);
    Candidate c{&venue, placer_.view(venue, shape_, counts, here), {}, here.inside};
    if (c.view.enough) list.push_back(std::move(c));
  }
  rank_clusters(world_, policy_, shape_, counts, list);
  return list;
}

std::optional<Start> Tryout::best(const Venues& venues, const Counts& counts) {
  Judgement judged;
  judged.candidates = ranked(venues, counts);
  if (auto chosen = place_best(world_, placer_, policy_, asker_, counts, judged)) {
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
  if (infeasible(world_, kit_.agenda(), policy_, job().shape)) return std::nullopt;
  Calendar calendar(world_, policy_, now_);
  const Asker patient{slot_, Time::never(), asker_.own, asker_.priority};
  const Counts counts = least_of(shape_);
  std::optional<WhenJobEnds> best;
  std::vector<PerSet<TypeId>> done;
  for (const Venue& venue : venues_.all) {
    if (std::find(done.begin(), done.end(), venue.types) != done.end()) continue;
    done.push_back(venue.types);
    const auto quota = when_allowed(charges(venue, counts), calendar);
    if (!quota || (best && quota->time >= best->time)) continue;
    Venues same = venues_;  // those that charge the same
    same.all.clear();
    for (const Venue& other : venues_.all) {
      if (other.types == venue.types) same.all.push_back(other);
    }
    std::optional<WhenJobEnds> room =
        when_room(same, patient, calendar, best ? best->time : Time::never());
    if (!room) continue;
    if (quota->time > room->time) room = WhenJobEnds{quota->job, quota->time, room->cluster};
    if (!room->job.is_none() && (!best || room->time < best->time)) best = room;
  }
  return best;
}

bool Tryout::is_hopeless(const Why& why, const std::optional<WhenJobEnds>& ends) const {
  const auto& kept = world_.reservations();
  const auto* over = std::get_if<OverQuota>(&why);
  const bool of_limits = over != nullptr && over->bound != QuotaBound::Kept;
  return (of_limits || std::holds_alternative<NoRoom>(why)) && !ends &&
         std::all_of(kept.begin(), kept.end(),
                     [&](const Reservation& r) { return r.job.is_none() || r.job == slot_; });
}

/// When these venues have room, if before the limit; with no job if they have it now.
std::optional<WhenJobEnds> Tryout::when_room(const Venues& venues, const Asker& patient,
                                             Calendar& calendar, Time limit) {
  const Counts counts = least_of(shape_);
  for (const Venue& venue : venues.all) {
    if (!placer_.view(venue, shape_, counts, patient).enough) continue;
    const auto pods = placer_.place(venue, shape_, counts, patient);
    if (!pods) continue;
    take_back(*pods);
    return WhenJobEnds{JobSlot::none(), now_, venue.cluster};
  }
  const auto fit = earliest_fit(world_, placer_, venues, shape_, patient, calendar, limit);
  if (!fit) return std::nullopt;
  // Of those that end at that time one that leaves a node it will use.
  JobSlot last;
  Departures& list = calendar.of(fit->cluster);
  for (std::size_t i = 0; i < list.size() && list.at(world_, i).end <= fit->start; ++i) {
    const Departure& d = list.at(world_, i);
    if (d.end != fit->start) continue;
    const auto& pods = list.pods(world_, i);
    const bool leaves = std::any_of(pods.begin(), pods.end(), [&](const PodOn& pod) {
      return std::find(fit->nodes.begin(), fit->nodes.end(), pod.node) != fit->nodes.end();
    });
    if (leaves || last.is_none()) last = d.job;
  }
  return WhenJobEnds{last, fit->start, fit->cluster};
}

namespace {

/// In the order of their ends.
template <typename IsWanted>
std::vector<Departure> departures_of(const World& world, Calendar& calendar,
                                     const IsWanted& is_wanted) {
  std::vector<Departure> all;
  for (const ClusterId cluster : world.fleet.by_name()) {
    for (const Departure& d : calendar.of(cluster).unordered()) {
      if (is_wanted(d.job)) all.push_back(d);
    }
  }
  std::sort(all.begin(), all.end(), [&](const Departure& a, const Departure& b) {
    if (a.end != b.end) return a.end < b.end;
    return world.job(a.job).id < world.job(b.job).id;
  });
  return all;
}

}  // namespace

/// When quota allows these charges, if jobs that charge the same queues end; with no job if it does
/// now.
std::optional<WhenJobEnds> Tryout::when_allowed(const Charges& charges, Calendar& calendar) {
  WhenJobEnds when{JobSlot::none(), now_, ClusterId::none()};
  if (!over(charges)) return when;
  const auto top = [&](QueueId queue) {  // just below the hidden root of its tree
    while (!world_.quota[queue].parent.is_none() &&
           !world_.quota[world_.quota[queue].parent].parent.is_none())
      queue = world_.quota[queue].parent;
    return queue;
  };
  std::set<QueueId> mine = {top(job().queue)};
  for (const QueueId extra : job().extra_queues) mine.insert(top(extra));
  const auto shares_quota = [&](JobSlot slot) {
    const Job& other = world_.job(slot);
    return mine.contains(top(other.queue)) ||
           std::any_of(other.extra_queues.begin(), other.extra_queues.end(),
                       [&](QueueId extra) { return mine.contains(top(extra)); });
  };
  QuotaBound bound = over(charges)->bound;
  if (bound != QuotaBound::Held) {
    if (const auto found =
            when_allowed(charges, departures_of(world_, calendar, shares_quota), bound))
      return found;
    if (bound != QuotaBound::Held) return std::nullopt;
  }
  const auto everybody = [](JobSlot) { return true; };  // uses what is held for others
  return when_allowed(charges, departures_of(world_, calendar, everybody), bound);
}

/// When these have ended one after the other; if that is not enough, what is the obstacle then.
std::optional<WhenJobEnds> Tryout::when_allowed(const Charges& charges,
                                                const std::vector<Departure>& ends,
                                                QuotaBound& bound) {
  QuotaReleased released(world_);
  for (const Departure& d : ends) {
    released.end(d.job);
    Asker then = asker_;
    then.end = asker_.end + (d.end - now_);
    const auto still = over(charges, then);
    if (!still) return WhenJobEnds{d.job, d.end, ClusterId::none()};
    bound = still->bound;
  }
  return std::nullopt;
}

VictimPool& Tryout::pool() {
  if (!pool_) pool_.emplace(world_, policy_, now_);
  return *pool_;
}

std::optional<Preemption> Tryout::victims(const Venues& venues) {
  // As the first of a round, which may need more than a round has.
  const int limit = policy_.evictions_per_round > 0 ? std::numeric_limits<int>::max() : 0;
  return pool().search(placer_, venues, slot_, capacity_, limit).found;
}

std::optional<int> Tryout::highest_needed(const Venue& venue, int cutoff) {
  return pool().highest_needed(placer_, venues(), venue, slot_, capacity_, cutoff);
}

Why Tryout::why_not() {
  Why why = judge(world_, kit_.agenda(), placer_, policy_, asker_, full_of(shape_)).why;
  const bool lacks_room =
      std::holds_alternative<NoRoom>(why) || std::holds_alternative<WouldDelay>(why);
  if (!lacks_room && !std::holds_alternative<OverQuota>(why)) return why;
  if (const auto found = victims(venues_))
    return Preempting{found->cluster, static_cast<int>(found->victims.size())};
  if (!lacks_room) return why;
  if (const auto never = infeasible(world_, kit_.agenda(), policy_, job().shape)) return *never;
  return why;
}

}  // namespace muster::sched
