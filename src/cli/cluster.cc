// `muster cluster list|show|join|leave|cordon|uncordon|drain`.
#include "cli/cluster.h"

#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/gpus.h"
#include "cli/jobs.h"
#include "cli/words.h"

namespace muster::cli {
namespace {

std::string path_of(const std::string& cluster) { return "/clusters/" + segment(cluster); }

std::string nodes_text(const json::value& cluster) {
  return fmt::format("{}/{}", text(cluster, "nodes_usable"), text(cluster, "nodes"));
}

Table cluster_table(const Session& session, const json::array& clusters) {
  std::vector<Column> columns = {{"NAME"},
                                 {"TYPE"},
                                 {"HEALTH"},
                                 {"SINCE"},
                                 {"NODES", true},
                                 {"JOBS", true},
                                 {"GPUS IDLE", false, true}};
  if (session.is_wide()) {
    columns.push_back({"VERSION"});
    columns.push_back({"LABELS"});
    columns.push_back({"REASON"});
  }
  Table table(std::move(columns));
  for (const json::value& cluster : clusters) {
    const std::string health = text(cluster, "health");
    std::vector<Cell> row = {text(cluster, "name"),
                             text(cluster, "type"),
                             Cell(health, paint_of_health(health)),
                             session.when(cluster, "health_since_ms"),
                             nodes_text(cluster),
                             text(cluster, "jobs"),
                             gpus_text(cluster)};
    if (session.is_wide()) {
      row.emplace_back(text(cluster, "version"));
      row.emplace_back(labels(members(cluster, "labels")));
      row.emplace_back(one_line(text(cluster, "reason")));
    }
    table.add(std::move(row));
  }
  return table;
}

Result<int> list_clusters(Session& session) {
  const auto api = session.api();
  if (!api) return api.error();
  const auto answer = (*api)->get("/clusters");
  if (!answer) return answer.error();
  const json::array& clusters = list(*answer, "clusters");
  session.print(cluster_table(session, clusters), clusters,
                "no clusters; join one with `muster cluster join`");
  session.warn(*answer);
  return exit_done;
}

}  // namespace

void print_cluster(Session& session, const json::value& cluster) {
  if (session.is_data()) return session.print_data(cluster);
  const std::string health = text(cluster, "health");
  Sheet sheet;
  sheet.add("name", text(cluster, "name"));
  sheet.add("type", text(cluster, "type"));
  sheet.add("health", Cell(health, paint_of_health(health)));
  sheet.add("since", session.when(cluster, "health_since_ms"));
  sheet.add("reason", text(cluster, "reason"));
  sheet.add("version", text(cluster, "version"));
  sheet.add("user", text(cluster, "user"));
  if (truth(cluster, "leaving")) sheet.add("leaving", std::string("when its last job has ended"));
  sheet.add("nodes", text(cluster, "nodes"));
  sheet.add("usable", text(cluster, "nodes_usable"));
  sheet.add("jobs", text(cluster, "jobs"));
  sheet.add("gpus idle", gpus_text(cluster));
  sheet.add("labels", labels(members(cluster, "labels")));
  session.out(sheet.to_text(session.color()));
}

namespace {

Result<int> ask(Session& session, const std::string& method, const std::string& path) {
  const auto api = session.api();
  if (!api) return api.error();
  const auto cluster = (*api)->send({.method = method, .path = path});
  if (!cluster) return cluster.error();
  if (cluster->is_object()) print_cluster(session, *cluster);
  return exit_done;
}

struct LeaveOptions {
  std::string name;
  bool now = false;
  bool no_wait = false;
  bool force = false;
};

void say_left(const Session& session, const std::string& name) {
  if (session.is_data()) return session.print_data(json::object{{"name", name}, {"left", true}});
  session.out(fmt::format("cluster {} left\n", name));
}

/// Until it has left, or the user has enough of waiting; it leaves all the same.
Result<int> wait_until_left(Session& session, const LeaveOptions& options, json::value cluster) {
  Api* api = *session.api();
  std::string said;
  while (true) {
    const std::string jobs = text(cluster, "jobs");
    std::string line =
        fmt::format("cluster {} takes no new jobs; {} still {} there{}", options.name, jobs,
                    jobs == "1" ? "runs" : "run", options.now ? " and will be moved" : "");
    if (const std::string why = text(cluster, "reason"); !why.empty())
      line += fmt::format("; {}{}",
                          text(cluster, "health") == "unreachable" ? "it cannot be reached: " : "",
                          one_line(why));
    if (line != said) session.note(line);
    said = line;
    if (options.no_wait) {
      if (session.is_data()) session.print_data(cluster);
      return exit_done;
    }
    if (session.host().interrupts() > 0) {
      session.note(fmt::format("cluster {} leaves when they have ended", options.name));
      return exit_interrupted;
    }
    session.host().sleep(seconds(1));
    auto now = api->get(path_of(options.name));
    if (!now && now.error().fault == Fault::NotFound) break;
    if (!now) return now.error();
    cluster = std::move(*now);
  }
  say_left(session, options.name);
  return exit_done;
}

Result<int> leave_cluster(Session& session, const LeaveOptions& options) {
  const auto api = session.api();
  if (!api) return api.error();
  net::QueryPairs query;
  if (options.force) query.emplace_back("force", "true");
  if (options.now) query.emplace_back("now", "true");
  const auto answer =
      (*api)->send({.method = "DELETE", .path = path_of(options.name), .query = query});
  if (!answer) return answer.error();
  if (answer->is_object()) return wait_until_left(session, options, *answer);
  say_left(session, options.name);
  return exit_done;
}

}  // namespace

void add_cluster(CLI::App& app, const SharedHost& host) {
  CLI::App* cluster = add_noun(app, "cluster", "Clusters: where jobs run");
  set_body(*add_command(*cluster, "list", "Show all clusters"), host, list_clusters);
  set_body(*add_command(app, "clusters", "The same as cluster list"), host, list_clusters);
  const auto name = std::make_shared<std::string>();
  const auto add = [&](const char* verb, const char* help, Body body) {
    CLI::App* command = add_command(*cluster, verb, help);
    add_option(*command, "CLUSTER", *name, "its name")->required();
    set_body(*command, host, std::move(body));
    return command;
  };
  add("show", "Show one cluster",
      [name](Session& session) { return ask(session, "GET", path_of(*name)); });
  add_cluster_join(*cluster, host);
  for (const auto& [verb, help] :
       {std::pair("cordon", "No new jobs there; running ones stay"),
        std::pair("uncordon", "New jobs again"),
        std::pair("drain", "No new jobs there, and move those that run")})
    add(verb, help, [name, last = std::string("/") + verb](Session& session) {
      return ask(session, "POST", path_of(*name) + last);
    });
  const auto leave = std::make_shared<LeaveOptions>();
  CLI::App* command = add("leave", "Leave a cluster when its jobs have ended",
                          [name, leave](Session& session) -> Result<int> {
                            leave->name = *name;
                            return leave_cluster(session, *leave);
                          });
  add_flag(*command, "--now", leave->now, "do not wait for jobs: move them to other clusters");
  add_flag(*command, "--no-wait", leave->no_wait, "return at once; it leaves by itself");
  add_flag(*command, "--force", leave->force, "at once, and leave behind what runs there");
}

}  // namespace muster::cli
