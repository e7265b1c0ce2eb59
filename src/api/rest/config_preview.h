// What a configuration would change and whose jobs that affects, as the contract's ConfigPreview.
// Thread contract: affected_by on the loop's thread; the rest is pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "config/config.h"
#include "config/config_diff.h"
#include "sched/world.h"

namespace muster::api {

struct Affected {
  std::int64_t jobs = 0;        // that have not ended
  std::set<std::string> users;  // whose they are
};
/// Those of queues that change and of queues below them, those in clusters that change and those
/// that wait to be sent there, and those of pools that change. Looks at every job once.
Affected affected_by(const sched::World& world, const config::Diff& diff);
/// "affects 3 jobs of ada, bob", for the log and the audit.
std::string to_text(const Affected& affected);

std::string preview_json(const config::Checked& checked, const config::Diff& diff,
                         const Affected& affected, bool applied);

}  // namespace muster::api
