// `muster node list|show`.
#include <fmt/format.h>

#include <algorithm>

#include "cli/cli.h"
#include "cli/jobs.h"
#include "cli/words.h"

namespace muster::cli {
namespace {

struct Options {
  std::string cluster;
  std::string pool;
  int limit = 1000;
};

Cell state_of(const json::value& node) {
  if (!truth(node, "ready")) return {"not ready", Paint::Bad};
  if (truth(node, "cordoned")) return {"cordoned", Paint::Busy};
  if (!truth(node, "usable")) return {"not used", Paint::Busy};
  return {"ready", Paint::Good};
}

std::string gpus_of(const json::value& node) {
  if (number(node, "gpu_count").value_or(0) == 0) return "";
  return fmt::format("{} {}/{}", text(node, "gpu_type"), amount(field(node, "gpus_idle")),
                     text(node, "gpu_count"));
}

std::string used_of(const json::value& node, std::string_view resource) {
  const std::string used = amount(field(field(node, "used"), resource));
  return fmt::format("{}/{}", used.empty() ? "0" : used,
                     amount(field(field(node, "allocatable"), resource)));
}

Table node_table(const Session& session, const json::array& nodes) {
  std::vector<Column> columns = {
      {"NODE"},      {"STATE"}, {"GPUS IDLE"}, {"CPU USED", true}, {"MEMORY USED", true},
      {"PODS", true}};
  if (session.is_wide()) columns.push_back({"LABELS"});
  Table table(std::move(columns));
  for (const json::value& node : nodes) {
    std::vector<Cell> row = {text(node, "cluster") + "/" + text(node, "name"),
                             state_of(node),
                             gpus_of(node),
                             used_of(node, "cpu"),
                             used_of(node, "memory"),
                             text(node, "pods")};
    if (session.is_wide()) row.emplace_back(labels(members(node, "labels")));
    table.add(std::move(row));
  }
  return table;
}

Result<int> list_nodes(Session& session, const Options& options) {
  const auto api = session.api();
  if (!api) return api.error();
  json::array nodes;
  std::string cursor;
  const auto limit = static_cast<std::size_t>(options.limit);
  do {
    net::QueryPairs query = {
        {"limit", std::to_string(std::min<std::size_t>(limit - nodes.size(), 1000))}};
    if (!options.cluster.empty()) query.emplace_back("cluster", options.cluster);
    if (!options.pool.empty()) query.emplace_back("pool", options.pool);
    if (!cursor.empty()) query.emplace_back("cursor", cursor);
    const auto answer = (*api)->get("/nodes", query);
    if (!answer) return answer.error();
    const json::array& page = list(*answer, "nodes");
    nodes.insert(nodes.end(), page.begin(), page.end());
    if (cursor.empty()) session.warn(*answer);
    cursor = text(*answer, "next");
  } while (!cursor.empty() && nodes.size() < limit);
  session.print(node_table(session, nodes), nodes, "no nodes");
  if (!cursor.empty() && !session.is_data())
    session.note(fmt::format("the first {}; more with --limit", nodes.size()));
  return exit_done;
}

Result<int> show_node(Session& session, const std::string& reference) {
  const auto name = parse_node(reference);
  if (!name) return name.error();
  const auto api = session.api();
  if (!api) return api.error();
  const auto node =
      (*api)->get(fmt::format("/nodes/{}/{}", segment(name->first), segment(name->second)));
  if (!node) return node.error();
  if (session.is_data()) {
    session.print_data(*node);
    return exit_done;
  }
  std::string jobs;
  for (const json::value& job : list(*node, "jobs")) jobs += (jobs.empty() ? "" : ", ") + text(job);
  std::string taints;
  for (const json::value& taint : list(*node, "taints"))
    taints += (taints.empty() ? "" : ", ") + text(taint);
  Sheet sheet;
  sheet.add("node", text(*node, "name"));
  sheet.add("cluster", text(*node, "cluster"));
  sheet.add("state", state_of(*node));
  sheet.add("gpus idle", gpus_of(*node));
  sheet.add("allocatable", amounts(members(*node, "allocatable")));
  sheet.add("used", amounts(members(*node, "used")));
  sheet.add("pods", text(*node, "pods"));
  sheet.add("foreign pods", text(*node, "foreign_pods"));
  sheet.add("jobs", jobs);
  sheet.add("taints", taints);
  sheet.add("labels", labels(members(*node, "labels")));
  session.out(sheet.to_text(session.color()));
  return exit_done;
}

void set_list(CLI::App& command, const SharedHost& host) {
  const auto options = std::make_shared<Options>();
  add_option(command, "--cluster", options->cluster, "only of this cluster");
  add_option(command, "--pool", options->pool, "only of this pool");
  add_option(command, "-n,--limit", options->limit, "at most so many")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  set_body(command, host, [options](Session& session) { return list_nodes(session, *options); });
}

}  // namespace

void add_node(CLI::App& app, const SharedHost& host) {
  CLI::App* node = add_noun(app, "node", "Nodes: the machines of the clusters");
  set_list(*add_command(*node, "list", "Show nodes"), host);
  set_list(*add_command(app, "nodes", "The same as node list"), host);
  CLI::App* show = add_command(*node, "show", "Show one node");
  const auto name = std::make_shared<std::string>();
  add_option(*show, "NODE", *name, "CLUSTER/NODE")->required();
  set_body(*show, host, [name](Session& session) { return show_node(session, *name); });
}

}  // namespace muster::cli
