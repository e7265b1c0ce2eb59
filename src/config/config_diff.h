// What changes from one configuration to the next, for a reload without restart: the events that
// bring the engine there, in an order that never names what does not exist; lines for the preview;
// and what only a restart can change.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "model/event.h"

namespace muster::config {

struct Diff {
  std::vector<model::EventBody> events;
  std::vector<std::string> lines;    // "queue research: weight 1 -> 2"
  std::vector<std::string> restart;  // of the lines, those that need a restart
  std::vector<std::string> queues;   // added, changed or removed: whose jobs it affects
  std::vector<std::string> pools;    // and fleet pools: changed or removed
  std::vector<std::string> clusters_added;
  std::vector<std::string> clusters_changed;
  std::vector<std::string> clusters_removed;
  bool policy = false;  // `scheduling` differs: hand the new one to the planner
  bool empty() const { return lines.empty(); }
};

Diff diff(const Config& before, const Config& after);

/// All events of a first start.
std::vector<model::EventBody> events_of(const Config& config);

}  // namespace muster::config
