#include "sched/bounds.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <variant>

#include "sched/gpu_state.h"

namespace muster::sched {
namespace {

__extension__ using Wide = __int128;

constexpr int pods_most = 100'000;  // of a gang, as model::validate has it
constexpr Duration longest{Time::never().ms / 2};

bool is_amount(std::int64_t amount) { return 0 <= amount && amount <= model::amount_max; }
bool is_span(Duration d) { return Duration{0} <= d && d <= longest; }
bool is_time(Time t) { return Time{0} <= t && t <= Time::never(); }

template <typename Names>
bool are_names(const Names& names) {
  return std::none_of(names.begin(), names.end(), [](const auto& name) { return name.empty(); });
}

bool are_amounts(const model::Resources& r) {
  return is_amount(r.cpu.v) && is_amount(r.memory.v) &&
         std::all_of(r.extended.begin(), r.extended.end(), [](const auto& named) {
           return !named.first.empty() && is_amount(named.second);
         });
}

/// Of a device at least one is asked for: the engine divides by that.
bool asks_for_devices(const model::Resources& r) {
  return std::all_of(r.extended.begin(), r.extended.end(),
                     [](const auto& named) { return named.second >= 1; });
}

bool is_set(const model::PodSet& set) {
  const model::PodShape& pod = set.pod;
  return 1 <= set.count && set.count <= pods_most && 0 <= set.min_count &&
         set.min_count <= set.count && set.pods_per_node >= 0 && are_amounts(pod.requests) &&
         asks_for_devices(pod.requests) && 0 <= pod.gpu.count &&
         pod.gpu.count <= gpus_per_node_max && 1 <= pod.gpu.each.v && pod.gpu.each.v <= 1000 &&
         is_amount(pod.gpu.memory_each.v) &&
         std::all_of(pod.spread.begin(), pod.spread.end(),
                     [](const model::Spread& spread) { return spread.max_skew >= 1; });
}

/// Together they must be amounts as well.
bool are_sets(const std::vector<model::PodSet>& sets) {
  Wide pods = 0;
  Wide cpu = 0;
  Wide memory = 0;
  std::map<std::string_view, Wide> extended;
  for (const model::PodSet& set : sets) {
    if (!is_set(set)) return false;
    pods += set.count;
    cpu += Wide{set.count} * set.pod.requests.cpu.v;
    memory += Wide{set.count} * set.pod.requests.memory.v;
    for (const auto& [name, amount] : set.pod.requests.extended)
      extended[name] += Wide{set.count} * amount;
  }
  return !sets.empty() && pods <= pods_most && cpu <= model::amount_max &&
         memory <= model::amount_max &&
         std::all_of(extended.begin(), extended.end(),
                     [](const auto& total) { return total.second <= model::amount_max; });
}

bool is_priority(int priority) {
  return model::priority_min <= priority && priority <= model::priority_max;
}

bool is_limit(const model::Limit& limit) {
  const auto none_or_amount = [](const std::optional<std::int64_t>& amount) {
    return !amount || is_amount(*amount);
  };
  return none_or_amount(limit.guaranteed) && none_or_amount(limit.maximum) &&
         none_or_amount(limit.borrow) && none_or_amount(limit.lend);
}

bool are_places(const std::vector<model::PodPlace>& places) {
  return places.size() <= pods_most && std::all_of(places.begin(), places.end(), [](const auto& p) {
           return !p.node.empty() && (p.devices >> gpus_per_node_max) == 0 && p.each <= 1000;
         });
}

struct Bounds {
  bool operator()(const model::JobSubmitted& e) const {
    const model::JobSpec& s = e.spec;
    return !s.id.empty() && !s.queue.empty() && are_names(s.extra_queues) &&
           is_priority(s.priority) && are_sets(s.gang.sets) && is_span(s.gang.min_runtime) &&
           s.gang.max_retries >= 0 && is_span(s.run_limit) && is_time(s.start_after) &&
           is_time(s.deadline);
  }
  bool operator()(const model::PriorityChanged& e) const { return is_priority(e.priority); }
  bool operator()(const model::QueueChanged& e) const { return !e.queue.empty(); }
  bool operator()(const model::QueueSet& e) const {
    return !e.spec.name.empty() &&
           std::all_of(e.spec.limits.begin(), e.spec.limits.end(), [](const auto& limit) {
             return !limit.first.empty() && is_limit(limit.second);
           });
  }
  bool operator()(const model::ClusterSet& e) const {
    const auto& prices = e.spec.gpu_price_milli;
    return !e.spec.name.empty() && is_span(e.spec.grace) &&
           std::all_of(prices.begin(), prices.end(),
                       [](const auto& price) { return is_amount(price.second); });
  }
  bool operator()(const model::Placed& e) const { return are_places(e.pods); }
  bool operator()(const model::PodsBound& e) const { return are_places(e.pods); }
  bool operator()(const model::Reserved& e) const {
    return is_time(e.start) && are_names(e.nodes) &&
           std::all_of(e.charges.begin(), e.charges.end(), [](const auto& charge) {
             return !charge.first.empty() && is_amount(charge.second);
           });
  }
  bool operator()(const model::StartFailed& e) const { return is_time(e.not_before); }
  bool operator()(const model::NodeSeen& e) const {
    const model::NodeSpec& n = e.node;
    return !n.name.empty() && are_amounts(n.allocatable) && n.pods_max >= 0 && n.gpu_count >= 0 &&
           is_amount(n.gpu_memory.v);
  }
  bool operator()(const model::ForeignPodSeen& e) const {
    return !e.pod.node.empty() && are_amounts(e.pod.requests) && e.pod.gpus >= 0;
  }
  template <typename Other>
  bool operator()(const Other&) const {
    return true;
  }
};

}  // namespace

bool within_bounds(const model::Event& event) {
  return is_time(event.at) && !event.at.is_never() && std::visit(Bounds{}, event.body);
}

}  // namespace muster::sched
