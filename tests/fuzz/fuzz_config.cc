// The server's configuration. Whatever is accepted can be shown and reads back to the same; a
// reload from nothing to it names every queue after its parent and every pool after its cluster.
#include <set>
#include <string>
#include <variant>

#include "base/check.h"
#include "config/config.h"
#include "config/config_diff.h"
#include "tests/fuzz/input.h"

namespace {

using namespace muster;

void check_problems(const config::Problems& problems) {
  for (const config::Problem& problem : problems) {
    const std::string line = config::to_text(problem, "file");
    MUSTER_CHECK(line.find('\n') == std::string::npos && !problem.message.empty(), "{}", line);
  }
}

void check_same(const config::Config& config, const std::string& shown) {
  const config::Checked again = config::check(shown);
  MUSTER_CHECK(again.ok() && again.config == config, "{}", shown);
}

void check_order(const std::vector<model::EventBody>& events) {
  std::set<std::string> queues;
  std::set<std::string> clusters;
  for (const model::EventBody& event : events) {
    if (const auto* queue = std::get_if<model::QueueSet>(&event)) {
      const model::QueueSpec& spec = queue->spec;
      MUSTER_CHECK(spec.parent.empty() || queues.contains(spec.parent), "{}", spec.name);
      MUSTER_CHECK(queues.insert(spec.name).second, "queue '{}' twice", spec.name);
    } else if (const auto* cluster = std::get_if<model::ClusterSet>(&event)) {
      MUSTER_CHECK(clusters.insert(cluster->spec.name).second, "{} twice", cluster->spec.name);
    } else if (const auto* pool = std::get_if<model::PoolSet>(&event)) {
      MUSTER_CHECK(clusters.contains(pool->spec.cluster), "cluster of {}", pool->spec.name);
    }
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const config::Checked checked = config::check(fuzz::text_of({data, size}));
  check_problems(checked.problems);
  if (!checked.ok()) return 0;
  check_same(checked.config, config::to_yaml(checked.config));
  check_same(checked.config, config::to_yaml(checked.config, true));
  check_order(config::events_of(checked.config));
  MUSTER_CHECK(config::diff(checked.config, checked.config).empty(), "differs from itself");
  return 0;
}
