#include "apps/muster/sim.h"

#include <fmt/format.h>

#include <cstdio>

#include "sim/simulation.h"
#include "sim/workload.h"

void add_sim(CLI::App& muster) {
  CLI::App* sim = muster.add_subcommand("sim", "Simulated fleets on virtual time");
  CLI::App* run = sim->add_subcommand("run", "Run");
  static std::uint64_t seed = 1;
  static bool faults = false;
  static std::string generate = "demo";
  static int jobs = 0;
  run->add_option("--seed", seed);
  run->add_option("--jobs", jobs);
  run->add_option("--generate", generate);
  run->add_flag("--faults", faults);
  run->callback([] {
    using namespace muster::sim;
    const Workload w = generate == "demo" ? demo_workload({seed, jobs, {}})
                                          : random_workload({seed, jobs, {}});
    const Outcome o = simulate(w, {.seed = seed, .faults = faults, .check_every = 1, .progress = {}});
    fmt::print("seed {} hash {:016x} end {} steps {} events {} faults: {}\n", seed, o.hash, o.end.ms / 1000,
               o.steps, o.events, o.faults);
    for (const auto& [k, v] : o.states) fmt::print("{} {}\n", k, v);
    for (const auto& [k, v] : o.decisions) fmt::print("{} {}\n", k, v);
    for (const auto& [k, v] : o.fault_counts) fmt::print("  {} {}\n", k, v);
    for (const auto& m : o.moments) fmt::print("  {} {}\n", m.at.ms / 1000, m.what);
    if (!o.violation.empty()) { fmt::print("VIOLATION {}\n", o.violation); throw CLI::RuntimeError(1); }
  });
}
