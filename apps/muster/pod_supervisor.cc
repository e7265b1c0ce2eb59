#include "apps/muster/pod_supervisor.h"

#include <cstdlib>
#include <memory>
#include <string>

#include "cli/options.h"
#include "clusters/local/supervisor.h"

namespace muster::app {

void add_pod_supervisor(CLI::App& app) {
  auto directory = std::make_shared<std::string>();
  CLI::App* command = cli::add_command(app, "pod-supervisor", "");
  command->group("");
  cli::add_option(*command, "directory", *directory, "")->required();
  command->callback([directory] { std::exit(clusters::run_supervisors(*directory)); });
}

}  // namespace muster::app
