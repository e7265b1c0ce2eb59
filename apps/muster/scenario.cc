#include "apps/muster/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cli/options.h"
#include "sched/rules.h"
#include "sim/scenario.h"

using namespace muster;
namespace {

namespace fs = std::filesystem;

struct File {
  std::string path;
  std::string text;
};

/// All .scn files below the given files and folders, by name.
std::vector<File> read_files(const std::vector<std::string>& roots) {
  std::vector<std::string> paths;
  for (const auto& root : roots) {
    if (fs::is_regular_file(root)) {
      paths.push_back(root);
    } else if (fs::is_directory(root)) {
      for (const auto& entry : fs::recursive_directory_iterator(root)) {
        if (entry.is_regular_file() && entry.path().extension() == ".scn")
          paths.push_back(entry.path().string());
      }
    } else {
      throw CLI::ValidationError("PATH", fmt::format("no such file or folder: {}", root));
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<File> files;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    files.push_back({path, text.str()});
  }
  if (files.empty()) throw CLI::ValidationError("PATH", "no .scn file there");
  return files;
}

sched::Rules rules_without(const std::string& name) {
  sched::Rules rules;
  if (name.empty()) return rules;
  const sched::Rule rule = sched::rule_of(name);
  if (rule == sched::Rule::Count)
    throw CLI::ValidationError("--without", fmt::format("no rule '{}'", name));
  rules.without(rule);
  return rules;
}

int test(const std::vector<std::string>& roots, const std::string& without) {
  const sched::Rules rules = rules_without(without);
  int passed = 0;
  int failed = 0;
  for (const File& file : read_files(roots)) {
    const sim::ScenarioResult result = sim::run_scenario(file.path, file.text, rules);
    ++(result.passed ? passed : failed);
    if (!result.passed) fmt::print("{}", result.message);
  }
  fmt::print("{} passed, {} failed, 0 skipped\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

int rewrite(const std::vector<std::string>& roots) {
  int changed = 0;
  int broken = 0;
  for (const File& file : read_files(roots)) {
    const sim::ScenarioResult result = sim::run_scenario(file.path, file.text, {});
    if (result.rewritten.empty()) {
      fmt::print("{}", result.message);
      ++broken;
    } else if (result.rewritten != file.text) {
      std::ofstream(file.path, std::ios::binary) << result.rewritten;
      fmt::print("rewrote {}\n", file.path);
      ++changed;
    }
  }
  fmt::print("{} rewritten, {} broken; the diff is the review\n", changed, broken);
  return broken == 0 ? 0 : 1;
}

/// Every rule switched off must break a scenario. One that fails with every rule on would notice
/// all of them.
int mutate(const std::vector<std::string>& roots) {
  const std::vector<File> files = read_files(roots);
  for (const File& file : files) {
    const sim::ScenarioResult result = sim::run_scenario(file.path, file.text, {});
    if (result.passed) continue;
    fmt::print("{}{} fails with every rule on: no rule was switched off\n", result.message,
               file.path);
    fmt::print("0 passed, 1 failed, 0 skipped\n");
    return 1;
  }
  int noticed = 0;
  int missed = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(sched::Rule::Count); ++i) {
    const auto rule = static_cast<sched::Rule>(i);
    sched::Rules rules;
    rules.without(rule);
    std::string by;
    for (const File& file : files) {
      if (!sim::run_scenario(file.path, file.text, rules).passed) {
        by = file.path;
        break;
      }
    }
    ++(by.empty() ? missed : noticed);
    if (by.empty())
      fmt::print("NOT NOTICED  {}\n", sched::to_text(rule));
    else
      fmt::print("noticed      {:<20} {}\n", sched::to_text(rule), by);
  }
  fmt::print("{} passed, {} failed, 0 skipped\n", noticed, missed);
  return missed == 0 ? 0 : 1;
}

}  // namespace

void add_scenario(CLI::App& app) {
  auto* scenario =
      cli::add_command(app, "scenario", "run, rewrite or mutate scenario files (.scn)");
  scenario->require_subcommand(1);
  struct Options {
    std::vector<std::string> roots = {"tests/scenarios"};
    std::string without;
  };
  const auto options = std::make_shared<Options>();
  auto* tests = cli::add_command(*scenario, "test", "run scenarios and compare their output");
  cli::add_option(*tests, "PATH", options->roots, "files or folders")->capture_default_str();
  cli::add_option(*tests, "--without", options->without, "switch one rule off by name");
  tests->callback([options] {
    if (const int code = test(options->roots, options->without); code != 0)
      throw CLI::RuntimeError(code);
  });
  auto* rewrites =
      cli::add_command(*scenario, "rewrite", "write the output as it is now into the files");
  cli::add_option(*rewrites, "PATH", options->roots, "files or folders")->capture_default_str();
  rewrites->callback([options] {
    if (const int code = rewrite(options->roots); code != 0) throw CLI::RuntimeError(code);
  });
  auto* mutates =
      cli::add_command(*scenario, "mutate", "switch each rule off in turn; a scenario must notice");
  cli::add_option(*mutates, "PATH", options->roots, "files or folders")->capture_default_str();
  mutates->callback([options] {
    if (const int code = mutate(options->roots); code != 0) throw CLI::RuntimeError(code);
  });
}
