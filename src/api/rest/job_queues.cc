#include "api/rest/job_queues.h"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace muster::api {
namespace {

std::string known_queues(const sched::World& world, const std::string& name) {
  std::vector<std::string_view> names;
  for (const sched::QueueId id : world.quota.by_name()) {
    if (world.quota[id].alive) names.push_back(world.quota[id].name);
  }
  const std::string near = nearest(name, names);
  return near.empty() ? "" : fmt::format("; did you mean {}?", near);
}

Status check_known(const sched::World& world, const std::string& field, const std::string& queue) {
  const sched::QueueId id = world.quota.find(queue);
  if (!id.is_none() && world.quota[id].alive) return Ok{};
  return invalid(
      fmt::format("{}: there is no queue \"{}\"{}", field, queue, known_queues(world, queue)));
}

/// `others`: by tree what it charges there already.
Status check_extra(const sched::World& world, const std::string& field, const std::string& queue,
                   std::map<std::string, std::string>& others) {
  if (Status status = check_known(world, field, queue); !status) return status;
  const sched::QueueId id = world.quota.find(queue);
  if (world.quota.is_in_main_tree(id)) {
    return invalid(fmt::format("{}: {} is of the main tree, where a job charges its own queue only",
                               field, queue));
  }
  const auto [other, is_new] = others.try_emplace(world.quota.tree_name(id), queue);
  if (is_new) return Ok{};
  return invalid(fmt::format("{}: {} is of the tree '{}' as {} is: a job charges one queue of each",
                             field, queue, other->first, other->second));
}

}  // namespace

Status check_queue(const sched::World& world, const std::string& queue) {
  if (Status status = check_known(world, "queue", queue); !status) return status;
  const sched::QueueId id = world.quota.find(queue);
  if (world.quota.is_in_main_tree(id)) return Ok{};
  return invalid(fmt::format("queue: {} is of the tree '{}', which jobs name in extra_queues",
                             queue, world.quota.tree_name(id)));
}

Status check_queues(const sched::World& world, const model::JobSpec& spec) {
  if (Status status = check_queue(world, spec.queue); !status) return status;
  std::map<std::string, std::string> others;
  for (std::size_t i = 0; i < spec.extra_queues.size(); ++i) {
    const std::string field = fmt::format("extra_queues[{}]", i);
    if (Status status = check_extra(world, field, spec.extra_queues[i], others); !status)
      return status;
  }
  return Ok{};
}

}  // namespace muster::api
