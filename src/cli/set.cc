// `muster set priority|queue`.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/jobs.h"
#include "model/job.h"

namespace muster::cli {
namespace {

struct Options {
  std::string job;
  std::string value;
};

Result<int> change(Session& session, const Options& options, const std::string& what) {
  json::object patch;
  if (what == "priority") {
    const auto priority =
        parse_int(options.value, "priority", model::priority_min, model::priority_max);
    if (!priority) return priority.error();
    patch["priority"] = *priority;
  } else {
    patch[what] = options.value;
  }
  const auto api = session.api();
  if (!api) return api.error();
  const auto job = find_job(**api, options.job);
  if (!job) return job.error();
  const auto changed =
      (*api)->send({.method = "PATCH", .path = job_path(*job), .body = std::move(patch)});
  if (!changed) return changed.error();
  if (session.is_data()) {
    session.print_data(*changed);
  } else {
    session.out(fmt::format("{}: {} {} -> {}\n", text(*job, "id"), what, text(*job, what),
                            text(*changed, what)));
  }
  return exit_done;
}

void add_change(CLI::App& set, const SharedHost& host, const std::string& what,
                const std::string& help, const std::string& value) {
  CLI::App* command = add_command(set, what, help);
  const auto options = std::make_shared<Options>();
  add_option(*command, "JOB", options->job, "id, the beginning of one, or a name (the newest)")
      ->required();
  add_option(*command, value, options->value, "the new one")->required();
  set_body(*command, host,
           [options, what](Session& session) { return change(session, *options, what); });
}

}  // namespace

void add_set(CLI::App& app, const SharedHost& host) {
  CLI::App* set = add_noun(app, "set", "Change a job that is not finished");
  add_change(*set, host, "priority", "Change its priority", "PRIORITY");
  add_change(*set, host, "queue", "Move it to another queue", "QUEUE");
}

}  // namespace muster::cli
