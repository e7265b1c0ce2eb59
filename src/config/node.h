// A document as a tree of nodes, the same for YAML and for JSON, so that the tables of fields exist
// once. Scalars stay text: what a scalar means is decided by the field that reads it (a queue may
// be called `no`, a label may be `1.10`). Nodes are plain values that point into their Tree and
// live as long as it. A Tree is not thread-safe while it is filled, and immutable afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/problem.h"

namespace muster::config {

struct Member;

struct Node {
  /// Plain: a scalar without quotes (in JSON a number, true or false). Text: one with quotes.
  enum class Kind : std::uint8_t { Null, Plain, Text, List, Map };

  Kind kind = Kind::Null;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t size = 0;       // of a List or a Map
  std::string_view text;        // of a scalar
  const Node* list = nullptr;   // `size` of them
  const Member* map = nullptr;  // `size` of them; keys are there once

  bool is_scalar() const { return kind == Kind::Plain || kind == Kind::Text; }
  bool is_null() const { return kind == Kind::Null; }
  std::span<const Node> items() const { return {list, size}; }
  std::span<const Member> members() const;
  /// The value of a key of a Map, or null.
  const Node* find(std::string_view key) const;
};

struct Member {
  std::string_view key;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  Node value;
};

inline std::span<const Member> Node::members() const { return {map, size}; }

/// Owns the text and the children of nodes.
class Tree {
 public:
  Tree() : arena_(std::make_unique<std::pmr::monotonic_buffer_resource>(4096)) {}

  std::string_view keep(std::string_view text);
  Node text(std::string_view text);
  Node plain(std::string_view text);
  Node list(std::span<const Node> items);
  Node map(std::span<const Member> members);
  Node empty_map() { return map({}); }

 private:
  std::unique_ptr<std::pmr::monotonic_buffer_resource> arena_;
};

/// A map in the making, keys in the order they are added.
class MapMaker {
 public:
  explicit MapMaker(Tree& tree) : tree_(&tree) {}
  MapMaker& add(std::string_view key, const Node& value);
  MapMaker& add(std::string_view key, std::string_view text) { return add(key, tree_->text(text)); }
  bool empty() const { return members_.empty(); }
  Node done() { return tree_->map(members_); }

 private:
  Tree* tree_;
  std::vector<Member> members_;
};

struct ParseLimits {
  std::size_t bytes = std::size_t{16} << 20;
  std::size_t nodes = 2'000'000;  // aliases counted as what they stand for
  std::size_t depth = 64;
};

/// What a text says. With errors in `problems` the roots are what could be read before them.
struct Parsed {
  Tree tree;
  std::vector<Node> roots;  // one a document; an empty text has none
  Problems problems;
};

/// YAML 1.2 without tags and merge keys. Aliases are read; they share their nodes.
Parsed parse_yaml(std::string_view text, const ParseLimits& limits = {});
/// Strict JSON, one document. Nodes carry no line and column: the path says where.
Parsed parse_json(std::string_view text, const ParseLimits& limits = {});

/// Block style, readable; multi-line text as literal blocks.
std::string to_yaml(const Node& node);
/// Two blanks of indentation, or on one line.
enum class JsonStyle { Pretty, Compact };
std::string to_json(const Node& node, JsonStyle style = JsonStyle::Pretty);

/// The node nearest to the path ("queues[0].weight"): the deepest that exists on the way there.
const Node& locate(const Node& root, std::string_view path);

}  // namespace muster::config
