#include "apps/muster/config.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

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

void say_fine(const std::string& path, const config::Config& config) {
  fmt::print("{}: fine: {} clusters, {} queues, {} pools\n", path, config.clusters.size(),
             config::queue_specs(config).size(), config.pools.size() + config.fleet_pools.size());
}

}  // namespace

void add_config(CLI::App& app) {
  auto* group = app.add_subcommand("config", "check or show a server configuration");
  group->require_subcommand(1);
  struct Options {
    std::string file;
    bool jobs = false;
  };
  const auto options = std::make_shared<Options>();
  auto* check = group->add_subcommand("check", "print every problem with line and column");
  check->add_option("FILE", options->file, "the YAML file")->required();
  check->callback([options] { say_fine(options->file, checked(options->file)); });
  auto* show = group->add_subcommand("show", "print the configuration with all its defaults");
  show->add_option("FILE", options->file, "the YAML file; none: the defaults");
  show->callback([options] {
    const config::Config config = options->file.empty() ? config::Config{} : checked(options->file);
    fmt::print("{}", config::to_yaml(config::without_secrets(config), true));
  });
  auto* demo = group->add_subcommand("demo", "print the configuration of the demonstration");
  demo->callback([] { fmt::print("{}", config::demo_yaml()); });
  auto* schema = group->add_subcommand("schema", "print the JSON Schema, for editors");
  schema->add_flag("--jobs", options->jobs, "that of job files");
  schema->callback([options] {
    fmt::print("{}", options->jobs ? config::job_schema() : config::config_schema());
  });
}

}  // namespace muster::app
