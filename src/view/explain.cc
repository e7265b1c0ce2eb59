#include "view/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

namespace muster::view {
namespace {

using namespace sched;  // NOLINT: this file is about the engine's words

// ----------------------------------------------------------------------------------------------
// names and numbers

std::string job_name(const World& world, JobSlot slot) {
  return slot.is_none() ? "?" : world.job(slot).id;
}
std::string cluster_name(const World& world, ClusterId id) {
  return id.is_none() ? "?" : world.fleet.cluster(id).spec.name;
}
/// The hidden root of a tree stands for all there is.
std::string queue_name(const World& world, QueueId id) {
  const std::string& name = world.quota[id].name;
  return name.empty() ? "fleet" : name;
}
std::string type_name(const World& world, TypeId id) {
  return id.is_none() || id.v == 0 ? "-" : world.fleet.type_name(id);
}

}  // namespace

std::string missing_kind(const World& world, const NoCluster& why) {
  return why.shape.is_none() ? "?" : world.shapes[why.shape].gang.kinds.at(why.lacks);
}

namespace {

std::string_view bound_name(QuotaBound bound) {
  switch (bound) {
    case QuotaBound::Maximum:
      return "maximum";
    case QuotaBound::Borrow:
      return "borrow";
    case QuotaBound::Held:
      return "held";
    case QuotaBound::Kept:
      return "kept";
  }
  return "";
}

/// The limit that a raise is about.
std::string_view limit_name(QuotaBound bound) {
  switch (bound) {
    case QuotaBound::Maximum:
    case QuotaBound::Kept:
      return "maximum";
    case QuotaBound::Borrow:
      return "borrow";
    case QuotaBound::Held:
      return "guaranteed";
  }
  return "";
}

/// In units of `one`, to three decimals, rounded to the nearest, without trailing zeros.
std::string decimal(std::int64_t amount, std::int64_t one) {
  const bool negative = amount < 0;
  const std::int64_t size = negative ? -amount : amount;
  std::int64_t whole = size / one;
  const std::int64_t rest = size % one;
  // rest * 1000 must not overflow: memory amounts are below 2^55, units up to 2^30.
  std::int64_t milli = (rest * 1000 + one / 2) / one;
  if (milli == 1000) {
    ++whole;
    milli = 0;
  }
  std::string text = fmt::format("{}{}", negative ? "-" : "", whole);
  if (milli == 0) return text;
  std::string digits = fmt::format("{:03}", milli);
  while (digits.back() == '0') digits.pop_back();
  return text + "." + digits;
}

std::string memory_text(std::int64_t bytes) {
  const std::int64_t size = bytes < 0 ? -bytes : bytes;
  constexpr std::int64_t ki = 1 << 10;
  constexpr std::int64_t mi = 1 << 20;
  constexpr std::int64_t gi = 1 << 30;
  if (size >= gi) return decimal(bytes, gi) + "Gi";
  if (size >= mi) return decimal(bytes, mi) + "Mi";
  if (size >= ki) return decimal(bytes, ki) + "Ki";
  return fmt::format("{}", bytes);
}

bool is_gpu(std::string_view resource) { return resource == "gpu" || resource.starts_with("gpu."); }

std::string unit_of(std::string_view resource, bool one) {
  if (resource == "cpu") return one ? "CPU core" : "CPU cores";
  if (resource == "memory") return "memory";
  if (!is_gpu(resource)) return std::string(resource);
  const std::string_view type = resource.size() > 4 ? resource.substr(4) : std::string_view();
  return fmt::format("{}{}{}", type, type.empty() ? "" : " ", one ? "GPU" : "GPUs");
}

std::string count_of(std::int64_t n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

/// "+20m", exact, for lines.
std::string offset(Time t, Time now) {
  if (t.is_never()) return "never";
  const Duration d = t - now;
  return fmt::format("{}{}", d.ms < 0 ? "" : "+", to_text(d));
}

const std::string& resource_of(const World& world, ResourceId id) {
  return world.quota.resource_name(id);
}

// ----------------------------------------------------------------------------------------------
// lines

struct VerdictLine {
  const World& world;
  Time now;
  std::string operator()(const NotTried&) const { return "not-tried"; }
  std::string operator()(const Infeasible& w) const {
    return fmt::format("infeasible {}/{} best={}", w.best, w.pods,
                       cluster_name(world, w.best_cluster));
  }
  std::string operator()(const NoRoom& w) const {
    return fmt::format("no-room {}/{} best={}", w.best, w.pods,
                       cluster_name(world, w.best_cluster));
  }
  std::string operator()(const WouldDelay& w) const {
    return fmt::format("would-delay {} until={}", job_name(world, w.holder),
                       offset(w.reserved_start, now));
  }
  std::string operator()(const HasReservation& w) const {
    return fmt::format("reserved {} {}", cluster_name(world, w.cluster), offset(w.start, now));
  }
  std::string operator()(const Preempting& w) const {
    return fmt::format("preempting {} victims={}", cluster_name(world, w.cluster), w.victims);
  }
  std::string operator()(const OverQuota& w) const {
    const std::string& resource = resource_of(world, w.resource);
    return fmt::format("over-quota {} {} asked={} room={} {}", queue_name(world, w.queue), resource,
                       amount_text(resource, w.asked), amount_text(resource, w.room),
                       bound_name(w.bound));
  }
  std::string operator()(const BehindFirst& w) const {
    return "behind-first " + job_name(world, w.first);
  }
  std::string operator()(const NotBefore& w) const {
    return "not-before " + offset(w.start_after, now);
  }
  std::string operator()(const WaitsFor& w) const {
    return "waits-for " + job_name(world, w.dependency);
  }
  std::string operator()(const NoCluster& w) const {
    std::string line = fmt::format("no-cluster excluded={} unhealthy={}", w.excluded, w.unhealthy);
    if (w.lacking > 0) line += fmt::format(" lacking={} {}", w.lacking, missing_kind(world, w));
    return line;
  }
  std::string operator()(const UnknownQueue&) const { return "unknown-queue"; }
  std::string operator()(const FurtherTree& w) const {
    return "further-tree " + world.quota.tree_name(w.queue);
  }
  std::string operator()(const OnHold&) const { return "on-hold"; }
};

struct ChangeLine {
  const World& world;
  Time now;
  std::string operator()(const FewerPods& c) const {
    return fmt::format("fewer-pods {}->{} cluster={}", c.from, c.to,
                       cluster_name(world, c.cluster));
  }
  std::string operator()(const OtherCluster& c) const {
    constexpr std::array<std::string_view, 3> bars = {"pinned", "excluded", "pool"};
    return fmt::format("other-cluster {} {}", cluster_name(world, c.cluster),
                       bars[static_cast<std::size_t>(c.bar)]);
  }
  std::string operator()(const OtherGpuType& c) const {
    return fmt::format("other-gpu-type {} cluster={}", type_name(world, c.type),
                       cluster_name(world, c.cluster));
  }
  std::string operator()(const HigherPriority& c) const {
    return fmt::format("higher-priority {} victims={}", c.priority, c.victims);
  }
  std::string operator()(const MoreQuota& c) const {
    std::string text = "more-quota";
    for (const QuotaRaise& raise : c.raises) {
      const std::string& resource = resource_of(world, raise.resource);
      text += fmt::format("{} {} {} +{} {}", &raise == c.raises.data() ? "" : ",",
                          queue_name(world, raise.queue), resource,
                          amount_text(resource, raise.amount), limit_name(raise.bound));
    }
    return text;
  }
  std::string operator()(const WhenJobEnds& c) const {
    return fmt::format("when-ends {} {} cluster={}", job_name(world, c.job), offset(c.time, now),
                       cluster_name(world, c.cluster));
  }
  std::string operator()(const ShorterRunLimit& c) const {
    return fmt::format("run-limit {} cluster={}", to_text(c.limit), cluster_name(world, c.cluster));
  }
  std::string operator()(const NodesUnavailable& c) const {
    return fmt::format("nodes-unavailable {} cluster={}", c.count, cluster_name(world, c.cluster));
  }
  std::string operator()(const ClusterBack& c) const {
    return fmt::format("cluster-back {} {}", cluster_name(world, c.cluster), health_text(c.health));
  }
  std::string operator()(const CutShort&) const { return "cut-short"; }
};

// ----------------------------------------------------------------------------------------------
// sentences

struct VerdictSentence {
  const World& world;
  Time now;
  std::string operator()(const NotTried&) const { return "not looked at yet"; }
  std::string operator()(const Infeasible& w) const {
    return fmt::format("can never start: {} of {} fit even in an empty cluster {}", w.best,
                       count_of(w.pods, "pod", "pods"), cluster_name(world, w.best_cluster));
  }
  std::string operator()(const NoRoom& w) const {
    return fmt::format("waits for room: {} of {} fit in cluster {}", w.best,
                       count_of(w.pods, "pod", "pods"), cluster_name(world, w.best_cluster));
  }
  std::string operator()(const WouldDelay& w) const {
    return fmt::format("would delay {}, which has nodes reserved {}", job_name(world, w.holder),
                       from(w.reserved_start));
  }
  std::string operator()(const HasReservation& w) const {
    return fmt::format("has nodes reserved in cluster {} {}", cluster_name(world, w.cluster),
                       from(w.start));
  }
  std::string operator()(const Preempting& w) const {
    return fmt::format("starts in cluster {} when {} made room for it",
                       cluster_name(world, w.cluster), count_of(w.victims, "job has", "jobs have"));
  }
  std::string operator()(const OverQuota& w) const {
    const std::string& resource = resource_of(world, w.resource);
    const std::string asks = amount_text(resource, w.asked);
    const std::string more = w.room > 0 ? amount_with_unit(resource, w.room) + " more"
                                        : "no more " + unit_of(resource, false);
    if (w.bound == QuotaBound::Held) {
      const std::string& queue = world.quota[w.queue].name;
      return fmt::format("over quota: {} may use {}, asks {} (the rest is promised to others)",
                         queue.empty() ? "all queues together" : "queue " + queue, more, asks);
    }
    if (w.bound == QuotaBound::Kept) {
      return fmt::format(
          "over quota: queue {} may use {}, asks {} (the rest is kept for a job that goes first)",
          queue_name(world, w.queue), more, asks);
    }
    return fmt::format("over quota: queue {} may use {}, asks {} ({})", queue_name(world, w.queue),
                       more, asks, w.bound == QuotaBound::Borrow ? "borrow limit" : "maximum");
  }
  std::string operator()(const BehindFirst& w) const {
    return fmt::format("stands behind {}, which goes first", job_name(world, w.first));
  }
  std::string operator()(const NotBefore& w) const {
    return fmt::format("may not start yet: {}", relative(w.start_after, now));
  }
  std::string operator()(const WaitsFor& w) const {
    if (w.dependency.is_none()) return "waits for a job that is not there";
    return fmt::format("waits for {} to succeed", job_name(world, w.dependency));
  }
  std::string operator()(const NoCluster& w) const {
    if (w.excluded + w.unhealthy + w.lacking == 0)
      return "no cluster could run it: none has what it asks for";
    if (w.excluded + w.unhealthy == 0)
      return fmt::format("no cluster serves its kind {}: is a definition missing?",
                         missing_kind(world, w));
    std::string text = fmt::format(
        "no cluster may run it: {} ruled out by its pins, exclusions or pool, {} not"
        " taking jobs",
        w.excluded, w.unhealthy);
    if (w.lacking > 0)
      text += fmt::format(", {} without its kind {}", w.lacking, missing_kind(world, w));
    return text;
  }
  std::string operator()(const UnknownQueue&) const { return "its queue does not exist"; }
  std::string operator()(const FurtherTree& w) const {
    return fmt::format("its queue {} is of the tree '{}', which jobs name in extra_queues",
                       queue_name(world, w.queue), world.quota.tree_name(w.queue));
  }
  std::string operator()(const OnHold&) const { return "on hold until somebody releases it"; }

 private:
  std::string from(Time t) const {
    return t <= now ? "now" : fmt::format("{} from now", rough(t - now));
  }
};

struct ChangeSentence {
  const World& world;
  Time now;
  std::string operator()(const FewerPods& c) const {
    return fmt::format("starts now in cluster {} with {} instead of {}",
                       cluster_name(world, c.cluster), count_of(c.to, "pod", "pods"), c.from);
  }
  std::string operator()(const OtherCluster& c) const {
    constexpr std::array<std::string_view, 3> bars = {"it is pinned to others", "it excludes it",
                                                      "its pool is elsewhere"};
    return fmt::format("would start now in cluster {}, but {}", cluster_name(world, c.cluster),
                       bars[static_cast<std::size_t>(c.bar)]);
  }
  std::string operator()(const OtherGpuType& c) const {
    return fmt::format("would start now on {} GPUs in cluster {}", type_name(world, c.type),
                       cluster_name(world, c.cluster));
  }
  std::string operator()(const HigherPriority& c) const {
    if (c.victims == 0) return fmt::format("with priority {} it would start now", c.priority);
    return fmt::format("with priority {} it would start when {} made room for it", c.priority,
                       count_of(c.victims, "running job has", "running jobs have"));
  }
  std::string operator()(const MoreQuota& c) const {
    std::string text = "would start now if ";
    for (const QuotaRaise& raise : c.raises) {
      if (&raise != c.raises.data()) text += " and ";
      const std::string_view limit =
          raise.bound == QuotaBound::Borrow ? "borrow limit" : limit_name(raise.bound);
      text +=
          fmt::format("queue {} had {} more ({})", queue_name(world, raise.queue),
                      amount_with_unit(resource_of(world, raise.resource), raise.amount), limit);
    }
    return text;
  }
  std::string operator()(const WhenJobEnds& c) const {
    return fmt::format("fits in cluster {} when {} ends, expected {}",
                       cluster_name(world, c.cluster), job_name(world, c.job),
                       relative(c.time, now));
  }
  std::string operator()(const ShorterRunLimit& c) const {
    return fmt::format("would start now in cluster {} if it ran at most {}",
                       cluster_name(world, c.cluster), to_text(c.limit));
  }
  std::string operator()(const NodesUnavailable& c) const {
    return fmt::format("would start now in cluster {} if {} there {} ready and not cordoned",
                       cluster_name(world, c.cluster), count_of(c.count, "node", "nodes"),
                       c.count == 1 ? "was" : "were");
  }
  std::string operator()(const ClusterBack& c) const {
    return fmt::format("would start now in cluster {}, but that is {}",
                       cluster_name(world, c.cluster), health_text(c.health));
  }
  std::string operator()(const CutShort&) const {
    return "may start with a higher priority: too many running jobs to try that out";
  }
};

struct DecisionSentence {
  Time now;
  std::string operator()(const model::Placed& d) const {
    std::set<std::string_view> nodes;
    for (const model::PodPlace& pod : d.pods) nodes.insert(pod.node);
    std::string text =
        fmt::format("{} starts in cluster {}: {} on {}", d.job, d.cluster,
                    count_of(static_cast<std::int64_t>(d.pods.size()), "pod", "pods"),
                    count_of(static_cast<std::int64_t>(nodes.size()), "node", "nodes"));
    if (!d.pool.empty()) text += " of pool " + d.pool;
    if (d.attempt > 1) text += fmt::format(" (attempt {})", d.attempt);
    return text;
  }
  std::string operator()(const model::Stopped& d) const {
    switch (d.why) {
      case model::StopWhy::Priority:
        return fmt::format("{} goes back to its queue: {} has a higher priority", d.job,
                           d.beneficiary);
      case model::StopWhy::Reclaim:
        return fmt::format("{} goes back to its queue: {} uses what its queue is promised", d.job,
                           d.beneficiary);
      case model::StopWhy::Drain:
        return fmt::format("{} goes back to its queue: its cluster is being drained", d.job);
      case model::StopWhy::RunLimit:
        return fmt::format("{} is stopped: it has reached its run-time limit", d.job);
      case model::StopWhy::ClusterLost:
        return fmt::format("{} starts again elsewhere: its cluster is lost", d.job);
    }
    return d.job;
  }
  std::string operator()(const model::Reserved& d) const {
    const std::string nodes = count_of(static_cast<std::int64_t>(d.nodes.size()), "node", "nodes");
    if (d.preempting)
      return fmt::format("{} gets {} in cluster {} as soon as they are free", d.job, nodes,
                         d.cluster);
    return fmt::format("{} has {} reserved in cluster {}: {}", d.job, nodes, d.cluster,
                       relative(d.start, now));
  }
  std::string operator()(const model::ReservationDropped& d) const {
    return fmt::format("{} has no nodes reserved any more", d.job);
  }
  std::string operator()(const model::GivenUp& d) const {
    switch (d.why) {
      case model::FailWhy::DependencyFailed:
        return fmt::format("{} fails: a job it depends on did not succeed", d.job);
      case model::FailWhy::DeadlinePassed:
        return fmt::format("{} fails: its deadline has passed", d.job);
      case model::FailWhy::RetriesExhausted:
        return fmt::format("{} fails: no retries are left", d.job);
    }
    return d.job;
  }
};

}  // namespace

// ----------------------------------------------------------------------------------------------
// words

std::string amount_text(std::string_view resource, std::int64_t amount) {
  if (resource == "cpu" || is_gpu(resource)) return decimal(amount, 1000);
  if (resource == "memory") return memory_text(amount);
  return fmt::format("{}", amount);
}

std::string amount_with_unit(std::string_view resource, std::int64_t amount) {
  const bool one = (resource == "cpu" || is_gpu(resource)) && amount == 1000;
  return fmt::format("{} {}", amount_text(resource, amount), unit_of(resource, one));
}

std::string rough(Duration d) {
  const std::int64_t ms = d.ms < 0 ? -d.ms : d.ms;
  if (ms < 1000) return "a moment";
  constexpr std::array<std::pair<std::int64_t, char>, 4> units = {
      {{86'400'000, 'd'}, {3'600'000, 'h'}, {60'000, 'm'}, {1000, 's'}}};
  std::string text;
  std::int64_t left = ms;
  int parts = 0;
  for (const auto& [unit, name] : units) {
    const std::int64_t n = left / unit;
    left %= unit;
    if (n > 0) text += fmt::format("{}{}", n, name);
    if (n > 0 || parts > 0) ++parts;
    if (parts == 2) break;
  }
  return text;
}

std::string relative(Time t, Time now) {
  if (t.is_never()) return "never";
  const Duration d = t - now;
  if (d.ms == 0) return "now";
  return d.ms > 0 ? "in " + rough(d) : rough(d) + " ago";
}

std::string_view health_text(model::Health health) {
  switch (health) {
    case model::Health::Ready:
      return "ready";
    case model::Health::Degraded:
      return "degraded";
    case model::Health::Unreachable:
      return "unreachable";
    case model::Health::Draining:
      return "draining";
    case model::Health::Cordoned:
      return "cordoned";
  }
  return "";
}

// ----------------------------------------------------------------------------------------------
// the whole

std::string verdict_line(const World& world, const Why& why, Time now) {
  return std::visit(VerdictLine{world, now}, why);
}

std::string counterfactual_line(const World& world, const Counterfactual& change, Time now) {
  return std::visit(ChangeLine{world, now}, change);
}

std::string sentence(const World& world, const Why& why, Time now) {
  return std::visit(VerdictSentence{world, now}, why);
}

std::string sentence(const World& world, const Counterfactual& change, Time now) {
  return std::visit(ChangeSentence{world, now}, change);
}

std::string sentence(const Estimate& estimate, Time now) {
  if (estimate.expected.is_never()) return "never, as things are";
  if (estimate.expected <= now) return "now";
  if (estimate.low >= estimate.high) return relative(estimate.expected, now);
  const std::string low = estimate.low <= now ? "now" : rough(estimate.low - now);
  const std::string high =
      estimate.high.is_never() ? "an unknown time" : rough(estimate.high - now);
  return fmt::format("{}, between {} and {}", relative(estimate.expected, now), low, high);
}

std::string sentence(const model::Decision& decision, Time now) {
  return std::visit(DecisionSentence{now}, decision);
}

std::string sentence(const World& world, const SubmitAnswer& answer, Time now) {
  if (answer.starts_now) {
    int pods = 0;
    for (const NodeShare& share : answer.nodes) pods += share.pods;
    return fmt::format("would start now in cluster {}: {} on {}",
                       cluster_name(world, answer.cluster), count_of(pods, "pod", "pods"),
                       count_of(static_cast<std::int64_t>(answer.nodes.size()), "node", "nodes"));
  }
  return fmt::format("would wait: {}; expected to start {}", sentence(world, answer.why, now),
                     sentence(answer.estimate, now));
}

std::string sentence(const World& world, const QuotaAsk& ask, const QuotaAnswer& answer) {
  const std::string more = amount_with_unit(ask.resource, ask.extra);
  if (answer.count == 0)
    return fmt::format("no job of queue {} would start with {} more", ask.queue, more);
  std::string text =
      fmt::format("{}{} of queue {} would start with {} more: ", answer.at_least ? "at least " : "",
                  count_of(answer.count, "job", "jobs"), ask.queue, more);
  for (std::size_t i = 0; i < answer.first.size(); ++i)
    text += (i == 0 ? "" : ", ") + job_name(world, answer.first[i]);
  const auto named = static_cast<int>(answer.first.size());
  if (named < answer.count) text += fmt::format(" and {} more", answer.count - named);
  return text;
}

std::string score_table(const World& world, std::span<const ClusterScore> rows,
                        const ClusterWeights& weights) {
  std::vector<std::vector<std::string>> cells = {{"cluster", "gpu"}, {"weight", ""}};
  for (std::size_t p = 0; p < part_count; ++p) {
    cells[0].emplace_back(to_text(static_cast<Part>(p)));
    cells[1].push_back(fmt::format("{}", weight_of(static_cast<Part>(p), weights)));
  }
  cells[0].emplace_back("total");
  cells[1].emplace_back("");
  for (const ClusterScore& row : rows) {
    cells.push_back({cluster_name(world, row.cluster), type_name(world, row.type)});
    for (const std::int64_t points : row.points) cells.back().push_back(fmt::format("{}", points));
    cells.back().push_back(fmt::format("{}", row.total));
  }
  std::vector<std::size_t> width(cells[0].size(), 0);
  for (const auto& row : cells) {
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  }
  std::string text;
  for (std::size_t at = 0; at < cells.size(); ++at) {
    const auto& row = cells[at];
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line +=
          i < 2 ? fmt::format("{:<{}}", row[i], width[i]) : fmt::format("{:>{}}", row[i], width[i]);
      if (i + 1 < row.size()) line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    if (at > 1 && rows[at - 2].failed_before) line += "  a start failed there: others come first";
    text += line + "\n";
  }
  return text;
}

std::string unreachable_text(std::string_view cluster, Duration since, std::string_view why) {
  return fmt::format(
      "cluster {} cannot be reached since {}{}{}; what is shown of it was seen before", cluster,
      rough(since), why.empty() ? "" : ": ", why);
}

}  // namespace muster::view
