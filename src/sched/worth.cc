#include "sched/worth.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sched/worth_baselines.h"
#include "sched/worth_tables.h"

namespace muster::sched::worth {
namespace {

/// While more than half of the fleet is idle a share does not open an idle GPU if one in use will
/// do: this outweighs the markdown of idle GPUs, which pays only when GPUs are scarce.
constexpr std::int64_t open_idle_gpu = 6;
constexpr std::size_t memo_places = std::size_t{1} << 12;

/// Tries the pod on every distinct GPU it fits on and keeps the best, the fullest GPU first on
/// ties.
template <class Cost>
Verdict best_device(const NodeState& node, const PodShape& pod, Cost&& cost) {
  if (pod.num_gpu != 1) return {cost(place(node, pod, 0)), 0};
  Verdict best{std::numeric_limits<std::int64_t>::max(), 0};
  for (std::size_t i = 0; i < node.gpus; ++i) {
    if (node.free[i] < pod.gpu_milli || (i > 0 && node.free[i] == node.free[i - 1])) continue;
    const std::int64_t score = cost(place(node, pod, i));
    if (score < best.score) best = {score, i};
  }
  return best;
}

int idle_gpus(const NodeState& node) {
  int idle = 0;
  for (std::size_t i = 0; i < node.gpus; ++i) idle += node.free[i] == whole_milli ? 1 : 0;
  return idle;
}

std::size_t fullest_device(const NodeState& node, const PodShape& pod) {
  std::size_t i = 0;
  while (i + 1 < node.gpus && node.free[i] < pod.gpu_milli) ++i;
  return i;
}

}  // namespace

std::size_t NodeStateHash::operator()(const NodeState& s) const noexcept {
  std::uint64_t h = static_cast<std::uint64_t>(s.cpu_milli) * 0x9E3779B97F4A7C15ULL;
  const auto mixin = [&h](std::uint64_t v) {
    h = (h ^ v) * 0xFF51AFD7ED558CCDULL;
    h ^= h >> 32;
  };
  mixin(static_cast<std::uint64_t>(s.memory_mib));
  mixin(std::uint64_t{s.model} << 8 | s.gpus);
  for (std::size_t i = 0; i < s.gpus; i += 4) {
    std::uint64_t four = 0;
    for (std::size_t j = i; j < i + 4; ++j) {
      four = four << 16 | static_cast<std::uint16_t>(s.free[j]);
    }
    mixin(four);
  }
  return h;
}

bool fits(const NodeState& node, const PodShape& pod) {
  if (node.cpu_milli < pod.cpu_milli || node.memory_mib < pod.memory_mib) return false;
  if (pod.num_gpu == 0) return true;
  if (!pod.admits(node.model) || pod.num_gpu > node.gpus) return false;
  // Ascending: that one and all after it.
  return node.free[node.gpus - static_cast<std::size_t>(pod.num_gpu)] >= pod.gpu_milli;
}

NodeState place(const NodeState& node, const PodShape& pod, std::size_t device) {
  NodeState after = node;
  after.cpu_milli -= pod.cpu_milli;
  after.memory_mib -= pod.memory_mib;
  const auto count = static_cast<std::size_t>(pod.num_gpu);
  const std::size_t first = count == 1 ? device : node.gpus - count;
  for (std::size_t i = first; i < first + count; ++i) {
    after.free[i] = static_cast<std::int16_t>(after.free[i] - pod.gpu_milli);
    for (std::size_t j = i; j > 0 && after.free[j] < after.free[j - 1]; --j) {
      std::swap(after.free[j], after.free[j - 1]);
    }
  }
  return after;
}

bool stale(const Mix& mix, std::int64_t idle_milli) {
  const std::int64_t moved =
      std::max(idle_milli, mix.idle_milli) - std::min(idle_milli, mix.idle_milli);
  return 5 * moved > std::max(mix.idle_milli, mix.capacity_milli / 32);
}

std::int64_t worth_of(const Mix& mix, const NodeState& node) {
  if (mix.tables.empty()) return 0;  // never made
  return valuate(mix, room_of(mix, node)).worth;
}

std::int64_t WorthMemo::operator()(const Mix& mix, const NodeState& node) {
  if (known_.empty()) known_.resize(memo_places);
  Known& known = known_[NodeStateHash()(node) % memo_places];
  if (!known.is_known || !(known.state == node)) known = {node, worth_of(mix, node), true};
  return known.worth;
}

std::optional<Verdict> judge(Choice choice, const Mix& mix, WorthMemo& memo, const NodeState& node,
                             const PodShape& pod, std::uint64_t lot,
                             std::optional<std::int64_t> worth) {
  if (!fits(node, pod)) return std::nullopt;
  switch (choice) {
    case Choice::Default: {
      const std::int64_t before = worth ? *worth : memo(mix, node);
      const bool opening_costs = pod.num_gpu == 1 && pod.gpu_milli < whole_milli &&
                                 mix.idle_milli * 2 > mix.capacity_milli;
      return best_device(node, pod, [&](const NodeState& after) {
        const std::int64_t lost = (before - memo(mix, after)) >> tie_bits;
        return lost + (opening_costs && idle_gpus(after) < idle_gpus(node) ? open_idle_gpu : 0);
      });
    }
    case Choice::Fgd: {
      const std::int64_t before = fragmentation(mix, node);
      const std::int64_t total = std::max<std::int64_t>(mix.typical_total, 1);
      return best_device(node, pod, [&](const NodeState& after) {
        return sigmoid_score(fragmentation(mix, after) - before, total);
      });
    }
    case Choice::BestFit: {
      const std::size_t device = fullest_device(node, pod);
      return Verdict{left_over(place(node, pod, device)), device};
    }
    case Choice::Random:
      return Verdict{static_cast<std::int64_t>(lot >> 1), fullest_device(node, pod)};
  }
  return std::nullopt;
}

}  // namespace muster::sched::worth
