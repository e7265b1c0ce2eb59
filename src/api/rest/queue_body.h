// Queues as the API takes them. Keys and limits are those of `queues` in the configuration, read
// by the same tables (config/config.h), so both say the same about a mistake; parent and tree are
// the API's own, because the configuration says them by nesting.
//
// Pure. Thread contract: none needed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/queue.h"
#include "sched/quota.h"
#include "sched/world.h"

namespace muster::api {

Result<model::QueueSpec> read_queue(std::string_view body);

/// What a PATCH changes; what it does not name stays.
struct QueuePatch {
  std::optional<std::string> parent;
  std::optional<std::uint32_t> weight;
  std::optional<model::Strategy> strategy;
  std::optional<int> priority_cap;
  /// Kinds of limits ("guaranteed", "maximum", "borrow", "lend") by resource; none: taken away.
  std::map<std::string, std::map<std::string, std::optional<std::int64_t>>> limits;
};
Result<QueuePatch> read_queue_patch(std::string_view body);

/// The queue as it is in the world.
model::QueueSpec spec_of(const sched::World& world, sched::QueueId queue);
void apply_patch(const QueuePatch& patch, model::QueueSpec& spec);
/// Whether it can stand where it says: its parent exists and is not below it, in one tree, which it
/// is given.
Status place(const sched::World& world, model::QueueSpec& spec);

}  // namespace muster::api
