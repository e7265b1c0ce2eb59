#include "sched/whatif.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "sched/estimate.h"
#include "sched/judge.h"
#include "sched/preempt.h"
#include "sched/trial.h"
#include "sched/tryout.h"
#include "sched/undo.h"

namespace muster::sched {
namespace {

constexpr int quota_starts_max = 1'000;
constexpr int quota_vain_max = 256;
constexpr std::size_t first_jobs_max = 10;
/// Searches for victims in single venues, one priority after the other, before the rest of the
/// priorities is halved.
constexpr int victim_looks_max = 8;
/// Pods of possible victims that are looked at for one answer: some tens of milliseconds.
constexpr std::int64_t victim_pods_max = 100'000;

bool is_fifo(const World& world, const Policy& policy, QueueId queue) {
  return world.quota[queue].strategy == model::Strategy::Fifo && policy.rules.has(Rule::FifoBlocks);
}

// ----------------------------------------------------------------------------------------------
// one function per counterfactual

class Inquiry {
 public:
  Inquiry(World& world, Kit& kit, JobSlot slot, Time now)
      : world_(world),
        kit_(kit),
        policy_(kit.policy()),
        slot_(slot),
        now_(now),
        trial_(world),
        try_(world, kit, slot, now),
        least_(least_of(try_.shape())) {}

  std::vector<Counterfactual> run() {
    std::vector<Counterfactual> found;
    const auto add = [&](auto&& change) {
      if (change) found.emplace_back(std::move(*change));
    };
    bool cut_short = false;
    const bool starts = try_.starts(least_);
    if (behind_first()) {
      if (starts) add(pass_the_first());
      return found;
    }
    if (starts) return found;  // newer than the last plan: the next one starts it
    add(fewer_pods());
    add(other_cluster());
    for (OtherGpuType& type : other_types()) found.emplace_back(type);
    // Where all nodes together are too small nobody's leaving and no right or limit helps.
    if (!infeasible(world_, kit_.agenda(), policy_, try_.job().shape)) {
      auto higher = higher_priority();
      cut_short = !higher && try_.cut_short();
      add(std::move(higher));
      add(more_quota());
      add(try_.when_job_ends());
      add(shorter_limit());
      add(unavailable_nodes());
    }
    add(cluster_back());
    if (cut_short) found.emplace_back(CutShort{});
    return found;
  }

 private:
  bool behind_first() const {
    const auto& lines = world_.lines_of(try_.job().queue);
    return is_fifo(world_, policy_, try_.job().queue) && !lines.empty() &&
           lines.begin()->line != try_.job().line;
  }
  /// To come before another of its queue: of equal priority the one submitted first does.
  int priority_to_pass(const Job& other) const {
    const Job& mine = try_.job();
    const bool is_first = std::tie(mine.seq, mine.id) < std::tie(other.seq, other.id);
    return is_first ? other.priority : other.priority + 1;
  }
  std::optional<HigherPriority> pass_the_first() const {
    const LineId line = world_.lines_of(try_.job().queue).begin()->line;
    const int needed = priority_to_pass(world_.job(world_.first_of(line)));
    if (needed > model::priority_max) return std::nullopt;
    return HigherPriority{needed, 0};
  }

  std::optional<FewerPods> fewer_pods() {
    const int from = sum(least_);
    const Counts floor(least_.size(), 1);
    const int most_less = from - static_cast<int>(least_.size());
    const int less = try_.fewest_less(least_, floor, 1, most_less);
    if (less < 0) return std::nullopt;
    const Counts counts = shrunk(least_, floor, less);
    const auto start = try_.start(try_.venues(), counts, try_.asker());
    if (!start) return std::nullopt;
    return FewerPods{from, from - less, start->venue->cluster, counts};
  }

  std::optional<OtherCluster> other_cluster() {
    const model::Gang& gang = try_.shape().gang;
    if (gang.clusters.empty() && gang.excluded_clusters.empty() && gang.pool.empty())
      return std::nullopt;
    Shape open = try_.shape();
    open.gang.clusters.clear();
    open.gang.excluded_clusters.clear();
    open.gang.pool.clear();
    Venues venues = venues_of(world_, policy_, open);
    std::erase_if(venues.all, [&](const Venue& v) { return has_venue(try_.venues(), v.cluster); });
    const auto start = try_.best(venues, least_);
    if (!start) return std::nullopt;
    const std::string& name = world_.fleet.cluster(start->venue->cluster).spec.name;
    Bar bar = Bar::Pool;
    if (is_pinned_elsewhere(gang, name)) bar = Bar::Pinned;
    if (excludes(gang, name)) bar = Bar::Excluded;
    return OtherCluster{start->venue->cluster, bar};
  }

  std::vector<OtherGpuType> other_types() {
    std::set<std::string> asked;
    for (const model::PodSet& set : try_.shape().gang.sets) {
      if (set.pod.gpu.count > 0) asked.insert(set.pod.gpu_types.begin(), set.pod.gpu_types.end());
    }
    std::vector<OtherGpuType> found;
    if (asked.empty()) return found;
    std::set<std::string> others;
    for (std::size_t t = 1; t < world_.fleet.type_count(); ++t)
      others.insert(world_.fleet.type_name(TypeId{static_cast<std::uint16_t>(t)}));
    for (const std::string& type : others) {
      if (asked.contains(type)) continue;
      model::Gang gang = try_.shape().gang;
      for (model::PodSet& set : gang.sets) {
        if (set.pod.gpu.count > 0 && !set.pod.gpu_types.empty()) set.pod.gpu_types = {type};
      }
      const ShapeId shape = world_.shapes.intern(gang);
      const ShapeId own = std::exchange(world_.job(slot_).shape, shape);
      Tryout tryout(world_, kit_, slot_, now_);
      const auto start = tryout.best(tryout.venues(), least_);
      if (start) found.push_back({world_.fleet.find_type(type), start->venue->cluster});
      world_.job(slot_).shape = own;
    }
    return found;
  }

  /// One step above each class of those who run or hold a reservation, and where it comes before
  /// those of its queue who hold one: only there can something change.
  std::vector<int> worthwhile_priorities() const {
    std::set<int> steps;
    const Rules& rules = policy_.rules;
    if (!world_.quota.any_guarantee() && rules.has(Rule::PreemptibleOnly) &&
        rules.has(Rule::PriorityCap)) {
      for (const auto& [priority, jobs] : world_.running_by_class()) steps.insert(priority + 1);
    } else {
      for (const ClusterId cluster : world_.fleet.by_name()) {
        for (const JobSlot other : world_.active_in(cluster)) {
          const Job& job = world_.job(other);
          if (!job.active->stopping) steps.insert(priority_class(world_, job, policy_) + 1);
        }
      }
    }
    for (const Reservation& r : world_.reservations()) {
      if (r.job.is_none()) continue;
      const Job& holder = world_.job(r.job);
      steps.insert(priority_class(world_, holder, policy_) + 1);
      if (holder.queue == try_.job().queue) steps.insert(priority_to_pass(holder));
    }
    const QueueNode& queue = world_.quota[try_.job().queue];
    const int most = rules.has(Rule::PriorityCap)
                         ? std::min(queue.priority_cap, model::priority_max)
                         : model::priority_max;
    std::erase_if(steps, [&](int p) { return p <= try_.job().priority || p > most; });
    return {steps.begin(), steps.end()};
  }

  /// The first step worth a look in each venue; a look at a venue is costly, a bound is cheap.
  using WorthALook = std::set<std::pair<int, std::size_t>>;

  /// Looked for with the lower steps first: most find enough room there, and fewer jobs are read.
  WorthALook worth_a_look(const std::vector<int>& steps, OtherPriority& other) {
    const std::vector<Venue>& venues = try_.venues().all;
    WorthALook worth;
    std::set<std::size_t> found;
    std::size_t top = 0;
    for (;; top = std::min(2 * top + 1, steps.size() - 1)) {
      other.set(steps[top]);
      int lowest = std::numeric_limits<int>::max();
      for (std::size_t v = 0; v < venues.size(); ++v) {
        const auto highest = try_.highest_needed(venues[v], lowest - 1);
        if (!highest) continue;
        worth.emplace(*highest + 1, v);
        found.insert(v);
        lowest = std::min(lowest, std::max(*highest, model::priority_min));
      }
      if (!found.empty() || top + 1 == steps.size()) break;
    }
    // The others need somebody to go who stands no lower than that.
    for (std::size_t v = 0; v < venues.size() && top + 1 < steps.size(); ++v) {
      if (!found.contains(v)) worth.emplace(steps[top] + 1, v);
    }
    return worth;
  }

  std::optional<HigherPriority> goes_on_with(int priority, OtherPriority& other,
                                             const WorthALook& worth, int& looks) {
    other.set(priority);
    const Asker asker = asker_of(world_, policy_, slot_, now_);
    if (try_.start(try_.venues(), least_, asker)) return HigherPriority{priority, 0};
    for (const auto& [first, v] : worth) {
      if (first > priority) break;
      ++looks;
      Venues one = try_.venues();
      one.all = {try_.venues().all[v]};
      if (const auto found = try_.victims(one))
        return HigherPriority{priority, static_cast<int>(found->victims.size())};
    }
    return std::nullopt;
  }

  std::optional<HigherPriority> higher_priority() {
    const std::vector<int> steps = worthwhile_priorities();
    if (steps.empty() || try_.venues().all.empty()) return std::nullopt;
    OtherPriority other(world_, slot_);
    try_.limit_looks(victim_pods_max);
    const WorthALook worth = worth_a_look(steps, other);
    int looks = 0;
    std::size_t low = 0;
    for (; low < steps.size() && looks < victim_looks_max; ++low) {
      if (const auto found = goes_on_with(steps[low], other, worth, looks)) return found;
    }
    if (low == steps.size()) return std::nullopt;
    // Whoever may go for a priority may go for a higher one: halve the rest.
    std::optional<HigherPriority> best = goes_on_with(steps.back(), other, worth, looks);
    for (std::size_t high = steps.size() - 1; best && low < high;) {
      const std::size_t middle = low + (high - low) / 2;
      if (const auto found = goes_on_with(steps[middle], other, worth, looks)) {
        best = found;
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return best;
  }

  /// The queue of the job below this one.
  QueueId charged_below(QueueId above) const {
    for (const QueueId queue : try_.job().extra_queues) {
      if (world_.quota.is_below(queue, above)) return queue;
    }
    return try_.job().queue;
  }

  /// The one of a queue's limits that is reached first.
  QuotaBound tighter_limit(QueueId queue, ResourceId resource) const {
    const QueueNode& node = world_.quota[queue];
    const LimitRec& limit = node.limits[resource.index()];
    if (limit.borrow == unset) return QuotaBound::Maximum;
    const std::int64_t borrowed = limit.borrow + node.promised[resource.index()];
    const bool maximum = limit.maximum != unset && limit.maximum <= borrowed;
    return maximum ? QuotaBound::Maximum : QuotaBound::Borrow;
  }

  /// What must be raised for these charges; empty if quota is not in the way or no limit helps.
  std::vector<QuotaRaise> raises_for(const Charges& charges) {
    std::vector<QuotaRaise> raises;
    OtherLimits limits(world_);
    while (const auto over = try_.over(charges)) {
      QuotaRaise raise{over->queue, over->resource, over->bound, over->asked - over->room};
      if (over->bound == QuotaBound::Held) {
        // Others are promised the rest: only a promise of its own helps.
        raise.queue = charged_below(over->queue);
        const QueueNode& node = world_.quota[raise.queue];
        const std::size_t r = raise.resource.index();
        const std::int64_t promised = r < node.limits.size() ? node.limits[r].guaranteed : unset;
        const std::int64_t use = r < node.use.size() ? node.use[r] : 0;
        raise.amount = use + over->asked - (promised == unset ? 0 : promised);
      }
      if (over->bound == QuotaBound::Kept) raise.bound = tighter_limit(raise.queue, raise.resource);
      const auto same = [&](const QuotaRaise& r) {
        return r.queue == raise.queue && r.resource == raise.resource && r.bound == raise.bound;
      };
      if (raise.amount <= 0 || std::any_of(raises.begin(), raises.end(), same)) return {};
      raises.push_back(raise);
      limits.raise(raise.queue, raise.resource, raise.bound, raise.amount);
    }
    return raises;
  }

  std::optional<MoreQuota> more_quota() {
    std::optional<MoreQuota> best;
    std::vector<PerSet<TypeId>> tried;
    for (const Venue& venue : try_.venues().all) {
      if (std::find(tried.begin(), tried.end(), venue.types) != tried.end()) continue;
      const Charges charges = try_.charges(venue, least_);
      if (!try_.over(charges)) continue;
      const auto pods = try_.place(venue, least_);
      if (!pods) continue;
      try_.take_back(*pods);
      tried.push_back(venue.types);
      std::vector<QuotaRaise> raises = raises_for(charges);
      if (raises.empty() || (best && best->raises.size() <= raises.size())) continue;
      best = MoreQuota{std::move(raises)};
    }
    return best;
  }

  std::optional<ShorterRunLimit> shorter_limit() {
    const Duration expected = try_.asker().end - now_;
    std::set<Duration> limits;  // from now to each reservation
    for (const Reservation& r : world_.reservations()) {
      if (r.job.is_none() || r.job == slot_ || r.preempting) continue;
      const Duration limit{(r.start - now_).ms / 1000 * 1000};
      if (limit.ms > 0 && limit < expected) limits.insert(limit);
    }
    for (auto limit = limits.rbegin(); limit != limits.rend(); ++limit) {
      Asker brief = try_.asker();
      brief.end = now_ + *limit;
      if (const auto start = try_.start(try_.venues(), least_, brief))
        return ShorterRunLimit{*limit, start->venue->cluster};
    }
    return std::nullopt;
  }

  std::optional<NodesUnavailable> unavailable_nodes() {
    const AllNodesUsable usable(world_, try_.venues());
    if (usable.nodes().empty()) return std::nullopt;
    const auto start = try_.best(try_.venues(), least_);
    if (!start) return std::nullopt;
    std::set<NodeId> used;
    for (const PodOn& pod : start->pods) {
      if (usable.nodes().contains(pod.node)) used.insert(pod.node);
    }
    return NodesUnavailable{
        static_cast<int>(used.size()), start->venue->cluster, {used.begin(), used.end()}};
  }

  std::optional<ClusterBack> cluster_back() {
    if (try_.venues().unhealthy == 0) return std::nullopt;
    Policy any_health = policy_;
    any_health.rules.without(Rule::ClusterHealth);
    Venues venues = venues_of(world_, any_health, try_.shape());
    std::erase_if(venues.all, [&](const Venue& v) { return has_venue(try_.venues(), v.cluster); });
    const auto start = try_.best(venues, least_);
    if (!start) return std::nullopt;
    return ClusterBack{start->venue->cluster, world_.fleet.cluster(start->venue->cluster).health};
  }

  World& world_;
  Kit& kit_;
  const Policy& policy_;
  JobSlot slot_;
  Time now_;
  Trial trial_;  // keeps the fleet's log of gains quiet
  Tryout try_;
  Counts least_;
};

// ----------------------------------------------------------------------------------------------
// a job that is not there yet

class Rehearsal {
 public:
  Rehearsal(World& world, Kit& kit, JobSlot slot, Time now)
      : world_(world),
        policy_(kit.policy()),
        slot_(slot),
        now_(now),
        trial_(world),
        try_(world, kit, slot, now) {}

  SubmitAnswer run() {
    SubmitAnswer answer;
    answer.estimate = estimate(world_, slot_, policy_, now_);
    const Venues& venues = try_.venues();
    if (venues.all.empty()) {
      answer.why = no_cluster(venues, world_.job(slot_).shape);
      answer.estimate = {Time::never(), Time::never(), Time::never()};
      return answer;
    }
    const JobSlot first = first_of_blocked_queue();
    if (first.is_none() && start(answer)) return answer;
    answer.why = first.is_none() ? try_.why_not() : Why{BehindFirst{first}};
    if (std::holds_alternative<Infeasible>(answer.why)) {
      answer.estimate = {Time::never(), Time::never(), Time::never()};
      return answer;
    }
    answer.ends = try_.when_job_ends();
    const bool over_quota = std::holds_alternative<OverQuota>(answer.why);
    if ((over_quota && !allowed_somewhere(world_, try_.job(), venues, policy_.rules)) ||
        try_.is_hopeless(answer.why, answer.ends)) {
      answer.estimate = {Time::never(), Time::never(), Time::never()};
    } else if (answer.ends) {
      answer.estimate.expected = std::max(answer.estimate.expected, answer.ends->time);
      answer.estimate.high = std::max(answer.estimate.high, answer.ends->time);
    }
    return answer;
  }

 private:
  /// The job that nothing passes in its fifo queue, if it would stand behind it.
  JobSlot first_of_blocked_queue() const {
    const auto& lines = world_.lines_of(try_.job().queue);
    if (!is_fifo(world_, policy_, try_.job().queue) || lines.empty() ||
        lines.begin()->priority < try_.job().priority)
      return JobSlot::none();
    return world_.first_of(lines.begin()->line);
  }

  bool start(SubmitAnswer& answer) {
    Counts counts = full_of(try_.shape());
    const Counts least = least_of(try_.shape());
    const int less = policy_.rules.has(Rule::Elastic) ? sum(counts) - sum(least) : 0;
    const int fewest = try_.fewest_less(counts, least, 0, less);
    if (fewest < 0) return false;
    counts = shrunk(counts, least, fewest);
    for (const Candidate& c : try_.ranked(try_.venues(), counts)) {
      const auto same = [&](const ClusterScore& row) { return row.cluster == c.score.cluster; };
      if (std::none_of(answer.table.begin(), answer.table.end(), same))
        answer.table.push_back(c.score);
    }
    const auto found = try_.best(try_.venues(), counts);
    if (!found) return false;
    answer.starts_now = true;
    answer.cluster = found->venue->cluster;
    answer.pool = found->venue->pool;
    std::map<std::pair<std::uint32_t, NodeId>, int> pods;  // by rank
    for (const PodOn& pod : found->pods) ++pods[{world_.fleet.node(pod.node).rank, pod.node}];
    for (const auto& [key, count] : pods) answer.nodes.push_back({key.second, count});
    answer.estimate = {now_, now_, now_};
    return true;
  }

  World& world_;
  const Policy& policy_;
  JobSlot slot_;
  Time now_;
  Trial trial_;  // keeps the fleet's log of gains quiet
  Tryout try_;
};

/// What a job waits for before it may be tried at all, if anything.
std::optional<Why> not_yet(const World& world, const model::JobSpec& spec, const Policy& policy,
                           Time now) {
  const QueueId queue = world.quota.find(spec.queue);
  if (queue.is_none() || !world.quota[queue].alive) return UnknownQueue{};
  if (!world.quota.is_in_main_tree(queue)) return FurtherTree{queue};
  if (spec.held) return OnHold{};
  if (policy.rules.has(Rule::Dependencies)) {
    for (const std::string& id : spec.depends_on) {
      const JobSlot other = world.find_job(id);
      if (other.is_none() || world.job(other).state != model::JobState::Succeeded)
        return WaitsFor{other};
    }
  }
  if (spec.start_after > now && policy.rules.has(Rule::StartAfter))
    return NotBefore{spec.start_after};
  return std::nullopt;
}

// ----------------------------------------------------------------------------------------------
// more quota for a queue

class QuotaTrial {
 public:
  QuotaTrial(World& world, Kit& kit, Time now)
      : world_(world), kit_(kit), now_(now), trial_(world) {}

  QuotaAnswer run(QueueId queue) {
    std::vector<LineRank> lines;
    collect(queue, lines);
    std::sort(lines.begin(), lines.end(),
              [&](const LineRank& a, const LineRank& b) { return world_.ranks_before(a, b); });
    int vain = 0;
    for (const LineRank& rank : lines) {
      if (answer_.count >= quota_starts_max || vain >= quota_vain_max) {
        answer_.at_least = true;
        break;
      }
      if (!start_line(rank.line)) ++vain;
    }
    return answer_;
  }

 private:
  void collect(QueueId queue, std::vector<LineRank>& lines) const {
    for (const LineRank& rank : world_.lines_of(queue)) lines.push_back(rank);
    for (const QueueId child : world_.quota[queue].children) collect(child, lines);
  }

  /// Starts jobs of the line, first to last, until one does not start. False if none did.
  bool start_line(LineId id) {
    const Line& line = world_.line(id);
    if (stuck_.contains(line.queue) || full_.contains(line.shape)) return false;
    bool any = false;
    for (const auto& [key, slot] : line.jobs) {
      if (answer_.count >= quota_starts_max) return true;
      if (!start(slot)) {
        if (is_fifo(world_, kit_.policy(), line.queue)) stuck_.insert(line.queue);
        return any;
      }
      any = true;
      ++answer_.count;
      if (answer_.first.size() < first_jobs_max) answer_.first.push_back(slot);
    }
    return any;
  }

  bool start(JobSlot slot) {
    Tryout tryout(world_, kit_, slot, now_);
    const Counts least = least_of(tryout.shape());
    const auto found = tryout.start(tryout.venues(), least, tryout.asker());
    if (!found) {
      bool allowed = true;
      for (const Venue& venue : tryout.venues().all)
        allowed = allowed && !tryout.over(tryout.charges(venue, least));
      if (allowed && world_.job(slot).reservation.is_none()) full_.insert(world_.job(slot).shape);
      return false;
    }
    auto pods = tryout.place(*found->venue, least);
    MUSTER_CHECK(pods.has_value(), "{} starts once but not twice", world_.job(slot).id);
    const ReservationId kept = world_.job(slot).reservation;
    if (!kept.is_none()) trial_.unreserve(kept);
    trial_.placed(slot, std::move(*pods), tryout.charges(*found->venue, least));
    return true;
  }

  World& world_;
  Kit& kit_;
  Time now_;
  Trial trial_;
  QuotaAnswer answer_;
  std::set<ShapeId> full_;   // found without room: placing more does not help
  std::set<QueueId> stuck_;  // fifo, and the first did not start
};

}  // namespace

std::vector<Counterfactual> what_if(World& world, Agenda& agenda, const Policy& policy,
                                    JobSlot slot, Time now) {
  const Job& job = world.job(slot);
  if (job.state != model::JobState::Waiting || job.line.is_none()) return {};
  if (!world.quota[job.queue].alive || !world.quota.is_in_main_tree(job.queue)) return {};
  if (!job.reservation.is_none() && world.reservation(job.reservation).preempting) return {};
  world.fleet.settle(world.shapes);
  Kit kit(agenda, policy);
  return Inquiry(world, kit, slot, now).run();
}

Result<SubmitAnswer> what_if_submit(World& world, Agenda& agenda, const Policy& policy,
                                    const model::JobSpec& spec, Time now) {
  if (const Status ok = model::validate(spec); !ok) return ok.error();
  if (!world.find_job(spec.id).is_none())
    return Error{Fault::Conflict, fmt::format("id: job {} exists", spec.id)};
  if (auto why = not_yet(world, spec, policy, now)) {
    const auto* later = std::get_if<NotBefore>(&*why);
    const Time start = later != nullptr ? later->start_after : Time::never();
    SubmitAnswer answer;
    answer.why = *why;
    answer.estimate = {start, start, start};
    return answer;
  }
  const Guest guest(world, spec, now);
  world.fleet.settle(world.shapes);  // it may ask for labels that nobody asked for before
  Kit kit(agenda, policy);
  return Rehearsal(world, kit, guest.slot(), now).run();
}

Result<QuotaAnswer> what_if_quota(World& world, Agenda& agenda, const Policy& policy,
                                  const QuotaAsk& ask, Time now) {
  const QueueId queue = world.quota.find(ask.queue);
  if (queue.is_none() || !world.quota[queue].alive)
    return Error{Fault::NotFound, fmt::format("queue: there is no queue {}", ask.queue)};
  ResourceId resource;
  for (std::size_t r = 0; r < world.quota.resource_count(); ++r) {
    const ResourceId id{static_cast<std::uint16_t>(r)};
    if (world.quota.resource_name(id) == ask.resource) resource = id;
  }
  if (resource.is_none())
    return Error{Fault::NotFound, fmt::format("resource: nobody uses {}", ask.resource)};
  if (ask.extra <= 0 || ask.extra > model::amount_max)
    return invalid(fmt::format("extra: must be above 0: {}", ask.extra));
  world.fleet.settle(world.shapes);
  Kit kit(agenda, policy);
  OtherLimits limits(world);
  limits.raise_all(queue, resource, ask.extra);
  return QuotaTrial(world, kit, now).run(queue);
}

}  // namespace muster::sched
