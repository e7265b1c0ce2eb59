// `muster list`: jobs, newest first.
#include <fmt/format.h>

#include <algorithm>

#include "cli/cli.h"
#include "cli/jobs.h"
#include "cli/words.h"

namespace muster::cli {
namespace {

struct Options {
  bool all = false;
  bool mine = false;
  std::vector<std::string> states;
  std::string queue;
  std::string user;
  std::string cluster;
  std::string name;
  std::vector<std::string> labels;
  int limit = 100;
};

Result<net::QueryPairs> query_of(Api& api, const Options& options) {
  net::QueryPairs query;
  std::string states = options.all ? "" : "Held,Waiting,Starting,Running,Stopping";
  if (!options.states.empty()) states.clear();
  for (const std::string& given : options.states) {
    const auto state = parse_state(given);
    if (!state) return state.error();
    states += (states.empty() ? "" : ",") + *state;
  }
  std::string user = options.user;
  if (options.mine) {
    const auto info = api.get("/info");
    if (!info) return info.error();
    user = text(*info, "user");
  }
  for (const auto& [name, value] : net::QueryPairs{{"state", states},
                                                   {"queue", options.queue},
                                                   {"user", user},
                                                   {"cluster", options.cluster},
                                                   {"name", options.name}}) {
    if (!value.empty()) query.emplace_back(name, value);
  }
  for (const std::string& label : options.labels) {
    if (label.find('=', 1) == std::string::npos)
      return invalid(fmt::format("--label {}: write NAME=VALUE", label));
    query.emplace_back("label", label);
  }
  return query;
}

Result<int> list_jobs(Session& session, const Options& options) {
  const auto api = session.api();
  if (!api) return api.error();
  const auto query = query_of(**api, options);
  if (!query) return query.error();
  json::array jobs;
  std::string cursor;
  const auto limit = static_cast<std::size_t>(options.limit);
  do {
    net::QueryPairs page = *query;
    page.emplace_back("limit", std::to_string(std::min<std::size_t>(limit - jobs.size(), 1000)));
    if (!cursor.empty()) page.emplace_back("cursor", cursor);
    const auto answer = (*api)->get("/jobs", page);
    if (!answer) return answer.error();
    const json::array& rows = list(*answer, "jobs");
    jobs.insert(jobs.end(), rows.begin(), rows.end());
    cursor = text(*answer, "next");
  } while (!cursor.empty() && jobs.size() < limit);
  session.print(
      job_table(session, jobs), jobs,
      options.all ? "no jobs" : "no jobs that wait or run; --all shows the finished ones");
  if (!cursor.empty() && !session.is_data())
    session.note(fmt::format("the newest {}; more with --limit", jobs.size()));
  return exit_done;
}

}  // namespace

void add_list(CLI::App& app, const SharedHost& host) {
  CLI::App* command = add_command(app, "list", "Show jobs, newest first");
  command->alias("ls");
  const auto options = std::make_shared<Options>();
  add_flag(*command, "-a,--all", options->all, "with the finished ones");
  add_flag(*command, "--mine", options->mine, "only your own");
  add_option(*command, "--state", options->states, "only in these states")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_option(*command, "-q,--queue", options->queue, "only of this queue");
  add_option(*command, "-u,--user", options->user, "only of this user")->excludes("--mine");
  add_option(*command, "--cluster", options->cluster, "only in this cluster");
  add_option(*command, "--name", options->name, "only with names that begin so");
  add_option(*command, "-l,--label", options->labels,
             "only with this label, name=value; of several all")
      ->allow_extra_args(false);
  add_option(*command, "-n,--limit", options->limit, "at most so many")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  set_body(*command, host, [options](Session& session) { return list_jobs(session, *options); });
}

}  // namespace muster::cli
