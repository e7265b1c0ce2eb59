// `muster help [COMMAND...]`: what --help of that command says.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/cli.h"

namespace muster::cli {
namespace {

/// The command of that name in a place, or an error that names the nearest one.
Result<const CLI::App*> find_command(const CLI::App& place, const std::string& name) {
  std::vector<std::string_view> names;
  for (const CLI::App* command : place.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->check_name(name)) return command;
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  const std::string near = nearest(name, names);
  return invalid(fmt::format("there is no command {}{}", one_line(name),
                             near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
}

}  // namespace

void add_help(CLI::App& app, const SharedHost& host) {
  CLI::App* command = add_command(app, "help", "Show how a command is used");
  const auto words = std::make_shared<std::vector<std::string>>();
  add_option(*command, "COMMAND", *words, "its name; all commands if not given");
  command->callback([host, words, &app] {
    const CLI::App* place = &app;
    std::string path = "muster";
    for (const std::string& word : *words) {
      const auto found = find_command(*place, word);
      if (!found) {
        host->err(fmt::format("muster: {}; see {} --help\n", found.error().message, path));
        throw CLI::RuntimeError(exit_wrong);
      }
      place = *found;
      path += " " + place->get_name();
    }
    host->out(app.get_formatter()->make_help(place, path, CLI::AppFormatMode::Normal));
  });
}

}  // namespace muster::cli
