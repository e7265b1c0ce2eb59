// `muster wait`: until jobs are finished; ends as they ended.
#include <fmt/format.h>

#include <algorithm>

#include "cli/cli.h"
#include "cli/jobs.h"
#include "cli/progress_line.h"
#include "cli/words.h"

namespace muster::cli {
namespace {

constexpr Duration patience = seconds(60);  // with a server that is away, and may be back soon

struct Options {
  std::vector<std::string> jobs;
  std::string timeout;
};

/// "2 of 3 ended; 7x4k train: running for 3m", or why it waits.
std::string said_of(const json::value& job, std::size_t ended, std::size_t all, Time now) {
  std::string out = all > 1 ? fmt::format("{} of {} ended; ", ended, all) : "";
  const Time started = time_of(job, "started_ms");
  const Time since = started.is_never() ? time_of(job, "submitted_ms") : started;
  const std::string name = text(job, "name");
  out += fmt::format("{}{}{}: {} for {}", text(job, "id"), name.empty() ? "" : " ", name,
                     lower(text(job, "state")), rough(now - since));
  if (const std::string why = text(field(job, "verdict"), "text"); !why.empty()) out += "; " + why;
  return one_line(out);
}

Result<int> wait_for(Session& session, const Options& options) {
  Time until = Time::never();
  if (!options.timeout.empty()) {
    const auto timeout = parse_duration(options.timeout, "--timeout");
    if (!timeout) return timeout.error();
    until = session.host().now() + *timeout;
  }
  const auto api = session.api();
  if (!api) return api.error();
  std::vector<std::string> ids;
  for (const std::string& reference : options.jobs) {
    const auto job = find_job(**api, reference);
    if (!job) return job.error();
    ids.push_back(text(*job, "id"));
  }
  int code = exit_done;
  json::array ended;
  ProgressLine progress(session.host());
  for (const std::string& id : ids) {
    Duration pause = milliseconds(100);
    Time answered = session.host().now();
    while (true) {
      const auto job = (*api)->get("/jobs/" + segment(id));
      const Time now = session.host().now();
      const bool is_away = !job && job.error().fault == Fault::Unavailable;
      if (!job && (!is_away || now - answered >= patience)) return job.error();
      if (!is_away) answered = now;
      const std::string state = is_away ? "" : text(*job, "state");
      if (is_final_state(state)) {
        progress.clear();
        if (!session.is_data()) session.out(fmt::format("{} {}\n", id, lower(state)));
        ended.push_back(*job);
        break;
      }
      if (now >= until) {
        progress.clear();
        session.note(is_away ? fmt::format("muster: {}", one_line(job.error().message))
                             : fmt::format("muster: job {} is still {}", id, lower(state)));
        return exit_timeout;
      }
      progress.show(is_away ? one_line(job.error().message)
                            : said_of(*job, ended.size(), ids.size(), now));
      session.host().sleep(std::min(pause, until - now));
      pause = std::min(seconds(2), milliseconds(pause.ms * 3 / 2));
    }
    const auto own = ask_exit_code(**api, id);
    if (!own) return own.error();
    if (code == exit_done) code = *own;
  }
  if (session.is_data()) session.print_data(ended.size() == 1 ? ended.front() : json::value(ended));
  return code;
}

}  // namespace

void add_wait(CLI::App& app, const SharedHost& host) {
  CLI::App* command = add_command(app, "wait", "Wait until jobs are finished");
  command->footer(
      "Exit codes: that of the first job that failed, 0 if none did; 124 when --timeout passed;\n"
      "125 if a job ended without an exit code (cancelled, run limit).");
  const auto options = std::make_shared<Options>();
  add_option(*command, "JOB", options->jobs, "id, the beginning of one, or a name (the newest)")
      ->required();
  add_option(*command, "--timeout", options->timeout, "at most so long: 90s, 2h");
  set_body(*command, host, [options](Session& session) { return wait_for(session, *options); });
}

}  // namespace muster::cli
