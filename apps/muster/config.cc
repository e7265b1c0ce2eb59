#include "apps/muster/config.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "cli/options.h"
#include "config/config.h"
#include "config/job_file.h"

namespace muster::app {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    fmt::print(stderr, "muster config: cannot read {}\n", path);
    throw CLI::RuntimeError(2);
  }
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Prints every problem; an error ends the command with 1.
config::Config checked(const std::string& path) {
  config::Checked result = config::check(read_text(path));
  for (const config::Problem& problem : result.problems)
    fmt::print(stderr, "{}\n", config::to_text(problem, path));
  if (!result.ok()) throw CLI::RuntimeError(1);
  return std::move(result.config);
}

std::string problems_json(const config::Checked& result) {
  boost::json::array problems;
  for (const config::Problem& problem : result.problems)
    problems.push_back(boost::json::object{
        {"line", problem.line},
        {"column", problem.column},
        {"path", problem.path},
        {"message", problem.message},
        {"severity", problem.severity == config::Severity::Error ? "error" : "warning"}});
  return boost::json::serialize(
      boost::json::object{{"ok", result.ok()}, {"problems", std::move(problems)}});
}

/// For programs: every problem, and 1 if one is an error.
void check_for_programs(const std::string& path) {
  const config::Checked result = config::check(read_text(path));
  fmt::print("{}\n", problems_json(result));
  if (!result.ok()) throw CLI::RuntimeError(1);
}

void say_fine(const std::string& path, const config::Config& config) {
  fmt::print("{}: fine: {} clusters, {} queues, {} pools\n", path, config.clusters.size(),
             config::queue_specs(config).size(), config.pools.size() + config.fleet_pools.size());
}

}  // namespace

void add_config(CLI::App& app) {
  auto* group = app.get_subcommand("config");
  struct Options {
    std::string file;
    std::string output = "text";
    bool jobs = false;
  };
  const auto options = std::make_shared<Options>();
  auto* check = cli::add_command(*group, "check", "print every problem with line and column");
  cli::add_option(*check, "FILE", options->file, "the YAML file")->required();
  cli::add_option(*check, "-o,--output", options->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  check->callback([options] {
    if (options->output == "json") return check_for_programs(options->file);
    say_fine(options->file, checked(options->file));
  });
  auto* show = cli::add_command(*group, "show", "print the configuration with all its defaults");
  cli::add_option(*show, "FILE", options->file, "the YAML file; none: the defaults");
  show->callback([options] {
    const config::Config config = options->file.empty() ? config::Config{} : checked(options->file);
    fmt::print("{}", config::to_yaml(config::without_secrets(config), true));
  });
  auto* demo = cli::add_command(*group, "demo", "print the configuration of the demonstration");
  demo->callback([] { fmt::print("{}", config::demo_yaml()); });
  auto* schema = cli::add_command(*group, "schema", "print the JSON Schema, for editors");
  cli::add_flag(*schema, "--jobs", options->jobs, "that of job files");
  schema->callback([options] {
    fmt::print("{}", options->jobs ? config::job_schema() : config::config_schema());
  });
}

}  // namespace muster::app
