#include "cli/options.h"

namespace muster::cli {

CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& help) {
  return parent.add_subcommand(name, help);
}

CLI::Option* add_flag(CLI::App& command, const std::string& names, bool& value,
                      const std::string& help) {
  return command.add_flag(names, value, help);
}

CLI::Option* add_option(CLI::App& command, const std::string& names, std::string& value,
                        const std::string& help) {
  return command.add_option(names, value, help);
}

CLI::Option* add_option(CLI::App& command, const std::string& names,
                        std::vector<std::string>& value, const std::string& help) {
  return command.add_option(names, value, help);
}

CLI::Option* add_option(CLI::App& command, const std::string& names,
                        std::optional<std::string>& value, const std::string& help) {
  return command.add_option(names, value, help);
}

CLI::Option* add_option(CLI::App& command, const std::string& names, int& value,
                        const std::string& help) {
  return command.add_option(names, value, help);
}

CLI::Option* add_option(CLI::App& command, const std::string& names, std::optional<int>& value,
                        const std::string& help) {
  return command.add_option(names, value, help);
}

CLI::Option* add_option(CLI::App& command, const std::string& names, std::int64_t& value,
                        const std::string& help) {
  return command.add_option(names, value, help);
}

CLI::Option* add_option(CLI::App& command, const std::string& names, std::uint64_t& value,
                        const std::string& help) {
  return command.add_option(names, value, help);
}

CLI::Option* add_option(CLI::App& command, const std::string& names, double& value,
                        const std::string& help) {
  return command.add_option(names, value, help);
}

}  // namespace muster::cli
