// Commands and their options, as CLI11 has them. Its templates and its parser are compiled in
// options.cc alone: in every file that calls them itself they are most of the time it takes to
// compile that file.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster::cli {

CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& help);

CLI::Option* add_flag(CLI::App& command, const std::string& names, bool& value,
                      const std::string& help);

// One for each type that options have.
CLI::Option* add_option(CLI::App& command, const std::string& names, std::string& value,
                        const std::string& help);
CLI::Option* add_option(CLI::App& command, const std::string& names,
                        std::vector<std::string>& value, const std::string& help);
CLI::Option* add_option(CLI::App& command, const std::string& names,
                        std::optional<std::string>& value, const std::string& help);
CLI::Option* add_option(CLI::App& command, const std::string& names, int& value,
                        const std::string& help);
CLI::Option* add_option(CLI::App& command, const std::string& names, std::optional<int>& value,
                        const std::string& help);
CLI::Option* add_option(CLI::App& command, const std::string& names, std::int64_t& value,
                        const std::string& help);
CLI::Option* add_option(CLI::App& command, const std::string& names, std::uint64_t& value,
                        const std::string& help);
CLI::Option* add_option(CLI::App& command, const std::string& names, double& value,
                        const std::string& help);

/// For ->check(): "" is not the same as leaving the option out. It says nothing in the help.
CLI::Validator not_empty();

}  // namespace muster::cli
