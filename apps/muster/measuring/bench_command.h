// The command of a benchmark that consists of several parts: its options, the run, the sheet that
// the parts fill.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/muster/measuring/parts.h"
#include "apps/muster/measuring/sheet.h"
#include "base/result.h"
#include "base/time.h"
#include "cli/options.h"

namespace muster::app {

template <typename Sizes>
struct BenchPart {
  std::string name;
  Status (*measure)(const Sizes&, Sheet&);
};

/// A command that runs all parts, or those named with --only, and exits with 0 when everything
/// could be measured. `add_sizes` gives it the options that fill the sizes.
template <typename Sizes>
void add_bench_of_parts(CLI::App& bench, const std::string& name, const std::string& help,
                        std::vector<BenchPart<Sizes>> parts,
                        const std::function<void(CLI::App&, Sizes&)>& add_sizes) {
  struct Options {
    Sizes sizes = {};
    std::vector<std::string> only = {};
    std::string output = "text";
    std::string rows = {};
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = cli::add_command(bench, name, help);
  add_sizes(*command, options->sizes);
  std::vector<std::string> names;
  for (const BenchPart<Sizes>& part : parts) names.push_back(part.name);
  cli::add_option(*command, "--only", options->only, "Parts to run")->check(CLI::IsMember(names));
  cli::add_option(*command, "-o,--output", options->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  cli::add_option(*command, "--rows", options->rows, "File for the rows, one JSON line each");
  command->callback([options, parts = std::move(parts)] {
    Sheet sheet(options->output == "json", options->rows);
    for (const BenchPart<Sizes>& part : parts) {
      const std::vector<std::string>& only = options->only;
      if (!only.empty() && std::find(only.begin(), only.end(), part.name) == only.end()) continue;
      const Status measured = part.measure(options->sizes, sheet);
      bench_progress("");
      if (!measured) sheet.fail(part.name, measured.error().message);
    }
    std::exit(sheet.is_whole() ? 0 : 1);
  });
}

/// A size that is a length of time, in whole seconds.
void add_seconds(CLI::App& command, const std::string& name, Duration& length,
                 const std::string& help);

}  // namespace muster::app
