// `muster logs`: the output of a job.
#include <fmt/format.h>

#include <cstdint>
#include <limits>

#include "cli/cli.h"
#include "cli/follow_log.h"
#include "cli/jobs.h"
#include "cli/words.h"

namespace muster::cli {
namespace {

constexpr int tail_most = 1'000'000'000;  // what the server takes

struct Options {
  std::string job;
  bool follow = false;
  std::int64_t tail = -1;
  std::string since;
  std::string search;
  std::string pod;
  int attempt = 0;
  bool times = false;
};

Result<net::QueryPairs> query_of(const Options& options, Time now) {
  net::QueryPairs query;
  if (options.tail >= 0) query.emplace_back("tail", std::to_string(options.tail));
  if (!options.since.empty()) {
    const auto since = parse_since(options.since, now);
    if (!since) return since.error();
    query.emplace_back("since_ms", std::to_string(since->ms));
  }
  if (!options.search.empty()) query.emplace_back("search", options.search);
  if (!options.pod.empty()) query.emplace_back("pod", options.pod);
  if (options.attempt > 0) query.emplace_back("attempt", std::to_string(options.attempt));
  return query;
}

Result<int> read_pages(Session& session, Api& api, const std::string& path, const Options& options,
                       const net::QueryPairs& query, LogPrinter& printer) {
  std::string from;
  json::array lines;
  // What is written while we read is no part of the tail that was asked for.
  std::int64_t left = options.tail >= 0 ? options.tail : std::numeric_limits<std::int64_t>::max();
  const bool counts_parts = !options.search.empty() || !options.since.empty();
  while (left >= 0) {
    net::QueryPairs page = query;
    if (!from.empty()) {
      // The first page began where the tail does.
      std::erase_if(page, [](const auto& pair) { return pair.first == "tail"; });
      page.emplace_back("from", from);
    }
    const auto answer = api.get(path + "/logs", page);
    if (!answer) return answer.error();
    for (const json::value& line : list(*answer, "lines")) {
      if ((counts_parts || !truth(line, "continues")) && left-- == 0) break;
      session.is_data() ? lines.push_back(line) : printer.print(line);
    }
    const std::string next = text(*answer, "next");
    if (truth(*answer, "end") || next.empty() || next == from) break;
    from = next;
  }
  printer.finish();
  if (session.is_data()) session.print_data(lines);
  return exit_done;
}

Result<int> show_log(Session& session, const Options& options) {
  const auto query = query_of(options, session.host().now());
  if (!query) return query.error();
  const auto api = session.api();
  if (!api) return api.error();
  const auto job = find_job(**api, options.job);
  if (!job) return job.error();
  const bool several = number(*job, "pods").value_or(1) > 1 && options.pod.empty();
  LogPrinter printer(session.host(), {.pods = several || session.is_wide(),
                                      .times = options.times || session.is_wide(),
                                      .all_to_out = true});
  if (!options.follow) return read_pages(session, **api, job_path(*job), options, *query, printer);
  LogFollower follower{.path = job_path(*job), .query = *query};
  if (session.is_data())
    follower.write = [&session](const json::value& line) { session.print_next(line); };
  const auto end = follow_log(**api, printer, std::move(follower));
  if (!end) return end.error();
  return exit_done;
}

}  // namespace

void add_logs(CLI::App& app, const SharedHost& host) {
  CLI::App* command = add_command(app, "logs", "Show the output of a job");
  const auto options = std::make_shared<Options>();
  add_option(*command, "JOB", options->job, "id, the beginning of one, or a name (the newest)")
      ->required();
  add_flag(*command, "-f,--follow", options->follow, "go on until the job is finished");
  add_option(*command, "--tail", options->tail, "only the last so many lines")
      ->check(CLI::Range(0, tail_most));
  add_option(*command, "--since", options->since, "only from then on: 10m, 2026-07-01T08:00:00Z");
  add_option(*command, "--search", options->search, "only lines that contain this text");
  add_option(*command, "--pod", options->pod, "only of this pod");
  add_option(*command, "--attempt", options->attempt, "of this attempt; none: the newest")
      ->check(CLI::Range(1, 1'000'000'000));
  add_flag(*command, "-t,--times", options->times, "with the time of each line");
  set_body(*command, host, [options](Session& session) { return show_log(session, *options); });
}

}  // namespace muster::cli
