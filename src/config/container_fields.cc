#include "config/container_fields.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace muster::config {
namespace {

/// The same with references replaced, in `tree`.
Node with_values(Reader& reader, const Node& node, Tree& tree) {
  switch (node.kind) {
    case Node::Kind::Null:
      return {};
    case Node::Kind::Plain:
    case Node::Kind::Text: {
      const auto scalar = reader.scalar(node, "a value");
      if (!scalar) return {};
      return scalar->plain ? tree.plain(scalar->text) : tree.text(scalar->text);
    }
    case Node::Kind::List: {
      std::vector<Node> items;
      for (std::size_t i = 0; i < node.size; ++i) {
        const Reader::Step step(reader, i);
        items.push_back(with_values(reader, node.items()[i], tree));
      }
      return tree.list(items);
    }
    case Node::Kind::Map:
      break;
  }
  MapMaker map(tree);
  for (const Member& member : node.members()) {
    const Reader::Step step(reader, member.key);
    map.add(member.key, with_values(reader, member.value, tree));
  }
  return map.done();
}

Node copied(const Node& node, Tree& tree) {
  switch (node.kind) {
    case Node::Kind::Null:
      return {};
    case Node::Kind::Plain:
      return tree.plain(node.text);
    case Node::Kind::Text:
      return tree.text(node.text);
    case Node::Kind::List: {
      std::vector<Node> items;
      for (const Node& item : node.items()) items.push_back(copied(item, tree));
      return tree.list(items);
    }
    case Node::Kind::Map:
      break;
  }
  MapMaker map(tree);
  for (const Member& member : node.members()) map.add(member.key, copied(member.value, tree));
  return map.done();
}

}  // namespace

void Codec<RawMap>::read(Reader& reader, const Node& node, RawMap& out, const Rule&) {
  if (!reader.expect(node, Node::Kind::Map, "a map of keys and values")) return;
  Tree tree;
  out.json = to_json(with_values(reader, node, tree), JsonStyle::Compact);
}

Node Codec<RawMap>::write(Writer& to, const RawMap& value, const Rule&) {
  const Parsed parsed = parse_json(value.json);
  return parsed.roots.empty() ? Node{} : copied(parsed.roots[0], to.tree);
}

Node Codec<RawMap>::schema(Schema& schema, const Rule&) {
  return MapMaker(schema.tree()).add("type", "object").done();
}

void Codec<VolumeDoc>::read(Reader& reader, const Node& node, VolumeDoc& out, const Rule& rule) {
  Codec<RawMap>::read(reader, node, out, rule);
  if (node.kind != Node::Kind::Map) return;
  const Node* name = node.find("name");
  if (name == nullptr || !name->is_scalar() || name->text.empty())
    reader.problem(node, "'name' is missing; mounts call the volume by it");
  else if (name->text.starts_with("muster-"))
    reader.problem(*name, "names that begin with muster- are taken");
  if (node.size != 2)
    reader.problem(node, "needs exactly one source beside its name, as {name: a, emptyDir: {}}");
}

Node Codec<VolumeDoc>::write(Writer& to, const VolumeDoc& value, const Rule& rule) {
  return Codec<RawMap>::write(to, value, rule);
}

Node Codec<VolumeDoc>::schema(Schema& schema, const Rule& rule) {
  return Codec<RawMap>::schema(schema, rule);
}

std::string_view policy_word(const std::optional<PullPolicy>& policy) {
  return policy ? EnumNames<PullPolicy>::names[static_cast<std::size_t>(*policy)].first : "";
}

std::optional<PullPolicy> policy_of(std::string_view word) {
  for (const auto& [known, policy] : EnumNames<PullPolicy>::names) {
    if (known == word) return policy;
  }
  return std::nullopt;
}

}  // namespace muster::config
