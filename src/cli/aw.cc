// `muster aw list|show|explain|move`: AppWrappers and labelled objects, by the names they have on
// their hub.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "cli/cli.h"
#include "cli/jobs.h"
#include "cli/words.h"

namespace muster::cli {
namespace {

struct Options {
  std::string name;  // NAME or NAMESPACE/NAME
  std::string kube_namespace;
  std::string kind;
  std::string queue;
  std::vector<std::string> states;
};

std::string pods_text(const json::value& wrapper) {
  const json::value& pods = wrapper.at("pods");
  return fmt::format("{}/{}", text(pods, "running"), text(pods, "pending"));
}

/// All pages of them.
Result<json::array> all_wrappers(Session& session, Api& api, const net::QueryPairs& query) {
  json::array wrappers;
  std::string cursor;
  do {
    net::QueryPairs page = query;
    if (!cursor.empty()) page.emplace_back("cursor", cursor);
    const auto answer = api.get("/appwrappers", page);
    if (!answer) return answer.error();
    const json::array& rows = list(*answer, "appwrappers");
    wrappers.insert(wrappers.end(), rows.begin(), rows.end());
    session.warn(*answer);
    cursor = text(*answer, "next");
  } while (!cursor.empty());
  return wrappers;
}

Result<int> list_wrappers(Session& session, const Options& options) {
  const auto api = session.api();
  if (!api) return api.error();
  net::QueryPairs query;
  if (!options.kube_namespace.empty()) query.emplace_back("namespace", options.kube_namespace);
  if (!options.kind.empty()) query.emplace_back("kind", options.kind);
  if (!options.queue.empty()) query.emplace_back("queue", options.queue);
  if (!options.states.empty())
    query.emplace_back("state", fmt::format("{}", fmt::join(options.states, ",")));
  const auto wrappers = all_wrappers(session, **api, query);
  if (!wrappers) return wrappers.error();
  std::vector<Column> columns = {{"NAMESPACE"},
                                 {"NAME"},
                                 {"KIND"},
                                 {"STATE"},
                                 {"QUEUE"},
                                 {"CLUSTER"},
                                 {"PODS RUNNING/PENDING", true}};
  if (session.is_wide()) columns.insert(columns.end(), {{"VERSION"}, {"PRIORITY", true}, {"JOB"}});
  columns.push_back({"REASON"});
  Table table(std::move(columns));
  for (const json::value& wrapper : *wrappers) {
    std::vector<Cell> row = {text(wrapper, "namespace"), text(wrapper, "name"),
                             text(wrapper, "kind"),      text(wrapper, "state"),
                             text(wrapper, "queue"),     text(wrapper, "cluster"),
                             pods_text(wrapper)};
    if (session.is_wide()) {
      row.emplace_back(text(wrapper, "version"));
      row.emplace_back(text(wrapper, "priority"));
      row.emplace_back(text(wrapper, "job"));
    }
    row.emplace_back(one_line(text(wrapper, "reason")));
    table.add(std::move(row));
  }
  session.print(table, *wrappers, "no AppWrappers");
  return exit_done;
}

/// The one that is meant: by namespace and name, or by a name that only one has.
Result<json::value> find_wrapper(Session& session, Api& api, const Options& options) {
  std::string ns = options.kube_namespace;
  std::string name = options.name;
  if (const std::size_t slash = name.find('/'); slash != std::string::npos) {
    ns = name.substr(0, slash);
    name = name.substr(slash + 1);
  }
  net::QueryPairs query;
  if (!options.kind.empty()) query.emplace_back("kind", options.kind);
  if (ns.empty()) {
    net::QueryPairs named = query;
    named.emplace_back("name", name);
    const auto all = all_wrappers(session, api, named);
    if (!all) return all.error();
    std::set<std::string> places;
    for (const json::value& wrapper : *all) {
      if (text(wrapper, "name") == name) places.insert(text(wrapper, "namespace"));
    }
    if (places.empty())
      return Error{
          Fault::NotFound,
          fmt::format("no {} {}", options.kind.empty() ? "AppWrapper" : options.kind, name)};
    if (places.size() > 1)
      return invalid(fmt::format("{} is in several namespaces; say which: {}/{}", name,
                                 *places.begin(), name));
    ns = *places.begin();
  }
  return api.get(fmt::format("/appwrappers/{}/{}", segment(ns), segment(name)), query);
}

Result<int> show_wrapper(Session& session, const Options& options) {
  const auto api = session.api();
  if (!api) return api.error();
  const auto wrapper = find_wrapper(session, **api, options);
  if (!wrapper) return wrapper.error();
  if (session.is_data()) {
    session.print_data(*wrapper);
    return exit_done;
  }
  Sheet sheet;
  for (const std::string_view field :
       {"kind", "namespace", "name", "version", "state", "queue", "position", "priority", "cluster",
        "reason", "job", "attempt"})
    sheet.add(std::string(field), text(*wrapper, field));
  const json::value& pods = wrapper->at("pods");
  sheet.add("pods",
            fmt::format("{} running, {} pending, {} succeeded, {} failed", text(pods, "running"),
                        text(pods, "pending"), text(pods, "succeeded"), text(pods, "failed")));
  if (!text(*wrapper, "trouble").empty()) sheet.add("trouble", text(*wrapper, "trouble"));
  for (const json::value& one : list(*wrapper, "warnings"))
    sheet.add("warning", std::string(one.as_string()));
  session.out(sheet.to_text(session.color()));
  return exit_done;
}

Result<std::string> job_of(Session& session, const Options& options) {
  const auto api = session.api();
  if (!api) return api.error();
  const auto wrapper = find_wrapper(session, **api, options);
  if (!wrapper) return wrapper.error();
  std::string job = text(*wrapper, "job");
  if (job.empty())
    return Error{Fault::Conflict, fmt::format("{} {} has no job: {}", text(*wrapper, "kind"),
                                              options.name, text(*wrapper, "reason"))};
  return job;
}

Result<int> explain_wrapper(Session& session, const Options& options) {
  const auto job = job_of(session, options);
  if (!job) return job.error();
  return explain_job(session, *job);
}

Result<int> move_wrapper(Session& session, const Options& options) {
  const auto job = job_of(session, options);
  if (!job) return job.error();
  const auto changed = (*session.api())
                           ->send({.method = "PATCH",
                                   .path = "/jobs/" + segment(*job),
                                   .body = json::object{{"queue", options.queue}}});
  if (!changed) return changed.error();
  if (session.is_data()) {
    session.print_data(*changed);
  } else {
    session.out(fmt::format("{}: queue {}\n", options.name, text(*changed, "queue")));
  }
  return exit_done;
}

using Verb = Result<int> (*)(Session&, const Options&);

CLI::App* add_verb(CLI::App& aw, const SharedHost& host, const std::string& verb,
                   const std::string& help, Verb body, const std::shared_ptr<Options>& options) {
  CLI::App* command = add_command(aw, verb, help);
  add_option(*command, "-n,--namespace", options->kube_namespace, "of the AppWrapper");
  add_option(*command, "--kind", options->kind, "AppWrapper, RayCluster or RayJob; none: any");
  set_body(*command, host, [options, body](Session& session) { return body(session, *options); });
  return command;
}

}  // namespace

void add_aw(CLI::App& app, const SharedHost& host) {
  CLI::App* aw = add_command(app, "aw", "AppWrappers that the server takes as jobs");
  aw->require_subcommand(1);
  const auto listed = std::make_shared<Options>();
  CLI::App* list = add_verb(*aw, host, "list", "List them", list_wrappers, listed);
  add_option(*list, "--state", listed->states, "only in these states or phases")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_option(*list, "-q,--queue", listed->queue, "only of this queue");
  for (const auto& [verb, help, body] :
       {std::tuple{"show", "Show one, with its place in the queue", &show_wrapper},
        std::tuple{"explain", "Why it waits, or runs where it runs", &explain_wrapper}}) {
    const auto options = std::make_shared<Options>();
    add_verb(*aw, host, verb, help, body, options)
        ->add_option("NAME", options->name, "or NAMESPACE/NAME")
        ->required();
  }
  const auto options = std::make_shared<Options>();
  CLI::App* move =
      add_verb(*aw, host, "move", "Move one that waits to another queue", move_wrapper, options);
  add_option(*move, "NAME", options->name, "or NAMESPACE/NAME")->required();
  add_option(*move, "QUEUE", options->queue, "the new one")->required();
}

}  // namespace muster::cli
