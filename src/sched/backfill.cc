#include "sched/backfill.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sched/counts.h"
#include "sched/estimate.h"
#include "sched/room_walk.h"

namespace muster::sched {
namespace {

/// Takes jobs off their nodes in the order of their ends, as far as asked; puts them back at the
/// end.
class Future {
 public:
  Future(World& world, Departures& list) : world_(world), list_(list) {}
  ~Future() { advance_to(0); }
  Future(const Future&) = delete;
  Future& operator=(const Future&) = delete;

  void advance_to(std::size_t ended) {
    for (; ended_ < ended; ++ended_) {
      for (const PodOn& pod : list_.pods(world_, ended_)) world_.fleet.vacate(pod, world_.shapes);
    }
    while (ended_ > ended) {
      --ended_;
      for (const PodOn& pod : list_.pods(world_, ended_)) world_.fleet.occupy(pod, world_.shapes);
    }
  }

 private:
  World& world_;
  Departures& list_;
  std::size_t ended_ = 0;
};

struct Prefix {
  const Venue* venue = nullptr;
  std::size_t ended = 0;  // so many jobs must have ended, at least
  Time start;
  std::size_t order = 0;
};

/// A bound from below for each venue: every set alone has room after that many ends. One walk over
/// the calendar, without touching the world.
struct Bounds {
  Bounds(Placer& placer, const Venues& venues, const Shape& shape, const std::vector<int>& counts,
         const Asker& asker, Calendar& calendar, Time limit);

  /// Soonest first.
  std::vector<Prefix> found;
  /// Of a simple gang the bound is the answer: the walk to the first of them.
  std::optional<RoomWalk> answer;
};

Bounds::Bounds(Placer& placer, const Venues& venues, const Shape& shape,
               const std::vector<int>& counts, const Asker& asker, Calendar& calendar, Time limit) {
  const World& world = placer.world();
  const bool exact = is_simple(world, shape);  // later starts than the best need no look
  Time best = limit;
  for (const Venue& venue : venues.all) {
    Departures& list = calendar.of(venue.cluster);
    std::optional<RoomWalk> walk;
    std::size_t ended = 0;
    std::size_t needed = 0;
    bool possible = list.size() > 0;
    for (std::size_t i = 0; i < shape.sets.size() && possible; ++i) {
      walk.emplace(placer, venue, i, shape.sets[i].pods_per_node, asker);
      const TypeId type = venue.types[i];
      const std::uint64_t wanted = type.v == 0 ? ~std::uint64_t{0} : type_bit(type);
      ended = 0;
      for (; walk->room() < counts[i] && list.is_before(world, ended, best); ++ended) {
        list.fetch_behind(world, ended);
        const std::uint64_t types = list.at(world, ended).types;
        if (types == 0 || (types & wanted) != 0) walk->release(list.pods(world, ended));
      }
      possible = walk->room() >= counts[i];
      needed = std::max(needed, ended);
    }
    // Room by count now, but no start: something must end before it makes sense to look again.
    needed = std::max<std::size_t>(needed, 1);
    if (!possible || list.at(world, needed - 1).end >= limit) continue;
    found.push_back({&venue, needed, list.at(world, needed - 1).end, found.size()});
    if (!exact || (answer && found.back().start >= best)) continue;
    best = found.back().start;
    while (ended < needed) walk->release(list.pods(world, ended++));
    answer.emplace(std::move(*walk));
  }
  std::sort(found.begin(), found.end(), [](const Prefix& a, const Prefix& b) {
    return a.start != b.start ? a.start < b.start : a.order < b.order;
  });
}

/// Each look costs as much as a placement.
constexpr std::size_t most_by_step = 64;

bool seeks_neighbours(const World& world, const Shape& shape) {
  return std::any_of(shape.sets.begin(), shape.sets.end(), [&](const SetRec& set) {
    return !world.shapes.pod(set.pod).spec.pod_affinity.empty();
  });
}

std::vector<NodeId> nodes_of(const World& world, const std::vector<PodOn>& pods) {
  std::vector<NodeId> nodes;
  for (const PodOn& pod : pods) nodes.push_back(pod.node);
  std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
    return world.fleet.node(a).rank < world.fleet.node(b).rank;  // ids follow arrival
  });
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace

Calendar::Sheet& Calendar::sheet(ClusterId cluster) {
  if (sheets_.size() <= cluster.index()) sheets_.resize(cluster.index() + 1);
  return sheets_[cluster.index()];
}

/// So that the one at `index` stands where it belongs; nobody from `until` on comes before it.
void Departures::put_in_order(const World& world, std::size_t index, Place until) {
  constexpr std::size_t few = 32;
  const auto sooner = [&](const Departure& a, const Departure& b) {
    if (a.end != b.end) return a.end < b.end;
    return world.job(a.job).id < world.job(b.job).id;
  };
  const auto most = static_cast<std::size_t>(until - all_.begin());
  while (in_order_ <= index) {
    const auto from = all_.begin() + static_cast<std::ptrdiff_t>(in_order_);
    in_order_ = std::min(most, std::max(few, 2 * in_order_));
    const auto to = all_.begin() + static_cast<std::ptrdiff_t>(in_order_);
    if (to != until) std::nth_element(from, to, until, sooner);
    std::sort(from, to, sooner);
  }
}

const Departure& Departures::at(const World& world, std::size_t index) {
  put_in_order(world, index, all_.end());
  return all_[index];
}

bool Departures::is_before(const World& world, std::size_t index, Time limit) {
  if (index >= all_.size()) return false;
  if (index >= in_order_) {
    const auto from = all_.begin() + static_cast<std::ptrdiff_t>(in_order_);
    const auto until =
        std::partition(from, all_.end(), [&](const Departure& d) { return d.end < limit; });
    if (index >= static_cast<std::size_t>(until - all_.begin())) return false;
    put_in_order(world, index, until);
  }
  return all_[index].end < limit;
}

const std::vector<PodOn>& Departures::pods(const World& world, std::size_t index) {
  const Departure& departure = at(world, index);
  return departure.placed != nullptr ? *departure.placed : world.job(departure.job).active->pods;
}

void Departures::fetch_behind(const World& world, std::size_t index) const {
  const auto running = [&](std::size_t i) -> const Job* {
    return i < in_order_ && all_[i].placed == nullptr ? &world.job(all_[i].job) : nullptr;
  };
  if (const Job* job = running(index + 8)) __builtin_prefetch(&job->active);
  if (const Job* job = running(index + 4)) __builtin_prefetch(job->active.get());
  if (const Job* job = running(index + 2)) __builtin_prefetch(job->active->pods.data());
}

void Departures::add(const Departure& departure) {
  all_.push_back(departure);
  in_order_ = 0;
}

void Departures::set_end(JobSlot job, Time end) {
  const auto it = std::find_if(all_.begin(), all_.end(),
                               [&](const Departure& departure) { return departure.job == job; });
  if (it == all_.end()) return;
  it->end = end;
  in_order_ = 0;
}

Departures& Calendar::of(ClusterId cluster) {
  Sheet& s = sheet(cluster);
  if (!s.read) {
    s.read = true;
    const std::vector<JobSlot>& jobs = world_.active_in(cluster);
    const std::vector<Stay>& stays = world_.stays_in(cluster);
    const std::vector<Stake>& stakes = world_.stakes_in(cluster);
    s.endings.reserve(s.endings.size() + jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const std::uint64_t types = stakes[i].stopping ? 0 : stakes[i].types;  // as last counted
      s.endings.add({expected_end(world_, stays[i], policy_, now_), jobs[i], nullptr, types});
    }
    for (const JobSlot job : std::exchange(s.leaving, {})) leaves(job);
  }
  return s.endings;
}

void Calendar::placed(ClusterId cluster, JobSlot job, const std::vector<PodOn>& pods) {
  const Duration run = expected_run_time(world_, world_.job(job), policy_);
  sheet(cluster).endings.add(
      {now_ + Duration{std::max<std::int64_t>(run.ms, 1000)}, job, &pods, 0});
}

void Calendar::leaves(JobSlot job) {
  Sheet& s = sheet(world_.job(job).active->cluster);
  if (!s.read) {
    s.leaving.push_back(job);
    return;
  }
  Stay stay = stay_of(world_.job(job));
  stay.stopping = true;
  s.endings.set_end(job, expected_end(world_, stay, policy_, now_));
}

std::optional<FutureFit> earliest_fit(World& world, Placer& placer, const Venues& venues,
                                      const Shape& shape, const Asker& asker, Calendar& calendar,
                                      Time limit) {
  const Counts counts = least_of(shape);
  std::optional<FutureFit> best;
  const Bounds bounds(placer, venues, shape, counts, asker, calendar, limit);
  for (const Prefix& bound : bounds.found) {
    const auto at = static_cast<std::size_t>(bound.venue - venues.all.data());
    if (best && best->start <= bound.start) break;
    Departures& list = calendar.of(bound.venue->cluster);
    if (bounds.answer) {
      return FutureFit{bound.venue->cluster, bound.start, bounds.answer->take(counts[0]),
                       bound.venue->charges, at};
    }
    Future future(world, list);
    std::vector<NodeId> nodes;
    const auto fits_after = [&](std::size_t ended) {
      future.advance_to(ended);
      if (!placer.view(*bound.venue, shape, counts, asker).enough) return false;
      const auto pods = placer.place(*bound.venue, shape, counts, asker);
      if (!pods) return false;
      nodes = nodes_of(world, *pods);
      placer.take_back(*pods);
      return true;
    };
    // Ends only add room: search the shortest sufficient prefix, first by doubling, then by
    // halving. But an end may also take the neighbour away that a pod wants to be near: then the
    // first of them are looked at one by one.
    const std::size_t one_by_one = seeks_neighbours(world, shape) ? bound.ended + most_by_step : 0;
    std::size_t worth_trying = list.size();
    const Time before = best ? best->start : limit;
    while (!before.is_never() && worth_trying > 0 && list.at(world, worth_trying - 1).end >= before)
      --worth_trying;
    std::size_t too_few = bound.ended - 1;
    std::size_t enough = bound.ended;
    while (enough < worth_trying && !fits_after(enough)) {
      too_few = enough;
      enough = std::min(enough < one_by_one ? enough + 1 : enough * 2, worth_trying);
    }
    if (enough > worth_trying || !fits_after(enough)) continue;
    while (enough - too_few > 1) {
      const std::size_t middle = too_few + (enough - too_few) / 2;
      (fits_after(middle) ? enough : too_few) = middle;
    }
    fits_after(enough);
    best = FutureFit{bound.venue->cluster, list.at(world, enough - 1).end, nodes,
                     bound.venue->charges, at};
  }
  return best;
}

std::optional<FutureFit> best_future_fit(World& world, Placer& placer, const Policy& policy,
                                         const Venues& venues, const Shape& shape,
                                         const Asker& asker, Calendar& calendar, Time now) {
  std::optional<FutureFit> best = earliest_fit(world, placer, venues, shape, asker, calendar);
  const std::int64_t weight = policy.cluster_weights.wait;
  if (!best || weight <= 0) return best;
  std::vector<ClusterScore> scores = score_venues(world, policy, shape, venues);
  // How full a cluster is now says nothing of that time.
  for (ClusterScore& score : scores) set_points(score, Part::Spread, 1000, policy.cluster_weights);
  const Duration least = best->start - now;
  std::int64_t most = scores[best->venue].total;
  const std::int64_t of_the_earliest = most;
  // Only where everything but the wait is better it pays to look for a later start.
  for (std::size_t i = 0; i < venues.all.size(); ++i) {
    if (scores[i].total <= of_the_earliest || scores[i].total <= most) continue;
    const std::int64_t lead = scores[i].total - most;
    const std::int64_t enough = 1000 - lead * 1000 / weight;  // points of the wait
    Venues one;
    one.all = {venues.all[i]};
    auto later = earliest_fit(world, placer, one, shape, asker, calendar,
                              now + longest_wait(enough, least) + milliseconds(1));
    if (!later) continue;
    set_points(scores[i], Part::Wait, wait_points(later->start - now, least),
               policy.cluster_weights);
    if (scores[i].total <= most) continue;
    most = scores[i].total;
    later->venue = i;
    best = std::move(later);
  }
  return best;
}

}  // namespace muster::sched
