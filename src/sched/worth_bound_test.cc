#include "sched/worth_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/prng.h"

namespace muster::sched::worth {
namespace {

PodShape random_pod(Prng& prng) {
  const auto gpus = static_cast<std::int32_t>(prng.below(5));
  return {prng.between(0, 24'000), prng.between(0, 120'000), gpus, gpus > 0 ? whole_milli : 0,
          any_model};
}

NodeState random_node(Prng& prng) {
  NodeState s;
  s.cpu_milli = prng.between(0, 96'000);
  s.memory_mib = prng.between(0, 700'000);
  s.gpus = 8;
  for (std::size_t i = 0; i < s.gpus; ++i) {
    s.free[i] = static_cast<std::int16_t>(prng.below(2) == 0 ? 1000 : prng.below(1000));
  }
  std::sort(s.free.begin(), s.free.begin() + s.gpus);
  return s;
}

std::size_t idle_gpus(const NodeState& s) {
  return static_cast<std::size_t>(std::count(s.free.begin(), s.free.begin() + s.gpus, 1000));
}

Mix random_mix(Prng& prng) {
  std::vector<ShapeCount> demand = {{{4'000, 16'000, 1, 300, any_model}, 50}};
  for (int i = 0; i < 12; ++i) demand.push_back({random_pod(prng), prng.between(1, 100)});
  std::vector<NodeCount> fleet;
  for (int i = 0; i < 30; ++i) fleet.push_back({random_node(prng), prng.between(1, 5)});
  return make_mix(demand, fleet, 600'000, nullptr);
}

TEST(WorthBound, NoPodOfWholeGpusCostsLessThanItsBound) {
  Prng prng(3);
  int tight = 0;
  int fitting = 0;
  for (int round = 0; round < 20; ++round) {
    const Mix mix = random_mix(prng);
    WorthMemo memo;
    for (int i = 0; i < 500; ++i) {
      const NodeState node = random_node(prng);
      const PodShape pod = random_pod(prng);
      const auto verdict = judge(Choice::Default, mix, memo, node, pod, 0);
      if (!verdict) continue;
      const std::int64_t bound =
          LeastLoss(mix, pod).score(appraise(mix, node).table, idle_gpus(node));
      ASSERT_LE(bound, verdict->score);
      ++fitting;
      tight += bound == verdict->score ? 1 : 0;
    }
  }
  // A bound that says little would be no help.
  EXPECT_GT(tight, fitting / 4);
}

TEST(WorthBound, AnAppraisedNodeIsJudgedAsAnyOther) {
  Prng prng(4);
  const Mix mix = random_mix(prng);
  WorthMemo memo;
  for (int i = 0; i < 500; ++i) {
    const NodeState node = random_node(prng);
    const PodShape pod = random_pod(prng);
    const Appraisal known = appraise(mix, node);
    EXPECT_EQ(known.worth, worth_of(mix, node));
    const auto found = judge(Choice::Default, mix, memo, node, pod, 0);
    const auto again = judge(Choice::Default, mix, memo, node, pod, 0, known.worth);
    ASSERT_EQ(found.has_value(), again.has_value());
    if (found) EXPECT_EQ(found->score, again->score);
  }
}

}  // namespace
}  // namespace muster::sched::worth
