// The scenario language: whole files of any text. A file is refused with its line or it runs, and
// what it is rewritten to passes and is not rewritten again. Sizes are kept small: the engine is
// tried by tests/properties, here it is the reader.
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "sched/rules.h"
#include "sim/scenario.h"
#include "tests/fuzz/lines.h"

namespace {

using namespace muster;

constexpr std::size_t lines_max = 120;
constexpr std::int64_t many = 40;  // nodes or pods a line

/// Whether every line asks for few enough nodes and pods to be quick.
bool is_small(std::string_view text) {
  const auto lines = split(text, '\n');
  if (lines.size() > lines_max) return false;
  for (const std::string_view line : lines) {
    sim::Args args(line);
    if (args.number("count", 0, -many, 1'000'000'000) > many) return false;
    const bool is_node = args.verb().starts_with("node");  // there it is a limit
    if (!is_node && args.number("pods", 0, -many, 1'000'000'000) > many) return false;
  }
  return true;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  if (!is_small(text)) return -1;  // not kept
  const sim::ScenarioResult first = sim::run_scenario("file", text, sched::Rules{});
  if (first.rewritten.empty()) {
    MUSTER_CHECK(first.message.empty() || first.message.starts_with("file:"), "{}", first.message);
    return 0;
  }
  const sim::ScenarioResult again = sim::run_scenario("file", first.rewritten, sched::Rules{});
  MUSTER_CHECK(again.passed, "{}\n{}", again.message, first.rewritten);
  MUSTER_CHECK(again.rewritten == first.rewritten, "{}\nbecame\n{}", first.rewritten,
               again.rewritten);
  return 0;
}
