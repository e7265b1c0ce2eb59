// `muster show`: all about one job.
#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/jobs.h"
#include "cli/words.h"

namespace muster::cli {
namespace {

std::string node_names(const json::value& job) {
  std::string out;
  for (const json::value& node : list(job, "nodes")) out += (out.empty() ? "" : ", ") + text(node);
  return out;
}

std::string both(const Session& session, const json::value& job, std::string_view name) {
  const Time t = time_of(job, name);
  if (t.is_never() || session.is_wide()) return moment(t);
  return fmt::format("{} ({})", ago(t, session.host().now()), moment(t));
}

void print_sheet(const Session& session, const json::value& job) {
  const std::string state = text(job, "state");
  const auto limit = number(job, "run_limit_ms").value_or(0);
  Sheet sheet;
  sheet.add("id", text(job, "id"));
  sheet.add("name", text(job, "name"));
  sheet.add("user", text(job, "user"));
  sheet.add("queue", text(job, "queue"));
  sheet.add("state", Cell(lower(state), paint_of_state(state)));
  if (const std::string why = text(job, "why"); why != "None") sheet.add("why", why);
  sheet.add("reason", text(job, "reason"));
  sheet.add("exit code", text(job, "exit_code"));
  sheet.add("priority", text(job, "priority"));
  sheet.add("pods", text(job, "pods"));
  sheet.add("gpus", amount(field(job, "gpus")));
  sheet.add("labels", labels(members(job, "labels")));
  sheet.add("submitted", both(session, job, "submitted_ms"));
  sheet.add("started", both(session, job, "started_ms"));
  sheet.add("finished", both(session, job, "finished_ms"));
  if (limit > 0) sheet.add("run limit", to_text(milliseconds(limit)));
  sheet.add("attempt", text(job, "attempt"));
  sheet.add("cluster", text(job, "cluster"));
  sheet.add("pool", text(field(job, "placement"), "pool"));
  sheet.add("nodes", node_names(job));
  sheet.add("waits", text(field(job, "verdict"), "text"));
  sheet.add("starts", text(field(job, "estimate"), "text"));
  session.out(sheet.to_text(session.color()));
  print_notes(session, job);
  const json::value& document = field(job, "document");
  if (session.is_wide() && document.is_object()) session.out("---\n" + yaml(document));
}

Result<int> show_jobs(Session& session, const std::vector<std::string>& references) {
  const auto api = session.api();
  if (!api) return api.error();
  json::array jobs;
  for (const std::string& reference : references) {
    const auto job = find_job(**api, reference);
    if (!job) return job.error();
    jobs.push_back(*job);
  }
  if (session.is_data()) {
    session.print_data(jobs.size() == 1 ? jobs.front() : json::value(jobs));
    return exit_done;
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (i > 0) session.out("\n");
    print_sheet(session, jobs[i]);
  }
  return exit_done;
}

}  // namespace

void add_show(CLI::App& app, const SharedHost& host) {
  CLI::App* command =
      add_command(app, "show", "Show all about a job; -o wide adds what was submitted");
  const auto jobs = std::make_shared<std::vector<std::string>>();
  add_option(*command, "JOB", *jobs, "id, the beginning of one, or a name (the newest)")
      ->required();
  set_body(*command, host, [jobs](Session& session) { return show_jobs(session, *jobs); });
}

}  // namespace muster::cli
