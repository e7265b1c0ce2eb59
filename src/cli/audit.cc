// `muster audit`: who asked for what.
#include <algorithm>

#include "cli/cli.h"

namespace muster::cli {
namespace {

Result<int> show_audit(Session& session, std::size_t limit) {
  const auto api = session.api();
  if (!api) return api.error();
  json::array rows;
  std::string cursor;
  do {
    net::QueryPairs query = {
        {"limit", std::to_string(std::min<std::size_t>(limit - rows.size(), 1000))}};
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
  session.print(table, rows, "nobody asked for anything yet");
  return exit_done;
}

}  // namespace

void add_audit(CLI::App& app, const SharedHost& host) {
  CLI::App* command = add_command(app, "audit", "Show who asked for what, newest first");
  const auto limit = std::make_shared<int>(50);
  add_option(*command, "-n,--limit", *limit, "at most so many")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  set_body(*command, host, [limit](Session& session) {
    return show_audit(session, static_cast<std::size_t>(*limit));
  });
}

}  // namespace muster::cli
