// `muster audit`: who asked for what.
#include <algorithm>
#include <tuple>
#include <utility>

#include "cli/cli.h"
#include "cli/words.h"

namespace muster::cli {
namespace {

struct Options {
  std::string user;
  std::string verb;
  std::string object;
  std::string since;
  std::string until;
  int limit = 50;
};

Result<net::QueryPairs> query_of(const Options& options, Time now) {
  net::QueryPairs query;
  for (const auto& [name, value] :
       {std::pair("user", &options.user), std::pair("verb", &options.verb),
        std::pair("object", &options.object)}) {
    if (!value->empty()) query.emplace_back(name, *value);
  }
  for (const auto& [name, option, value] : {std::tuple("since_ms", "--since", &options.since),
                                            std::tuple("until_ms", "--until", &options.until)}) {
    if (value->empty()) continue;
    const auto at = parse_since(*value, now, option);
    if (!at) return at.error();
    query.emplace_back(name, std::to_string(at->ms));
  }
  return query;
}

Result<int> show_audit(Session& session, const Options& options) {
  const auto filter = query_of(options, session.host().now());
  if (!filter) return filter.error();
  const auto limit = static_cast<std::size_t>(options.limit);
  const auto api = session.api();
  if (!api) return api.error();
  json::array rows;
  std::string cursor;
  do {
    net::QueryPairs query = *filter;
    query.emplace_back("limit", std::to_string(std::min<std::size_t>(limit - rows.size(), 1000)));
    if (!cursor.empty()) query.emplace_back("cursor", cursor);
    const auto answer = (*api)->get("/audit", query);
    if (!answer) return answer.error();
    const json::array& page = list(*answer, "rows");
    rows.insert(rows.end(), page.begin(), page.end());
    cursor = text(*answer, "next");
  } while (!cursor.empty() && rows.size() < limit);
  std::vector<Column> columns = {{"WHEN"}, {"USER"}, {"VERB"}, {"OBJECT"}, {"DETAIL", false, true}};
  if (session.is_wide()) columns.push_back({"REQUEST"});
  Table table(std::move(columns));
  for (const json::value& row : rows)
    table.add({session.when(row, "at_ms"), text(row, "user"), text(row, "verb"),
               text(row, "object"), text(row, "detail"), text(row, "request_id")});
  session.print(table, rows,
                filter->empty() ? "nobody asked for anything yet" : "nobody asked for that");
  return exit_done;
}

}  // namespace

void add_audit(CLI::App& app, const SharedHost& host) {
  CLI::App* command = add_command(app, "audit", "Show who asked for what, newest first");
  const auto options = std::make_shared<Options>();
  add_option(*command, "-u,--user", options->user, "only of this user");
  add_option(*command, "--verb", options->verb, "only this: submit, cancel, exec, ...");
  add_option(*command, "--object", options->object, "only about this job, queue, cluster, ...");
  add_option(*command, "--since", options->since, "only from then on: 10m, 2026-07-01T08:00:00Z");
  add_option(*command, "--until", options->until, "only before: 10m, 2026-07-01T08:00:00Z");
  add_option(*command, "-n,--limit", options->limit, "at most so many")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  set_body(*command, host, [options](Session& session) { return show_audit(session, *options); });
}

}  // namespace muster::cli
