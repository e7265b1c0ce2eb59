#include "config/schema.h"

#include <limits>
#include <vector>

#include "config/reader.h"

namespace muster::config {

Node Schema::or_reference(const Node& schema) {
  if (!references_) return schema;
  const Node reference =
      MapMaker(tree_).add("type", "string").add("pattern", "[$][{][A-Za-z_]").done();
  return any_of({schema, reference});
}

Node Schema::type(std::string_view name) {
  const Node schema = MapMaker(tree_).add("type", name).done();
  return name == "string" ? schema : or_reference(schema);
}

Node Schema::integer(const Rule& rule) {
  MapMaker map(tree_);
  map.add("type", "integer");
  if (rule.low != std::numeric_limits<std::int64_t>::min()) {
    map.add("minimum", tree_.plain(std::to_string(rule.low)));
  }
  if (rule.high != std::numeric_limits<std::int64_t>::max()) {
    map.add("maximum", tree_.plain(std::to_string(rule.high)));
  }
  return or_reference(map.done());
}

Node Schema::pattern(std::string_view expression) {
  return or_reference(MapMaker(tree_).add("type", "string").add("pattern", expression).done());
}

Node Schema::words(std::span<const std::string_view> words) {
  std::vector<Node> items;
  for (const std::string_view word : words) items.push_back(tree_.text(word));
  return or_reference(MapMaker(tree_).add("type", "string").add("enum", tree_.list(items)).done());
}

Node Schema::list(const Node& item) {
  return MapMaker(tree_).add("type", "array").add("items", item).done();
}

Node Schema::map(const Node& value) {
  return MapMaker(tree_).add("type", "object").add("additionalProperties", value).done();
}

Node Schema::object(const Node& properties, std::span<const Node> required) {
  MapMaker map(tree_);
  map.add("type", "object").add("properties", properties);
  if (!required.empty()) map.add("required", tree_.list(required));
  return map.add("additionalProperties", tree_.plain("false")).done();
}

Node Schema::any_of(std::initializer_list<Node> choices) {
  return MapMaker(tree_)
      .add("anyOf", tree_.list(std::span<const Node>(choices.begin(), choices.size())))
      .done();
}

Node Schema::with(const Node& schema, std::string_view help, const Node& standard) {
  MapMaker map(tree_);
  map.add("description", help);
  const bool says = standard.is_scalar() ? !standard.text.empty() : standard.size > 0;
  if (says) map.add("default", standard);
  for (const Member& member : schema.members()) map.add(member.key, member.value);
  return map.done();
}

bool Schema::declare(std::string_view name) {
  return definitions_.try_emplace(std::string(name)).second;
}

void Schema::define(std::string_view name, const Node& schema) {
  definitions_[std::string(name)] = schema;
}

Node Schema::reference(std::string_view name) {
  return MapMaker(tree_).add("$ref", std::string("#/$defs/").append(name)).done();
}

Node Schema::document(const Node& root, std::string_view title) {
  MapMaker definitions(tree_);
  for (const auto& [name, schema] : definitions_) definitions.add(name, schema);
  MapMaker map(tree_);
  map.add("$schema", "https://json-schema.org/draft/2020-12/schema").add("title", title);
  for (const Member& member : root.members()) map.add(member.key, member.value);
  return map.add("$defs", definitions.done()).done();
}

}  // namespace muster::config
