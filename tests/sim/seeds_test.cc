// The swarm at the size of CI: every seed has its own fleet, jobs and mix of faults. A seed that
// fails is looked at with `muster sim run --faults --seed N --jobs 60 --hours 1`.
//
//   MUSTER_SIM_SEED   the first seed (default 1)
//   MUSTER_SIM_SEEDS  how many (default 60)
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/text.h"
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

/// A kind that no seed meets any more would leave all of them green.
TEST(Swarm, EveryKindOfFaultHappens) {
  const std::set<std::string> kinds = {
      "watch dropped", "watch doubled",   "watch late", "watch stale", "apply slow",
      "apply refused", "reply lost",      "store busy", "crash",       "tiny inbox",
      "node flap",     "bound elsewhere", "partition",  "clock step"};
  std::set<std::string> drawn;
  std::map<std::string, int> counts;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimulateOptions options;
    options.seed = seed;
    options.faults = true;
    const Outcome outcome = simulate(random_workload({seed, 25, minutes(30)}), options);
    for (const std::string_view kind : split(outcome.faults, ',')) drawn.emplace(trim(kind));
    for (const auto& [kind, count] : outcome.fault_counts) counts[kind] += count;
  }
  EXPECT_EQ(drawn, kinds) << "a new kind belongs into this list";
  for (const std::string& kind : kinds) EXPECT_GT(counts[kind], 0) << kind;
}

}  // namespace
}  // namespace muster::sim
