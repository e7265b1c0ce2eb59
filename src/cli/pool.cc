// `muster pool list|show`: pools and fleet pools.
#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/gpus.h"
#include "cli/jobs.h"

namespace muster::cli {
namespace {

std::string pools_of(const json::value& fleet_pool) {
  std::string out;
  for (const json::value& pool : list(fleet_pool, "pools"))
    out += (out.empty() ? "" : ", ") + text(pool);
  return out;
}

std::string nodes_of(const json::value& pool) {
  const std::string all = text(pool, "nodes");
  return all.empty() ? "" : fmt::format("{}/{}", text(pool, "nodes_usable"), all);
}

Result<int> list_pools(Session& session) {
  const auto api = session.api();
  if (!api) return api.error();
  const auto pools = (*api)->get("/pools");
  if (!pools) return pools.error();
  const auto fleet = (*api)->get("/fleet-pools");
  if (!fleet) return fleet.error();
  std::vector<Column> columns = {
      {"NAME"}, {"WHERE"}, {"NODES", true}, {"JOBS", true}, {"GPUS IDLE", false, true}};
  if (session.is_wide()) columns.push_back({"SELECTOR"});
  Table table(std::move(columns));
  for (const json::value& pool : list(*pools, "pools"))
    table.add({text(pool, "name"), "cluster " + text(pool, "cluster"), nodes_of(pool),
               text(pool, "jobs"), gpus_text(pool), labels(members(pool, "node_selector"))});
  for (const json::value& pool : list(*fleet, "fleet_pools"))
    table.add({text(pool, "name"), "pools " + pools_of(pool), nodes_of(pool), text(pool, "jobs"),
               gpus_text(pool)});
  session.print(
      table,
      json::object{{"pools", list(*pools, "pools")}, {"fleet_pools", list(*fleet, "fleet_pools")}},
      "no pools");
  session.warn(*pools);
  return exit_done;
}

Result<int> show_pool(Session& session, const std::string& name) {
  const auto api = session.api();
  if (!api) return api.error();
  auto pool = (*api)->get("/pools/" + segment(name));
  if (!pool && pool.error().fault == Fault::NotFound) {
    const Error missing = pool.error();
    pool = (*api)->get("/fleet-pools/" + segment(name));
    if (!pool && pool.error().fault == Fault::NotFound) return missing;
  }
  if (!pool) return pool.error();
  if (session.is_data()) {
    session.print_data(*pool);
    return exit_done;
  }
  Sheet sheet;
  sheet.add("name", text(*pool, "name"));
  sheet.add("cluster", text(*pool, "cluster"));
  sheet.add("pools", pools_of(*pool));
  sheet.add("selector", labels(members(*pool, "node_selector")));
  sheet.add("nodes", text(*pool, "nodes"));
  sheet.add("usable", text(*pool, "nodes_usable"));
  sheet.add("jobs", text(*pool, "jobs"));
  sheet.add("gpus idle", gpus_text(*pool));
  session.out(sheet.to_text(session.color()));
  return exit_done;
}

}  // namespace

void add_pool(CLI::App& app, const SharedHost& host) {
  CLI::App* pool = add_noun(app, "pool", "Pools: named parts of clusters, and lists of them");
  set_body(*add_command(*pool, "list", "Show pools and fleet pools"), host, list_pools);
  set_body(*add_command(app, "pools", "The same as pool list"), host, list_pools);
  CLI::App* show = add_command(*pool, "show", "Show one pool or fleet pool");
  const auto name = std::make_shared<std::string>();
  add_option(*show, "POOL", *name, "its name")->required();
  set_body(*show, host, [name](Session& session) { return show_pool(session, *name); });
}

}  // namespace muster::cli
