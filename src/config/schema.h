// Makes a JSON Schema (2020-12) from the tables of fields, for editors and for the REST API. The
// codecs say what a value looks like in these terms.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "config/node.h"

namespace muster::config {

struct Rule;

class Schema {
 public:
  /// In templates a reference, "${n}", may stand for any single value.
  enum class References { No, Yes };
  explicit Schema(Tree& tree, References references = References::No)
      : tree_(tree), references_(references == References::Yes) {}

  Tree& tree() { return tree_; }
  /// Of a single value.
  Node type(std::string_view name);
  Node integer(const Rule& rule);
  /// Text of a form, which a regular expression tells.
  Node pattern(std::string_view expression);
  Node words(std::span<const std::string_view> words);
  Node list(const Node& item);
  Node map(const Node& value);
  Node object(const Node& properties, std::span<const Node> required);
  Node any_of(std::initializer_list<Node> choices);
  /// The same with a description and, unless it says nothing, a default.
  Node with(const Node& schema, std::string_view help, const Node& standard);

  // Structs are defined once and referred to, as queues contain queues.
  bool declare(std::string_view name);
  void define(std::string_view name, const Node& schema);
  Node reference(std::string_view name);
  /// The document: what `root` describes, with all definitions.
  Node document(const Node& root, std::string_view title);

 private:
  Node or_reference(const Node& schema);

  Tree& tree_;
  bool references_;
  std::map<std::string, Node, std::less<>> definitions_;
};

}  // namespace muster::config
