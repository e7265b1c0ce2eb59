#include "sched/worth_baselines.h"

#include <algorithm>
#include <array>
#include <functional>
#include <tuple>

namespace muster::sched::worth {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t typical_percent = 95;
// Best fit weighs what is left against the largest node.
constexpr std::int64_t largest_cpu_milli = 128'000;
constexpr std::int64_t largest_gpu_milli = 8'000;

// Least growth, in 1e-6 GPU milli, at which floor(100 * sigmoid(growth / 1000)) reaches 51, 52,
// ... 99.
constexpr std::array<std::int64_t, 49> sigmoid_steps = {
    40005335,   80042708,   120144312,  160342651,  200670696,  241162057,  281851153,
    322773393,  363965378,  405465109,  447312219,  489548226,  532216814,  575364145,
    619039209,  663294218,  708185058,  753771803,  800119301,  847297861,  895384048,
    944461609,  994622576,  1045968556, 1098612289, 1152679510, 1208311206, 1265666374,
    1324925415, 1386294362, 1450010176, 1516347490, 1585627264, 1658228077, 1734601056,
    1815289967, 1900958762, 1992430165, 2090741097, 2197224578, 2313634930, 2442347036,
    2586689345, 2751535314, 2944438980, 3178053831, 3476098690, 3891820299, 4595119851};

std::int64_t idle_milli(const NodeState& node) {
  std::int64_t idle = 0;
  for (std::size_t i = 0; i < node.gpus; ++i) idle += node.free[i];
  return idle;
}

}  // namespace

void add_typical(Mix& mix, std::span<const Mix::Typical> pods) {
  mix.typical.assign(pods.begin(), pods.end());
  std::ranges::sort(mix.typical, std::ranges::greater{}, [](const Mix::Typical& t) {
    return std::tuple(t.count, -t.cpu_milli, -t.num_gpu, -t.gpu_milli, t.models);
  });
  std::int64_t total = 0;
  for (const Mix::Typical& t : pods) total += t.count;
  mix.typical_total = 0;
  std::size_t kept = 0;
  while (kept < mix.typical.size() && mix.typical_total * 100 < total * typical_percent) {
    mix.typical_total += mix.typical[kept++].count;
  }
  mix.typical.resize(kept);
}

std::int64_t fragmentation(const Mix& mix, const NodeState& node) {
  const std::int64_t idle = idle_milli(node);
  if (idle == 0) return 0;
  std::int64_t sum = 0;
  for (const Mix::Typical& t : mix.typical) {
    std::int32_t enough = 0;
    std::int64_t too_small = 0;
    for (std::size_t i = 0; i < node.gpus; ++i) {
      if (node.free[i] >= t.gpu_milli) {
        ++enough;
      } else {
        too_small += node.free[i];
      }
    }
    const bool runs = t.num_gpu > 0 && node.cpu_milli >= t.cpu_milli && enough >= t.num_gpu &&
                      ((t.models >> node.model) & 1) != 0;
    sum += t.count * (runs ? too_small : idle);
  }
  return sum;
}

std::int64_t sigmoid_score(std::int64_t growth, std::int64_t total) {
  const auto micro = static_cast<std::int64_t>(Wide{growth} * 1'000'000 / total);
  const auto reached = [](std::int64_t x) {
    return std::ranges::upper_bound(sigmoid_steps, x) - sigmoid_steps.begin();
  };
  return growth >= 0 ? 50 + reached(micro) : 49 - reached(-micro);
}

std::int64_t left_over(const NodeState& node) {
  return 50 * node.cpu_milli / largest_cpu_milli + 50 * idle_milli(node) / largest_gpu_milli;
}

}  // namespace muster::sched::worth
