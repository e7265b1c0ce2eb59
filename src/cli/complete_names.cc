// `muster complete-names KIND`: what shells ask while a command is typed, one name a line. Nobody
// types it: it is not in the help, and what goes wrong is silence.
#include <set>

#include "cli/cli.h"

namespace muster::cli {
namespace {

constexpr const char* jobs_most = "200";

struct Kind {
  std::string name;
  std::string path;
  net::QueryPairs query;
  std::string list;                 // member of the answer
  std::vector<std::string> fields;  // of an entry, those that name it
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"jobs", "/jobs", {{"limit", jobs_most}}, "jobs", {"id", "name"}},
      {"queues", "/queues", {}, "queues", {"name"}},
      {"clusters", "/clusters", {}, "clusters", {"name"}},
      {"pools", "/pools", {}, "pools", {"name"}},
      {"appwrappers", "/appwrappers", {{"limit", jobs_most}}, "appwrappers", {"name"}},
  };
  return all;
}

void print_contexts(const Session& session) {
  const auto contexts = load_contexts(session.host());
  if (!contexts) return;
  for (const Context& context : contexts->all) session.out(context.name + "\n");
}

Result<int> print_names(Session& session, const std::string& name) {
  if (name == "contexts") print_contexts(session);
  for (const Kind& kind : kinds()) {
    if (kind.name != name) continue;
    const auto api = session.api();
    const auto answer = api ? (*api)->get(kind.path, kind.query) : Result<json::value>(api.error());
    if (!answer) return exit_done;
    std::set<std::string> seen;
    for (const json::value& entry : list(*answer, kind.list)) {
      for (const std::string& field : kind.fields) {
        const std::string text = cli::text(entry, field);
        if (!text.empty() && seen.insert(text).second) session.out(text + "\n");
      }
    }
  }
  return exit_done;
}

}  // namespace

void add_complete_names(CLI::App& app, const SharedHost& host) {
  CLI::App* command = add_command(app, "complete-names", "Print names for a shell to complete");
  command->group("");
  const auto kind = std::make_shared<std::string>();
  add_option(*command, "KIND", *kind, "jobs, queues, clusters, pools or contexts")->required();
  set_body(*command, host, [kind](Session& session) { return print_names(session, *kind); });
}

}  // namespace muster::cli
