#include "cli/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/command.h"

namespace muster::cli {
namespace {

/// The commands of a place that are not hidden.
std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// The first word that looks like an option and is none; "" if there is none.
std::string unknown_option(const CLI::App& place) {
  for (const std::string& word : place.remaining()) {
    if (word.size() > 1 && word.starts_with('-') && word != "--") return word;
  }
  return "";
}

/// A word in the place of a command that is none; "" if there is none.
std::string unknown_command(const CLI::App& place) {
  if (place.get_require_subcommand_min() == 0) return "";
  const std::vector<std::string> words = place.remaining();
  return words.empty() || words.front().starts_with('-') ? "" : words.front();
}

/// "did you mean logs?" for a word that is no command here, or no option.
std::string suggestion(const CLI::App& place) {
  for (const std::string& word : place.remaining()) {
    if (word == "--") continue;
    const std::vector<std::string> names =
        word.starts_with("--") ? options_of(place) : verbs_of(place);
    const std::string near =
        nearest(word, std::vector<std::string_view>(names.begin(), names.end()));
    if (!near.empty()) return fmt::format(" (did you mean {}?)", near);
  }
  return "";
}

/// "Value x not in range 1 to 9" says less well what "x is outside 1 to 9" does, as the server.
std::string message_of(const CLI::ParseError& error) {
  constexpr std::string_view value = ": Value ";
  constexpr std::string_view range = " not in range ";
  std::string text = one_line(error.what());
  const std::size_t begin = text.find(value);
  const std::size_t middle = text.rfind(range);
  if (begin == std::string::npos || middle == std::string::npos || middle < begin) return text;
  text.replace(middle, range.size(), " is outside ");
  text.replace(begin, value.size(), ": ");
  return text;
}

}  // namespace

std::vector<std::string> shielded(std::vector<std::string> words) {
  bool is_command = false;
  for (std::string& word : words) {
    const bool in_brackets = word.starts_with('[') && word.ends_with(']');
    if (is_command && (in_brackets || word.starts_with(shield))) word.insert(0, 1, shield);
    is_command = is_command || word == "--";
  }
  std::reverse(words.begin(), words.end());
  return words;
}

int report(const CLI::App& app, const CLI::ParseError& error, const Host& host) {
  if (dynamic_cast<const CLI::RuntimeError*>(&error) != nullptr) return error.get_exit_code();
  if (error.get_exit_code() == 0) {
    std::ostringstream out;
    app.exit(error, out, out);
    host.out(out.str());
    return exit_done;
  }
  std::string path = "muster";
  const CLI::App* place = &app;
  while (!place->get_subcommands().empty()) {
    place = place->get_subcommands().front();
    path += " " + place->get_name();
  }
  if (place->get_require_subcommand_min() > 0 && place->remaining().empty() &&
      dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    host.err(app.help());  // of the place: nothing was wrong but that there is more to say
    return exit_wrong;
  }
  std::string message = message_of(error);
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  if (const std::string command = unknown_command(*place); !command.empty())
    message = fmt::format("there is no command {}", one_line(command));
  else if (const std::string option = unknown_option(*place); is_extra && !option.empty())
    message = fmt::format("there is no option {}", option);
  else if (const std::string early = unknown_option(app);
           is_extra && place != &app && !early.empty())
    message = fmt::format("{} stands behind its command: {} {} ...", early, path, early);
  host.err(fmt::format("{}: {}{}; see {} --help\n", "muster", message, suggestion(*place), path));
  return exit_wrong;
}

}  // namespace muster::cli
