// The commands that speak to a server. One file a command (or a noun with its verbs); cli/command.h
// says what they have in common and what their exit codes mean.
#pragma once

#include "cli/command.h"

namespace muster::cli {

/// Adds all of them to the app, which must outlive the call of parse.
void add_commands(CLI::App& app, Host host = system_host());

void add_run(CLI::App& app, const SharedHost& host);
void add_submit(CLI::App& app, const SharedHost& host);
void add_list(CLI::App& app, const SharedHost& host);
void add_show(CLI::App& app, const SharedHost& host);
void add_wait(CLI::App& app, const SharedHost& host);
void add_events(CLI::App& app, const SharedHost& host);
/// cancel, hold, release, retry, checkpoint
void add_job_verbs(CLI::App& app, const SharedHost& host);
void add_set(CLI::App& app, const SharedHost& host);
void add_logs(CLI::App& app, const SharedHost& host);
void add_exec(CLI::App& app, const SharedHost& host);
void add_explain(CLI::App& app, const SharedHost& host);  // and when
void add_whatif(CLI::App& app, const SharedHost& host);
void add_top(CLI::App& app, const SharedHost& host);
void add_queue(CLI::App& app, const SharedHost& host);
void add_cluster(CLI::App& app, const SharedHost& host);
void add_node(CLI::App& app, const SharedHost& host);
void add_pool(CLI::App& app, const SharedHost& host);
void add_aw(CLI::App& app, const SharedHost& host);  // AppWrappers
void add_token(CLI::App& app, const SharedHost& host);
void add_config_reload(CLI::App& app, const SharedHost& host);
void add_audit(CLI::App& app, const SharedHost& host);
void add_context(CLI::App& app, const SharedHost& host);
void add_completion(CLI::App& app, const SharedHost& host);
void add_help(CLI::App& app, const SharedHost& host);
void add_complete_names(CLI::App& app, const SharedHost& host);

}  // namespace muster::cli
