#include "cli/cli.h"

#include <memory>
#include <utility>

namespace muster::cli {

void add_commands(CLI::App& app, Host host) {
  const auto shared = std::make_shared<const Host>(std::move(host));
  add_run(app, shared);
  add_submit(app, shared);
  add_list(app, shared);
  add_show(app, shared);
  add_logs(app, shared);
  add_exec(app, shared);
  add_wait(app, shared);
  add_events(app, shared);
  add_explain(app, shared);
  add_whatif(app, shared);
  add_job_verbs(app, shared);
  add_set(app, shared);
  add_top(app, shared);
  add_queue(app, shared);
  add_cluster(app, shared);
  add_node(app, shared);
  add_pool(app, shared);
  add_aw(app, shared);
  add_token(app, shared);
  add_config_reload(app, shared);
  add_audit(app, shared);
  add_context(app, shared);
  add_completion(app, shared);
  add_complete_names(app, shared);
  add_help(app, shared);
}

}  // namespace muster::cli
