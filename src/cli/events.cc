// `muster events`: what happens, or what happened to a job.
#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/jobs.h"
#include "cli/words.h"

namespace muster::cli {
namespace {

struct Options {
  std::string job;
  bool follow = false;
  std::string from;
  std::vector<std::string> kinds;
};

std::string line_of(const Session& session, const json::value& event) {
  const Time at = time_of(event, "at_ms");
  const std::string kind = text(event, "kind");
  return fmt::format("{:>8}  {}  {}{}  {}\n", text(event, "sequence"), moment(at),
                     painted(kind, Paint::Bold, session.color()),
                     std::string(kind.size() < 18 ? 18 - kind.size() : 0, ' '),
                     one_line(text(event, "text")));
}

Result<int> show_events(Session& session, const Options& options) {
  const auto api = session.api();
  if (!api) return api.error();
  net::QueryPairs query;
  std::string from = options.from;
  bool follow = options.follow;
  if (!options.job.empty()) {
    const auto job = find_job(**api, options.job);
    if (!job) return job.error();
    query.emplace_back("job", text(*job, "id"));
    if (from.empty()) from = std::to_string(number(*job, "sequence").value_or(1));
  } else if (from.empty()) {
    follow = true;  // without a beginning there is only what comes
  }
  if (!from.empty()) query.emplace_back("from", from);
  if (!options.kinds.empty())
    query.emplace_back("kind", fmt::format("{}", fmt::join(options.kinds, ",")));
  query.emplace_back("follow", follow ? "true" : "false");
  json::array all;
  Follower follower;
  follower.on_event = [&](const net::SseEvent& event) {
    const auto data = parse_json(event.data);
    if (!data || event.data.empty()) return Next::GoOn;
    if (!session.is_data()) {
      session.out(line_of(session, *data));
    } else if (follow) {
      session.out(json::serialize(*data) + "\n");  // one a line, for programs that read along
    } else {
      all.push_back(*data);
    }
    return Next::GoOn;
  };
  const Status read = (*api)->follow({.path = "/events", .query = query}, follower);
  if (!read) return read.error();
  if (session.is_data() && !follow) session.print_data(all);
  return exit_done;
}

}  // namespace

void add_events(CLI::App& app, const SharedHost& host) {
  CLI::App* command = app.add_subcommand(
      "events", "Show what happened to a job, or what happens from now on everywhere");
  const auto options = std::make_shared<Options>();
  command->add_option("JOB", options->job, "id, the beginning of one, or a name (the newest)");
  command->add_flag("-f,--follow", options->follow, "go on with what comes");
  command->add_option("--from", options->from, "from this sequence number on")
      ->check(CLI::PositiveNumber);
  command->add_option("--kind", options->kinds, "only of these kinds: placed, finished, ...")
      ->delimiter(',')
      ->allow_extra_args(false);
  set_body(*command, host, [options](Session& session) { return show_events(session, *options); });
}

}  // namespace muster::cli
