// `muster config reload`: the server reads its file again. What needs no server (check, show) is
// added to this noun by the binary.
#include <fmt/format.h>

#include "cli/cli.h"

namespace muster::cli {
namespace {

void say_lines(const Session& session, const json::value& preview, std::string_view name,
               std::string_view title) {
  const json::array& lines = list(preview, name);
  if (lines.empty()) return;
  session.out(fmt::format("{}:\n", title));
  for (const json::value& line : lines) session.out(fmt::format("- {}\n", text(line)));
}

void say_affected(const Session& session, const json::value& preview) {
  const std::int64_t jobs = number(preview, "jobs_affected").value_or(0);
  std::string users;
  for (const json::value& user : list(preview, "users_affected"))
    users += fmt::format("{}{}", users.empty() ? " of " : ", ", text(user));
  session.out(jobs == 0
                  ? "affects no jobs\n"
                  : fmt::format("affects {} {}{}\n", jobs, jobs == 1 ? "job" : "jobs", users));
}

Result<int> reload(Session& session, bool dry_run) {
  const auto api = session.api();
  if (!api) return api.error();
  Ask ask{.method = "POST", .path = "/config/reload"};
  if (dry_run) ask.query.emplace_back("dry_run", "true");
  const auto preview = (*api)->send(ask);
  if (!preview) return preview.error();
  if (session.is_data()) {
    session.print_data(*preview);
    return truth(*preview, "ok") ? exit_done : exit_refused;
  }
  for (const json::value& problem : list(*preview, "problems")) {
    const std::string place =
        number(problem, "line").value_or(0) == 0
            ? ""
            : fmt::format("{}:{}: ", text(problem, "line"), text(problem, "column"));
    session.note(fmt::format("{}{}{}", place,
                             text(problem, "severity") == "warning" ? "warning: " : "",
                             text(problem, "message")));
  }
  if (!truth(*preview, "ok")) return invalid("the server's file has errors: nothing is changed");
  if (list(*preview, "changes").empty()) {
    session.out("nothing changed\n");
    return exit_done;
  }
  say_lines(session, *preview, "changes", dry_run ? "would change" : "changed");
  say_lines(session, *preview, "restart", "of these, after a restart only");
  say_affected(session, *preview);
  return exit_done;
}

}  // namespace

void add_config_reload(CLI::App& app, const SharedHost& host) {
  CLI::App* config = add_noun(app, "config", "The server's configuration");
  CLI::App* command = add_command(
      *config, "reload", "Let the server read its file again and take over what needs no restart");
  const auto dry_run = std::make_shared<bool>(false);
  add_flag(*command, "--dry-run", *dry_run, "say what would change and whose jobs it affects");
  set_body(*command, host, [dry_run](Session& session) { return reload(session, *dry_run); });
}

}  // namespace muster::cli
