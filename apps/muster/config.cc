#include "apps/muster/config.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "apps/muster/read_text.h"
#include "cli/json.h"
#include "cli/options.h"
#include "config/config.h"
#include "config/job_file.h"
#include "kube/yaml.h"

namespace muster::app {
namespace {

std::string text_of(const std::string& path) {
  const auto text = read_text(path);
  if (text) return *text;
  fmt::print(stderr, "muster config: {}\n", text.error().message);
  throw CLI::RuntimeError(2);
}

/// Prints every problem; an error ends the command with 1.
config::Config checked(const std::string& path) {
  config::Checked result = config::check(text_of(path));
  for (const config::Problem& problem : result.problems)
    fmt::print(stderr, "{}\n", config::to_text(problem, path));
  if (!result.ok()) throw CLI::RuntimeError(1);
  return std::move(result.config);
}

boost::json::value problems_of(const config::Checked& result) {
  boost::json::array problems;
  for (const config::Problem& problem : result.problems)
    problems.push_back(boost::json::object{
        {"line", problem.line},
        {"column", problem.column},
        {"path", problem.path},
        {"message", problem.message},
        {"severity", problem.severity == config::Severity::Error ? "error" : "warning"}});
  return boost::json::object{{"ok", result.ok()}, {"problems", std::move(problems)}};
}

void print_data(const boost::json::value& value, const std::string& output) {
  fmt::print("{}", output == "yaml" ? cli::yaml(value) : cli::pretty_json(value));
}

/// What is written in one of them, in the other: YAML or JSON.
void print_as(std::string_view text, const std::string& output) {
  const auto documents = kube::parse_yaml(text);
  if (!documents || documents->empty()) {
    fmt::print(stderr, "muster config: {}\n",
               documents ? "there is nothing in it" : documents.error().message);
    throw CLI::RuntimeError(1);
  }
  print_data(documents->front(), output);
}

/// For programs: every problem, and 1 if one is an error.
void check_for_programs(const std::string& path, const std::string& output) {
  const config::Checked result = config::check(text_of(path));
  print_data(problems_of(result), output);
  if (!result.ok()) throw CLI::RuntimeError(1);
}

void say_fine(const std::string& path, const config::Config& config) {
  const auto several = [](std::size_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
  };
  fmt::print("{}: fine: {}, {}, {}\n", path, several(config.clusters.size(), "cluster"),
             several(config::queue_specs(config).size(), "queue"),
             several(config.pools.size() + config.fleet_pools.size(), "pool"));
}

}  // namespace

void add_config(CLI::App& app) {
  auto* group = app.get_subcommand("config");
  struct Options {
    std::string file;
    std::string output = "table";  // of which text is another name, and wide has no more
    bool jobs = false;
  };
  const auto options = std::make_shared<Options>();
  const auto add_output = [&](CLI::App& command) {
    cli::add_option(command, "-o,--output", options->output, "table, wide, json or yaml")
        ->check(CLI::IsMember({"table", "wide", "json", "yaml", "text"}))
        ->capture_default_str();
  };
  auto* check = cli::add_command(*group, "check", "print every problem with line and column");
  cli::add_option(*check, "FILE", options->file, "the YAML file")->required();
  add_output(*check);
  check->callback([options] {
    if (options->output == "json" || options->output == "yaml")
      return check_for_programs(options->file, options->output);
    say_fine(options->file, checked(options->file));
  });
  auto* show = cli::add_command(*group, "show", "print the configuration with all its defaults");
  cli::add_option(*show, "FILE", options->file, "the YAML file; none: the defaults");
  add_output(*show);
  show->callback([options] {
    const config::Config config = options->file.empty() ? config::Config{} : checked(options->file);
    const std::string yaml = config::to_yaml(config::without_secrets(config), true);
    if (options->output == "json") return print_as(yaml, options->output);
    fmt::print("{}", yaml);
  });
  auto* demo = cli::add_command(*group, "demo", "print the configuration of the demonstration");
  add_output(*demo);
  demo->callback([options] {
    if (options->output == "json") return print_as(config::demo_yaml(), options->output);
    fmt::print("{}", config::demo_yaml());
  });
  auto* schema = cli::add_command(*group, "schema", "print the JSON Schema, for editors");
  cli::add_flag(*schema, "--jobs", options->jobs, "that of job files");
  add_output(*schema);
  schema->callback([options] {
    const std::string schema = options->jobs ? config::job_schema() : config::config_schema();
    if (options->output == "yaml") return print_as(schema, options->output);
    fmt::print("{}", schema);
  });
}

}  // namespace muster::app
