// One binary. This file is wiring only: each command stands in its own file.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "apps/muster/sim.h"
#if __has_include("apps/muster/scenario.h")
#include "apps/muster/scenario.h"
#define MUSTER_HAS_SCENARIO
#endif
#if __has_include("apps/muster/bench.h")
#include "apps/muster/bench.h"
#define MUSTER_HAS_BENCH
#endif

int main(int argc, char** argv) {
  CLI::App muster("One queue in front of all your GPU clusters.", "muster");
  muster.set_version_flag("--version", "muster 0.1.0");
  muster.require_subcommand(1);
  add_sim(muster);
#ifdef MUSTER_HAS_SCENARIO
  add_scenario(muster);
#endif
#ifdef MUSTER_HAS_BENCH
  add_bench(muster);
#endif
  try {
    muster.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return muster.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "muster: %s\n", error.what());
    return 1;
  }
  return 0;
}
