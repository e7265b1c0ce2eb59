// The swarm at the size of CI: every seed has its own fleet, jobs and mix of faults. A seed that
// fails is looked at with `muster sim run --faults --seed N --jobs 60 --hours 1`.
#include <gtest/gtest.h>

#include "sim/simulation.h"
#include "sim/workload.h"

namespace muster::sim {
namespace {

Outcome run(std::uint64_t seed) {
  SimulateOptions options;
  options.seed = seed;
  options.faults = true;
  return simulate(random_workload({seed, 60, hours(1)}), options);
}

class Seed : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Seed, IsSafeUnderFaultsAndEndsWhenTheyStop) {
  const Outcome outcome = run(GetParam());
  EXPECT_EQ(outcome.violation, "") << "faults: " << outcome.faults;
}
INSTANTIATE_TEST_SUITE_P(Swarm, Seed, testing::Range<std::uint64_t>(1, 61));

TEST(Determinism, ASeedTwiceIsTheSameHistory) {
  for (const std::uint64_t seed : {7u, 21u, 42u}) {
    const Outcome first = run(seed);
    const Outcome again = run(seed);
    EXPECT_EQ(first.hash, again.hash) << seed;
    EXPECT_EQ(first.journal, again.journal) << seed;
    EXPECT_EQ(first.end, again.end) << seed;
  }
}

}  // namespace
}  // namespace muster::sim
