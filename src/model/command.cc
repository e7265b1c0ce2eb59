#include "model/command.h"

#include <string_view>

#include "base/text.h"

namespace muster::model {
namespace {

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

Status check_argv(const std::vector<std::string>& argv, std::string_view field) {
  if (argv.empty() || argv[0].empty())
    return invalid(fmt::format("{}: empty; give the program to run", field));
  for (std::size_t i = 0; i < argv.size(); ++i) {
    if (has_nul(argv[i])) return invalid(fmt::format("{}[{}]: has a NUL byte", field, i));
  }
  return Ok{};
}

Status check_environment(const Environment& environment, std::string_view field) {
  for (const auto& [name, value] : environment) {
    if (name.empty() || name.find('=') != std::string::npos || has_nul(name))
      return invalid(fmt::format("{}: '{}' is not a name of a variable", field, name));
    if (has_nul(value)) return invalid(fmt::format("{}.{}: has a NUL byte", field, name));
  }
  return Ok{};
}

Status check_file(const CommandFile& file, std::size_t i) {
  const std::string field = fmt::format("files[{}].path", i);
  if (file.path.empty() || file.path.front() == '/' || has_nul(file.path))
    return invalid(fmt::format("{}: '{}' is not a relative path", field, file.path));
  for (const std::string_view part : split(file.path, '/')) {
    if (part.empty() || part == "." || part == "..")
      return invalid(
          fmt::format("{}: '{}' may not have empty parts, '.' or '..'", field, file.path));
  }
  return Ok{};
}

}  // namespace

Status validate(const Command& command) {
  if (command.sets.empty()) return invalid("sets: empty; a job has at least one pod set");
  if (Status s = check_environment(command.environment, "environment"); !s) return s;
  for (std::size_t i = 0; i < command.sets.size(); ++i) {
    const CommandSet& set = command.sets[i];
    const std::string field = fmt::format("sets[{}]", i);
    if (Status s = check_argv(command.argv_of(set), set.argv.empty() ? "argv" : field + ".argv");
        !s)
      return s;
    if (Status s = check_environment(set.environment, field + ".environment"); !s) return s;
    if (has_nul(set.name)) return invalid(field + ".name: has a NUL byte");
    if (set.cpu.v < 0) return invalid(field + ".cpu: negative");
    if (set.memory.v < 0) return invalid(field + ".memory: negative");
  }
  for (std::size_t i = 0; i < command.files.size(); ++i) {
    if (Status s = check_file(command.files[i], i); !s) return s;
  }
  if (!command.working_dir.empty() &&
      (command.working_dir.front() != '/' || has_nul(command.working_dir)))
    return invalid(fmt::format("working_dir: '{}' is not an absolute path", command.working_dir));
  if (has_nul(command.name) || has_nul(command.user))
    return invalid("name, user: may not have a NUL byte");
  if (command.stop_grace.ms < 0) return invalid("stop_grace: negative");
  return Ok{};
}

}  // namespace muster::model
