// `muster cluster list|show|join|leave|cordon|uncordon|drain`.
#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/gpus.h"
#include "cli/jobs.h"
#include "cli/words.h"
#include "config/node.h"

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
  if (session.is_wide()) columns.push_back({"LABELS"});
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
    if (session.is_wide()) row.emplace_back(labels(members(cluster, "labels")));
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
  return exit_done;
}

void print_cluster(Session& session, const json::value& cluster) {
  if (session.is_data()) return session.print_data(cluster);
  const std::string health = text(cluster, "health");
  Sheet sheet;
  sheet.add("name", text(cluster, "name"));
  sheet.add("type", text(cluster, "type"));
  sheet.add("health", Cell(health, paint_of_health(health)));
  sheet.add("since", session.when(cluster, "health_since_ms"));
  sheet.add("nodes", text(cluster, "nodes"));
  sheet.add("usable", text(cluster, "nodes_usable"));
  sheet.add("jobs", text(cluster, "jobs"));
  sheet.add("gpus idle", gpus_text(cluster));
  sheet.add("labels", labels(members(cluster, "labels")));
  session.out(sheet.to_text(session.color()));
}

Result<int> ask(Session& session, const std::string& method, const std::string& path) {
  const auto api = session.api();
  if (!api) return api.error();
  const auto cluster = (*api)->send({.method = method, .path = path});
  if (!cluster) return cluster.error();
  if (cluster->is_object()) print_cluster(session, *cluster);
  return exit_done;
}

struct JoinOptions {
  std::string file;
  std::string name;
  std::string type;
  std::optional<int> slots;
};

/// The file has one entry of the configuration's `clusters`.
Result<json::value> spec_of(const Session& session, const JoinOptions& options) {
  json::object spec;
  if (!options.file.empty()) {
    const auto content = session.host().read_file(options.file);
    if (!content) return content.error();
    const config::Parsed parsed = config::parse_yaml(*content);
    if (config::has_errors(parsed.problems))
      return invalid(config::to_text(parsed.problems.front(), options.file));
    if (parsed.roots.size() != 1 || parsed.roots.front().kind != config::Node::Kind::Map)
      return invalid(fmt::format("{}: expected one cluster: name, type and so on", options.file));
    auto read = parse_json(config::to_json(parsed.roots.front()));
    if (!read) return read.error();
    spec = read->as_object();
  }
  if (!options.name.empty()) spec["name"] = options.name;
  if (!options.type.empty()) spec["type"] = options.type;
  if (options.slots) spec["slots"] = *options.slots;
  if (!spec.contains("name") || !spec.contains("type"))
    return invalid("a cluster needs a name and a type: muster cluster join NAME --type local");
  return json::value(std::move(spec));
}

Result<int> join(Session& session, const JoinOptions& options) {
  auto spec = spec_of(session, options);
  if (!spec) return spec.error();
  const auto api = session.api();
  if (!api) return api.error();
  const auto cluster = (*api)->post("/clusters", std::move(*spec));
  if (!cluster) return cluster.error();
  print_cluster(session, *cluster);
  return exit_done;
}

void add_join(CLI::App& cluster, const SharedHost& host) {
  CLI::App* command = cluster.add_subcommand("join", "Join a cluster");
  command->footer(
      "Examples:\n"
      "  muster cluster join here --type local --slots 4\n"
      "  muster cluster join -f cluster.yaml      an entry as in `clusters` of the configuration");
  const auto options = std::make_shared<JoinOptions>();
  command->add_option("NAME", options->name, "what to call it");
  command->add_option("--type", options->type, "local, simulated or kubernetes")
      ->check(CLI::IsMember({"local", "simulated", "kubernetes"}));
  command->add_option("--slots", options->slots, "artificial GPUs of a local cluster");
  command->add_option("-f,--file", options->file, "the rest of its description, as YAML");
  set_body(*command, host, [options](Session& session) { return join(session, *options); });
}

}  // namespace

void add_cluster(CLI::App& app, const SharedHost& host) {
  CLI::App* cluster = add_noun(app, "cluster", "Clusters: where jobs run");
  set_body(*cluster->add_subcommand("list", "Show all clusters"), host, list_clusters);
  set_body(*app.add_subcommand("clusters", "The same as cluster list"), host, list_clusters);
  const auto name = std::make_shared<std::string>();
  const auto add = [&](const char* verb, const char* help, Body body) {
    CLI::App* command = cluster->add_subcommand(verb, help);
    command->add_option("CLUSTER", *name, "its name")->required();
    set_body(*command, host, std::move(body));
    return command;
  };
  add("show", "Show one cluster",
      [name](Session& session) { return ask(session, "GET", path_of(*name)); });
  add_join(*cluster, host);
  for (const auto& [verb, help] :
       {std::pair("cordon", "No new jobs there; running ones stay"),
        std::pair("uncordon", "New jobs again"),
        std::pair("drain", "No new jobs there, and move those that run")})
    add(verb, help, [name, last = std::string("/") + verb](Session& session) {
      return ask(session, "POST", path_of(*name) + last);
    });
  const auto force = std::make_shared<bool>(false);
  add("leave", "Leave a cluster", [name, force](Session& session) -> Result<int> {
    const auto code = ask(session, "DELETE", path_of(*name) + (*force ? "?force=true" : ""));
    if (code && !session.is_data()) session.out(fmt::format("cluster {} left\n", *name));
    return code;
  })->add_flag("--force", *force, "even while jobs run there");
}

}  // namespace muster::cli
