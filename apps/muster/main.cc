// One binary. This file is wiring only: each command stands in its own file.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "apps/muster/aw_convert.h"
#include "apps/muster/aw_install.h"
#include "apps/muster/bench.h"
#include "apps/muster/cluster_rbac.h"
#include "apps/muster/config.h"
#include "apps/muster/pod_supervisor.h"
#include "apps/muster/scenario.h"
#include "apps/muster/serve.h"
#include "apps/muster/sim.h"
#include "apps/muster/version.h"
#include "cli/cli.h"
#include "cli/report.h"

int main(int argc, char** argv) {
  CLI::App app("One queue in front of all your GPU clusters.", "muster");
  app.set_version_flag("--version", "muster " + muster::app::build_text());
  app.require_subcommand(1);
  muster::app::add_sim(app);
  add_scenario(app);
  muster::app::add_bench(app);
  muster::app::add_pod_supervisor(app);
  muster::app::add_serve(app);
  muster::cli::add_commands(app);
  muster::app::add_config(app);
  muster::app::add_cluster_rbac(app);
  muster::app::add_aw_convert(app);
  muster::app::add_aw_install(app);
  try {
    app.parse(muster::cli::shielded({argv + 1, argv + argc}));
  } catch (const CLI::ParseError& error) {
    return muster::cli::report(app, error, muster::cli::system_host());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "muster: %s\n", error.what());
    return 1;
  }
  return 0;
}
