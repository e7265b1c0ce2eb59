// The swarm at the size of CI: every seed has its own fleet, jobs and mix of faults. A seed that
// fails is looked at with `muster sim run --faults --seed N --jobs 60 --hours 1`.
//
//   MUSTER_SIM_SEED   the first seed (default 1)
//   MUSTER_SIM_SEEDS  how many (default 60)
#include <gtest/gtest.h>

#include <cstdlib>

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

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::uint64_t first_seed() { return from_environment("MUSTER_SIM_SEED", 1); }
std::uint64_t end_seed() { return first_seed() + from_environment("MUSTER_SIM_SEEDS", 60); }

class Seed : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Seed, IsSafeUnderFaultsAndEndsWhenTheyStop) {
  const Outcome outcome = run(GetParam());
  EXPECT_EQ(outcome.violation, "") << "faults: " << outcome.faults;
}
INSTANTIATE_TEST_SUITE_P(Swarm, Seed, testing::Range(first_seed(), end_seed()),
                         testing::PrintToStringParamName());

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
