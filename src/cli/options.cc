#include "cli/options.h"

#include <charconv>
#include <system_error>

namespace muster::cli {
namespace {

/// Before CLI11 reads it, which takes what is too large for the largest number there is, -1 for the
/// largest without a sign, and 010 for eight. It says nothing in the help.
template <typename Number>
CLI::Validator whole_number() {
  const auto read = [](std::string& text) -> std::string {
    Number number{};
    const char* const end = text.data() + text.size();
    const auto [rest, fault] = std::from_chars(text.data(), end, number);
    if (fault != std::errc{} || rest != end) return text + " is not a whole number, or too large";
    text = std::to_string(number);
    return {};
  };
  return {read, ""};
}

}  // namespace

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
  return command.add_option(names, value, help)->transform(whole_number<std::int64_t>());
}

CLI::Option* add_option(CLI::App& command, const std::string& names, std::optional<int>& value,
                        const std::string& help) {
  return command.add_option(names, value, help)->transform(whole_number<std::int64_t>());
}

CLI::Option* add_option(CLI::App& command, const std::string& names, std::int64_t& value,
                        const std::string& help) {
  return command.add_option(names, value, help)->transform(whole_number<std::int64_t>());
}

CLI::Option* add_option(CLI::App& command, const std::string& names, std::uint64_t& value,
                        const std::string& help) {
  return command.add_option(names, value, help)->transform(whole_number<std::uint64_t>());
}

CLI::Option* add_option(CLI::App& command, const std::string& names, double& value,
                        const std::string& help) {
  return command.add_option(names, value, help);
}

CLI::Validator not_empty() {
  return {[](std::string& text) -> std::string { return text.empty() ? "is empty" : ""; }, ""};
}

}  // namespace muster::cli
