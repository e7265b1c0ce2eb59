#include "sched/judge.h"

#include <algorithm>
#include <map>
#include <string_view>

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

/// Pods of the set that one node of the profile holds while it is empty.
int room_when_empty(World& world, Agenda& agenda, const Policy& policy, const Venue& venue,
                    std::size_t set, int per_node, ProfileId id) {
  const PodShapeRec& pod = world.shapes.pod(venue.pods[set]);
  const Profile& profile = world.fleet.profile(id);
  if (pod.gpus > 0 && profile.type != venue.types[set]) return 0;
  const Match& match = agenda.cache.match(world, policy, venue.pods[set], id);
  if (!match.allowed) return 0;
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
  return per_node > 0 ? std::min(fits, per_node) : fits;
}

/// Pods of the smallest gang that would have room in the venue, each set looked at alone; if all
/// must go under one value of a label, under the one with the most room.
int placeable_when_empty(World& world, Agenda& agenda, const Policy& policy, const Venue& venue,
                         const Shape& shape) {
  const bool one_domain = needs_one_domain(policy, shape);
  std::map<std::string_view, int> placeable;  // by domain
  for (std::size_t i = 0; i < shape.sets.size(); ++i) {
    const std::int64_t least = shape.sets[i].least;
    std::map<std::string_view, std::int64_t> room;
    for (const ProfileId id : world.fleet.cluster(venue.cluster).profiles) {
      const Profile& profile = world.fleet.profile(id);
      if (profile.seen == 0) continue;
      std::string_view domain;
      if (one_domain) {
        const auto label = profile.labels.find(shape.gang.topology->key);
        if (label == profile.labels.end()) continue;
        domain = label->second;
      }
      std::int64_t& pods = room[domain];
      pods += std::int64_t{room_when_empty(world, agenda, policy, venue, i,
                                           shape.sets[i].pods_per_node, id)} *
              profile.seen;
      if (pods >= least && (!one_domain || shape.sets.size() == 1)) break;
    }
    for (const auto& [domain, pods] : room)
      placeable[domain] += static_cast<int>(std::min(pods, least));
  }
  int most = 0;
  for (const auto& [domain, pods] : placeable) most = std::max(most, pods);
  return most;
}

std::vector<QueueId> queues_of(const Job& job, const Rules& rules) {
  std::vector<QueueId> queues = {job.queue};
  if (rules.has(Rule::ExtraTrees))
    queues.insert(queues.end(), job.extra_queues.begin(), job.extra_queues.end());
  return queues;
}

/// Its victims left it this venue.
bool is_promised(const World& world, const Job& job, const Venues& venues, const Venue& venue) {
  if (job.reservation.is_none()) return false;
  const Reservation& r = world.reservation(job.reservation);
  return r.preempting && venue.cluster == r.cluster && venues.least[venue.charges] == r.charges;
}

/// What quota says to a gang, asked once for all venues that charge the same.
class QuotaAnswers {
 public:
  QuotaAnswers(World& world, const Capacity& capacity, const Policy& policy, const Asker& asker,
               const Venues& venues, const std::vector<int>& counts)
      : world_(world),
        capacity_(capacity),
        policy_(policy),
        asker_(asker),
        job_(world.job(asker.job)),
        venues_(venues),
        counts_(counts),
        guaranteed_(policy.rules.has(Rule::ProtectGuaranteed) &&
                    !world.quota.guarantor(job_.queue).is_none()),
        answers_(venues.full.size()) {
    if (guaranteed_) {
      inside_ = asker;
      inside_.inside = true;
    }
    const Shape& shape = world.shapes[job_.shape];
    for (std::size_t i = 0; i < counts.size(); ++i) {
      whole_ = whole_ && counts[i] == shape.sets[i].count;
    }
  }

 private:
  template <typename Ask>
  auto with_charges(const Venue& venue, const Ask& ask) const {
    if (whole_) return ask(venues_.full[venue.charges]);
    return ask(world_.charges(world_.shapes[job_.shape], counts_, venue.types, policy_));
  }

 public:
  const std::optional<OverQuota>& of(const Venue& venue) {
    std::optional<std::optional<OverQuota>>& answer = answers_[venue.charges];
    if (answer) return *answer;
    answer = with_charges(venue, [&](const Charges& charges) { return ask(charges); });
    return *answer;
  }

  /// In some venues it may stand inside its guarantee, in others not.
  const Asker& asker_at(const Venue& venue) const {
    if (!guaranteed_) return asker_;
    return *with_charges(venue, [&](const Charges& charges) { return &asker_at(charges); });
  }

  /// Places inside its guarantee come first: what it gets elsewhere is lent, and may be taken back
  /// for the next job that is inside.
  void own_first(std::vector<Candidate>& candidates) const {
    if (candidates.size() < 2 || !guaranteed_ || !policy_.rules.has(Rule::GuaranteedFirst)) return;
    std::vector<Candidate> own;
    std::vector<Candidate> lent;
    for (const Candidate& c : candidates) {
      (c.inside ? own : lent).push_back(c);
    }
    own.insert(own.end(), lent.begin(), lent.end());
    candidates = std::move(own);
  }

 private:
  const Asker& asker_at(const Charges& charges) const {
    const bool inside =
        guaranteed_ && world_.guarantees.would_be_inside(
                           world_, {asker_.job, job_.queue, asker_.priority}, charges);
    return inside ? inside_ : asker_;
  }
  std::optional<OverQuota> ask(const Charges& charges) const {
    if (auto over = over_quota(world_, job_, charges, capacity_, policy_.rules)) return over;
    return over_kept_quota(world_, policy_, asker_at(charges), charges);
  }

  World& world_;
  const Capacity& capacity_;
  const Policy& policy_;
  const Asker& asker_;
  const Job& job_;
  const Venues& venues_;
  const std::vector<int>& counts_;
  bool whole_ = true;
  bool guaranteed_;
  Asker inside_;  // the same, inside its guarantee
  boost::container::small_vector<std::optional<std::optional<OverQuota>>, 8> answers_;
};

/// Clusters where its starts failed are looked at once the others have no room.
void failed_last(const Job& job, std::vector<Candidate>& candidates) {
  if (job.failed_in.empty()) return;
  std::vector<Candidate> in_turn;
  for (std::ptrdiff_t at = 0; at <= std::ssize(job.failed_in); ++at) {
    for (Candidate& c : candidates) {
      if (turn_of(job, c.venue->cluster) != at) continue;
      c.score.failed_before = at > 0;
      in_turn.push_back(std::move(c));
    }
  }
  candidates = std::move(in_turn);
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
  const bool charged = !job.reservation.is_none() && world.reservation(job.reservation).preempting;
  const Charges& kept = charged ? world.reservation(job.reservation).charges : none;
  if (auto over = world.quota.over(job.queue, charges, capacity, rules, kept)) return over;
  if (!rules.has(Rule::ExtraTrees)) return std::nullopt;
  for (const QueueId extra : job.extra_queues) {
    if (auto over = world.quota.over(extra, charges, capacity, rules, kept)) return over;
  }
  return std::nullopt;
}

bool allowed_alone(const World& world, const Job& job, const Charges& charges, const Rules& rules) {
  const std::vector<QueueId> queues = queues_of(job, rules);
  return std::all_of(queues.begin(), queues.end(),
                     [&](QueueId queue) { return world.quota.allows_alone(queue, charges); });
}

bool allowed_somewhere(const World& world, const Job& job, const Venues& venues,
                       const Rules& rules) {
  return std::any_of(venues.least.begin(), venues.least.end(), [&](const Charges& charges) {
    return allowed_alone(world, job, charges, rules);
  });
}

std::optional<OverQuota> over_kept_quota(const World& world, const Policy& policy,
                                         const Asker& asker, const Charges& charges) {
  if (!policy.rules.has(Rule::BackfillQuota)) return std::nullopt;
  std::vector<QueueId> limited = queues_of(world.job(asker.job), policy.rules);
  std::erase_if(limited, [&](QueueId queue) { return !world.quota[queue].limited; });
  if (limited.empty()) return std::nullopt;
  for (const Reservation& r : world.reservations()) {
    if (r.job.is_none() || r.preempting || may_use_reserved(world, policy, r, asker)) continue;
    for (const QueueId mine : limited) {
      for (const QueueId theirs : queues_of(world.job(r.job), policy.rules)) {
        if (auto over = world.quota.over_beside(mine, charges, theirs, r.charges)) return over;
      }
    }
  }
  return std::nullopt;
}

Asker inside_guarantee(const World& world, const Policy& policy, Asker asker,
                       const Charges& charges) {
  asker.inside =
      policy.rules.has(Rule::ProtectGuaranteed) &&
      world.guarantees.would_be_inside(world, claim_of(world, asker.job, policy), charges);
  return asker;
}

std::optional<Infeasible> infeasible(World& world, Agenda& agenda, const Policy& policy,
                                     ShapeId id) {
  const Shape& shape = world.shapes[id];
  const Venues& venues = agenda.venues(world, policy, id);
  if (venues.all.empty()) return std::nullopt;
  Infeasible none{shape.least_pods, 0, venues.all.front().cluster};
  for (const Venue& venue : venues.all) {
    const int placeable = placeable_when_empty(world, agenda, policy, venue, shape);
    if (placeable == shape.least_pods) return std::nullopt;
    if (placeable > none.best) none = {shape.least_pods, placeable, venue.cluster};
  }
  return none;
}

Judgement judge(World& world, Agenda& agenda, Placer& placer, const Policy& policy,
                const Asker& asker, const std::vector<int>& counts, Turn turn) {
  Judgement j;
  const Job& job = world.job(asker.job);
  const Shape& shape = world.shapes[job.shape];
  const Venues& venues = agenda.venues(world, policy, job.shape);
  if (venues.all.empty()) {
    j.why = no_cluster(venues, job.shape);
    return j;
  }
  // Others went so that it can start there: elsewhere it might stand no higher than they did.
  const auto promised = std::find_if(venues.all.begin(), venues.all.end(), [&](const Venue& venue) {
    return is_promised(world, job, venues, venue);
  });
  const bool only_promised = promised != venues.all.end();
  NoRoom none{shape.pods, 0, venues.all.front().cluster};
  bool reserved_only = false;
  // Quota is asked before room if it is tight, else only where there is room: both cost time.
  QuotaAnswers quota(world, agenda.capacity, policy, asker, venues, counts);
  const auto first_over = quota.of(only_promised ? *promised : venues.all.front());
  bool all_over = first_over.has_value();
  const auto note_over = [&](const Venue& venue) {
    j.over_somewhere = true;
    j.over_held = j.over_held || quota.of(venue)->bound == QuotaBound::Held;
  };
  j.candidates.reserve(venues.all.size());
  for (const Venue& venue : venues.all) {
    if (only_promised && !is_promised(world, job, venues, venue)) continue;
    if (first_over && quota.of(venue)) {
      note_over(venue);
      continue;
    }
    all_over = false;
    const Asker& here = quota.asker_at(venue);
    const VenueView view = placer.view(venue, shape, counts, here);
    if ((view.placeable > 0 || view.reserved_only) && quota.of(venue)) {
      note_over(venue);
      continue;
    }
    if (view.placeable > none.best) none = {shape.pods, view.placeable, venue.cluster};
    reserved_only = reserved_only || view.reserved_only;
    const bool is_turn = turn == Turn::Everybody || here.inside || only_promised;
    j.lent = j.lent || (view.enough && !is_turn);
    if (view.enough && is_turn) j.candidates.push_back({&venue, view, {}, here.inside});
    if (!view.enough && shape.sets.size() == 1)
      j.rooms.push_back({venue.cluster, venue.types[0], view.unreserved});
  }
  rank_clusters(world, policy, shape, counts, j.candidates);
  quota.own_first(j.candidates);
  failed_last(job, j.candidates);
  // Room by count may still not be room by rule (spread, topology): then at least one pod does not
  // find a place.
  if (!j.candidates.empty()) none.best = std::min(none.best, shape.pods - 1);
  j.why = none;
  if (reserved_only) j.why = would_delay(world, venues, asker);
  if (all_over) j.why = *first_over;
  return j;
}

std::optional<Chosen> place_best(const World& world, Placer& placer, const Policy& policy,
                                 const Asker& asker, const std::vector<int>& counts,
                                 Judgement& judged) {
  const Shape& shape = world.shapes[world.job(asker.job).shape];
  auto& all = judged.candidates;
  for (std::size_t from = 0; from < all.size();) {
    std::size_t to = from;
    Asker here = asker;
    here.inside = all[from].inside;
    while (to < all.size() && all[to].venue->cluster == all[from].venue->cluster &&
           all[to].inside == all[from].inside) {
      placer.price(*all[to].venue, shape, here, all[to].view);
      ++to;
    }
    rank_inside_cluster(world, policy, {all.data() + from, to - from});
    for (std::size_t i = from; i < to; ++i) {
      const Candidate& c = all[i];
      auto pods = placer.place_one(*c.venue, shape, here, c.view);
      if (!pods) pods = placer.place(*c.venue, shape, counts, here);
      if (pods) return Chosen{i, std::move(*pods)};
    }
    from = to;
  }
  return std::nullopt;
}

}  // namespace muster::sched
