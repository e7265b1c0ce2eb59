#include "cli/json.h"

#include <fmt/format.h>

#include "config/node.h"

namespace muster::cli {

Result<json::value> parse_json(std::string_view text) {
  boost::system::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error);
  if (error) return invalid("not JSON: " + error.message());
  return value;
}

const json::value& field(const json::value& object, std::string_view name) {
  static const json::value nothing;
  const json::object* members = object.if_object();
  const json::value* found =
      members == nullptr ? nullptr : members->if_contains({name.data(), name.size()});
  return found == nullptr ? nothing : *found;
}

std::string text(const json::value& value) {
  if (const json::string* s = value.if_string()) return {s->data(), s->size()};
  if (value.is_number() || value.is_bool()) return json::serialize(value);
  return "";
}

std::string text(const json::value& object, std::string_view name) {
  return text(field(object, name));
}

std::optional<std::int64_t> number(const json::value& object, std::string_view name) {
  boost::system::error_code error;
  const json::value& value = field(object, name);
  if (!value.is_number()) return std::nullopt;
  const auto n = value.to_number<std::int64_t>(error);
  if (error) return std::nullopt;
  return n;
}

bool truth(const json::value& object, std::string_view name) {
  const bool* value = field(object, name).if_bool();
  return value != nullptr && *value;
}

Time time_of(const json::value& object, std::string_view name) {
  const auto ms = number(object, name);
  return ms && *ms < Time::never().ms && *ms > -Time::never().ms ? Time{*ms} : Time::never();
}

const json::array& list(const json::value& object, std::string_view name) {
  static const json::array nothing;
  const json::array* items = field(object, name).if_array();
  return items == nullptr ? nothing : *items;
}

const json::object& members(const json::value& object, std::string_view name) {
  static const json::object nothing;
  const json::object* found = field(object, name).if_object();
  return found == nullptr ? nothing : *found;
}

namespace {

config::Parsed as_nodes(const json::value& value) {
  config::ParseLimits limits;
  limits.bytes = std::size_t{1} << 30;
  limits.nodes = std::size_t{1} << 26;
  return config::parse_json(json::serialize(value), limits);
}

}  // namespace

std::string pretty_json(const json::value& value) {
  const config::Parsed parsed = as_nodes(value);
  return parsed.roots.empty() ? "null\n" : config::to_json(parsed.roots.front());
}

std::string yaml(const json::value& value) {
  const config::Parsed parsed = as_nodes(value);
  return parsed.roots.empty() ? "null\n" : config::to_yaml(parsed.roots.front());
}

}  // namespace muster::cli
