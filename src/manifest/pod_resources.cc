#include "manifest/pod_resources.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <utility>

#include "kube/json.h"
#include "model/amount.h"

namespace muster::manifest {

namespace {

namespace json = boost::json;

constexpr std::int64_t replicas_max = 100'000;

/// A quantity is text, or the bare number that somebody wrote.
std::string quantity_of(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

Result<Amounts> read_amounts(const json::value& of, std::string_view key,
                             const std::string& field) {
  Amounts amounts;
  const json::value* map = kube::find(of, {key});
  if (map == nullptr) return amounts;
  if (!map->is_object()) return invalid(fmt::format("{}.{}: not a map", field, key));
  for (const auto& member : map->get_object()) {
    const std::string name(member.key());
    const std::string at = fmt::format("{}.{}.{}", field, key, name.substr(0, 100));
    if (name.empty()) return invalid(at + ": a resource needs a name");
    const auto amount = model::parse_quantity(quantity_of(member.value()), at, scale_of(name));
    if (!amount) return amount.error();
    if (*amount > 0) amounts[name] = *amount;
  }
  return amounts;
}

json::object quantities(const Amounts& amounts) {
  json::object made;
  for (const auto& [name, amount] : amounts)
    made[name] = json::string(model::quantity_text(amount, scale_of(name)));
  return made;
}

}  // namespace

Amounts PodResources::counted() const {
  Amounts all = limits;
  for (const auto& [name, amount] : requests) {
    if (amount > 0) all[name] = amount;
  }
  return all;
}

Result<std::vector<PodResources>> read_pod_resources(const json::array& items,
                                                     std::string_view field) {
  std::vector<PodResources> all;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", field, i);
    if (!items[i].is_object()) return invalid(at + ": not a map");
    PodResources& one = all.emplace_back();
    one.replicas = kube::integer_at(items[i], {"replicas"}, 1);
    if (one.replicas < 0 || one.replicas > replicas_max) {
      return invalid(
          fmt::format("{}.replicas: {} is not from 0 to {}", at, one.replicas, replicas_max));
    }
    auto requests = read_amounts(items[i], "requests", at);
    if (!requests) return requests.error();
    auto limits = read_amounts(items[i], "limits", at);
    if (!limits) return limits.error();
    one.requests = std::move(*requests);
    one.limits = std::move(*limits);
  }
  return all;
}

json::object to_json(const PodResources& pods) {
  json::object made{{"replicas", pods.replicas}, {"requests", quantities(pods.requests)}};
  if (!pods.limits.empty()) made["limits"] = quantities(pods.limits);
  return made;
}

}  // namespace muster::manifest
