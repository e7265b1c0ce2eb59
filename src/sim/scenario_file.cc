// Scenario files: reading blocks, comparing their output, writing them anew.
#include <fmt/format.h>

#include "base/text.h"
#include "sim/scenario.h"

namespace muster::sim {
namespace {

struct Block {
  std::vector<std::string> text;  // comments and commands, as written
  std::vector<std::size_t> at;    // line number of each
  std::string expected;
  bool has_output = false;
  std::size_t output_at = 0;
};

/// A block ends at an empty line after its output, or at the end of the file. Empty lines before
/// `----` belong to it.
std::vector<Block> read_blocks(std::string_view text) {
  std::vector<Block> blocks;
  Block block;
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (block.has_output) {
      if (trim(line).empty()) {
        blocks.push_back(std::move(block));
        block = {};
      } else {
        block.expected += std::string(line) + "\n";
      }
    } else if (line == "----") {
      block.has_output = true;
      block.output_at = number;
    } else {
      block.text.emplace_back(line);
      block.at.push_back(number);
    }
  }
  while (!block.has_output && !block.text.empty() && trim(block.text.back()).empty())
    block.text.pop_back();
  if (block.has_output || !block.text.empty()) blocks.push_back(std::move(block));
  return blocks;
}

std::string first_difference(std::string_view expected, std::string_view actual) {
  const auto want = split(expected, '\n');
  const auto have = split(actual, '\n');
  for (std::size_t i = 0; i < std::max(want.size(), have.size()); ++i) {
    const std::string_view w = i < want.size() ? want[i] : "(end)";
    const std::string_view h = i < have.size() ? have[i] : "(end)";
    if (w != h) return fmt::format("  expected: {}\n  actual:   {}\n", w, h);
  }
  return "";
}

}  // namespace

ScenarioResult run_scenario(const std::string& path, std::string_view text,
                            const sched::Rules& rules) {
  ScenarioResult result{path, true, "", ""};
  Scenario scenario(rules);
  const auto broken = [&](std::size_t line, const std::string& message) {
    result.passed = false;
    result.message += fmt::format("{}:{}: {}\n", path, line, message);
    result.rewritten.clear();
    return result;
  };
  for (const Block& block : read_blocks(text)) {
    std::string output;
    for (std::size_t i = 0; i < block.text.size(); ++i) {
      result.rewritten += block.text[i] + "\n";
      const std::string_view line = trim(block.text[i]);
      if (line.empty() || line.starts_with('#')) continue;
      const auto printed = scenario.run(line);
      if (!printed) return broken(block.at[i], printed.error().message);
      output += *printed;
      if (const std::string wrong = sched::check(scenario.world()); !wrong.empty())
        return broken(block.at[i], "check: " + wrong);
    }
    if (const auto last = scenario.flush(); !last)
      return broken(block.at.back(), last.error().message);
    if (const std::string wrong = sched::check(scenario.world()); !wrong.empty())
      return broken(block.at.empty() ? 1 : block.at.back(), "check: " + wrong);
    if (!block.has_output && output.empty()) continue;
    result.rewritten += "----\n" + output + "\n";
    if (output == block.expected && block.has_output) continue;
    result.passed = false;
    result.message +=
        fmt::format("{}:{}:\n{}", path, block.output_at, first_difference(block.expected, output));
  }
  while (result.rewritten.ends_with("\n\n")) result.rewritten.pop_back();
  return result;
}

}  // namespace muster::sim
