#include "api/rest/queue_body.h"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "config/config.h"

namespace muster::api {
namespace {

namespace json = boost::json;

constexpr std::size_t body_bytes_max = std::size_t{64} << 10;

using LimitOf = std::optional<std::int64_t> model::Limit::*;
struct LimitKind {
  std::string_view name;
  LimitOf member;
};
constexpr std::array<LimitKind, 4> limit_kinds = {{{"guaranteed", &model::Limit::guaranteed},
                                                   {"maximum", &model::Limit::maximum},
                                                   {"borrow", &model::Limit::borrow},
                                                   {"lend", &model::Limit::lend}}};

Result<json::object> object_of(std::string_view body) {
  if (body.size() > body_bytes_max)
    return invalid(fmt::format("the body of a queue may have {} bytes", body_bytes_max));
  boost::system::error_code bad;
  json::value value = json::parse(json::string_view(body.data(), body.size()), bad);
  if (bad || !value.is_object()) return invalid("the body must be a JSON object: a queue");
  return std::move(value.get_object());
}

/// Takes a text out of the object; none if it is not there.
Result<std::optional<std::string>> take_text(json::object& object, std::string_view name) {
  const auto it = object.find(name);
  if (it == object.end()) return std::optional<std::string>();
  if (!it->value().is_string()) return invalid(fmt::format("{}: must be a text", name));
  std::string text(it->value().get_string());
  object.erase(it);
  return std::optional(std::move(text));
}

/// Reads it as the only queue of a configuration.
Result<model::QueueSpec> as_configured(const json::object& queue) {
  const std::string name = queue.contains("name") && queue.at("name").is_string()
                               ? std::string(queue.at("name").get_string())
                               : "";
  // The queue stands for the default one, so that no other is made beside it.
  json::object document{{"queues", json::array{queue}}};
  if (!name.empty()) document["defaults"] = json::object{{"queue", name}};
  const config::Checked checked = config::check(json::serialize(document));
  for (const config::Problem& problem : checked.problems) {
    if (problem.severity != config::Severity::Error) continue;
    constexpr std::string_view prefix = "queues[0]";
    std::string path = problem.path;
    if (path.starts_with(prefix)) path.erase(0, prefix.size());
    if (path.starts_with('.')) path.erase(0, 1);
    return invalid(path.empty() ? problem.message : fmt::format("{}: {}", path, problem.message));
  }
  const std::vector<model::QueueSpec> specs = config::queue_specs(checked.config);
  if (specs.size() != 1) return invalid("queues: a queue is made without those below it");
  return specs[0];
}

Result<json::object> without_nulls(json::object queue, QueuePatch& patch) {
  for (const LimitKind& kind : limit_kinds) {
    const auto it = queue.find(kind.name);
    if (it == queue.end()) continue;
    if (!it->value().is_object())
      return invalid(fmt::format("{}: must be an object of resources", kind.name));
    json::object& amounts = it->value().get_object();
    for (auto amount = amounts.begin(); amount != amounts.end();) {
      if (!amount->value().is_null()) {
        ++amount;
        continue;
      }
      patch.limits[std::string(kind.name)][std::string(amount->key())] = std::nullopt;
      amount = amounts.erase(amount);
    }
  }
  return queue;
}

/// That of the hidden root above it.
const std::string& tree_of(const sched::World& world, sched::QueueId id) {
  while (!world.quota[id].parent.is_none()) id = world.quota[id].parent;
  return world.quota[id].tree;
}

}  // namespace

Result<model::QueueSpec> read_queue(std::string_view body) {
  auto object = object_of(body);
  if (!object) return object.error();
  if (object->contains("queues")) return invalid("queues: make those below it one by one");
  const auto parent = take_text(*object, "parent");
  if (!parent) return parent.error();
  const auto tree = take_text(*object, "tree");
  if (!tree) return tree.error();
  auto spec = as_configured(*object);
  if (!spec) return spec;
  spec->parent = parent->value_or("");
  spec->tree = tree->value_or("");
  if (!spec->parent.empty() && !spec->tree.empty())
    return invalid("tree: is that of its parent; name one of the two");
  return spec;
}

Result<QueuePatch> read_queue_patch(std::string_view body) {
  auto object = object_of(body);
  if (!object) return object.error();
  for (const std::string_view fixed : {"name", "tree", "queues"}) {
    if (object->contains(fixed)) return invalid(fmt::format("{}: cannot be changed", fixed));
  }
  QueuePatch patch;
  auto parent = take_text(*object, "parent");
  if (!parent) return parent.error();
  patch.parent = std::move(*parent);
  auto queue = without_nulls(std::move(*object), patch);
  if (!queue) return queue.error();
  (*queue)["name"] = "patched";
  const auto spec = as_configured(*queue);
  if (!spec) return spec.error();
  if (queue->contains("weight")) patch.weight = spec->weight;
  if (queue->contains("strategy")) patch.strategy = spec->strategy;
  if (queue->contains("priority_cap")) patch.priority_cap = spec->priority_cap;
  for (const auto& [resource, limit] : spec->limits) {
    for (const LimitKind& kind : limit_kinds) {
      if (limit.*kind.member) patch.limits[std::string(kind.name)][resource] = limit.*kind.member;
    }
  }
  return patch;
}

model::QueueSpec spec_of(const sched::World& world, sched::QueueId id) {
  const sched::QueueNode& node = world.quota[id];
  model::QueueSpec spec;
  spec.name = node.name;
  // The hidden root of a tree has no name.
  spec.parent = node.parent.is_none() ? "" : world.quota[node.parent].name;
  spec.tree = node.tree;
  spec.weight = node.weight;
  spec.strategy = node.strategy;
  spec.priority_cap = node.priority_cap;
  const auto set = [](std::int64_t amount) {
    return amount == sched::unset ? std::nullopt : std::optional(amount);
  };
  for (std::size_t r = 0; r < node.limits.size(); ++r) {
    const sched::LimitRec& limit = node.limits[r];
    const model::Limit kept{set(limit.guaranteed), set(limit.maximum), set(limit.borrow),
                            set(limit.lend)};
    if (kept == model::Limit{}) continue;
    spec.limits[world.quota.resource_name(sched::ResourceId{static_cast<std::uint16_t>(r)})] = kept;
  }
  return spec;
}

void apply_patch(const QueuePatch& patch, model::QueueSpec& spec) {
  if (patch.parent) spec.parent = *patch.parent;
  if (patch.weight) spec.weight = *patch.weight;
  if (patch.strategy) spec.strategy = *patch.strategy;
  if (patch.priority_cap) spec.priority_cap = *patch.priority_cap;
  for (const LimitKind& kind : limit_kinds) {
    const auto changes = patch.limits.find(std::string(kind.name));
    if (changes == patch.limits.end()) continue;
    for (const auto& [resource, amount] : changes->second)
      spec.limits[resource].*kind.member = amount;
  }
  std::erase_if(spec.limits, [](const auto& entry) { return entry.second == model::Limit{}; });
}

Status place(const sched::World& world, model::QueueSpec& spec) {
  for (const auto& [resource, limit] : spec.limits) {
    if (limit.guaranteed && limit.maximum && *limit.guaranteed > *limit.maximum)
      return invalid(fmt::format("guaranteed.{}: is above its maximum", resource));
  }
  const sched::QueueId self = world.quota.find(spec.name);
  const bool exists = !self.is_none() && world.quota[self].alive;
  if (spec.parent.empty()) {
    if (exists) spec.tree = tree_of(world, self);
    return Ok{};
  }
  sched::QueueId at = world.quota.find(spec.parent);
  if (at.is_none() || !world.quota[at].alive)
    return invalid(fmt::format("parent: there is no queue {}", spec.parent));
  const std::string& tree = tree_of(world, at);
  if (exists && tree_of(world, self) != tree)
    return invalid(fmt::format("parent: {} is in another tree", spec.parent));
  for (; !at.is_none(); at = world.quota[at].parent) {
    if (at == self)
      return invalid(fmt::format("parent: {} is {} itself or below it", spec.parent, spec.name));
  }
  spec.tree = tree;
  return Ok{};
}

}  // namespace muster::api
