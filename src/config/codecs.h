// How each kind of value is read from a node, written to one, and described in a JSON Schema. One
// Codec a type with the three functions side by side, so that they cannot drift apart. A struct
// with a table of fields (Fields<T>) needs no codec of its own.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "config/node.h"
#include "config/reader.h"
#include "config/schema.h"
#include "config/values.h"
#include "model/amount.h"

namespace muster::config {

/// Fields at their default are left out unless asked for.
struct Writer {
  Tree& tree;
  bool defaults = false;
};

// ---- plain values

template <>
struct Codec<std::string> {
  static void read(Reader& reader, const Node& node, std::string& out, const Rule& rule) {
    reader.text(node, out, rule);
  }
  static Node write(Writer& to, const std::string& value, const Rule&) {
    return to.tree.text(value);
  }
  static Node schema(Schema& schema, const Rule& rule);
};

template <>
struct Codec<bool> {
  static void read(Reader& reader, const Node& node, bool& out, const Rule& rule);
  static Node write(Writer& to, bool value, const Rule&) {
    return to.tree.plain(value ? "true" : "false");
  }
  static Node schema(Schema& schema, const Rule&) { return schema.type("boolean"); }
};

template <std::integral T>
struct Codec<T> {
  static void read(Reader& reader, const Node& node, T& out, const Rule& rule) {
    Rule narrow = rule;
    narrow.low = std::max(rule.low, static_cast<std::int64_t>(std::numeric_limits<T>::min()));
    if constexpr (sizeof(T) < 8) {
      narrow.high = std::min(rule.high, static_cast<std::int64_t>(std::numeric_limits<T>::max()));
    }
    if (const auto value = reader.whole(node, narrow)) out = static_cast<T>(*value);
  }
  static Node write(Writer& to, T value, const Rule&) {
    return to.tree.plain(std::to_string(value));
  }
  static Node schema(Schema& schema, const Rule& rule) { return schema.integer(rule); }
};

/// "90s", "1h30m"; a bare number is seconds.
template <>
struct Codec<Duration> {
  static void read(Reader& reader, const Node& node, Duration& out, const Rule& rule);
  static Node write(Writer& to, Duration value, const Rule&) {
    return to.tree.text(to_text(value));
  }
  static Node schema(Schema& schema, const Rule&);
};

/// Amounts in Kubernetes' spelling.
struct QuantityCodec {
  static void read(Reader& reader, const Node& node, std::int64_t& out, const Rule& rule,
                   model::Scale scale);
  static Node write(Writer& to, std::int64_t value, model::Scale scale);
  static Node schema(Schema& schema, model::Scale scale);
};

template <typename T, model::Scale scale>
struct AmountCodec {
  static void read(Reader& reader, const Node& node, T& out, const Rule& rule) {
    QuantityCodec::read(reader, node, out.v, rule, scale);
  }
  static Node write(Writer& to, T value, const Rule&) {
    return QuantityCodec::write(to, value.v, scale);
  }
  static Node schema(Schema& schema, const Rule&) { return QuantityCodec::schema(schema, scale); }
};
template <>
struct Codec<model::MilliCpu> : AmountCodec<model::MilliCpu, model::Scale::Milli> {};
template <>
struct Codec<model::Bytes> : AmountCodec<model::Bytes, model::Scale::Whole> {};

template <>
struct Codec<Milli> : AmountCodec<Milli, model::Scale::Milli> {};

template <>
struct Codec<Amounts> {
  static void read(Reader& reader, const Node& node, Amounts& out, const Rule& rule);
  static Node write(Writer& to, const Amounts& value, const Rule&);
  static Node schema(Schema& schema, const Rule&);
};

// ---- words from a list

/// EnumNames<E>::names: pairs of word and value.
template <typename E>
struct EnumNames;

template <typename E>
  requires std::is_enum_v<E>
struct Codec<E> {
  static std::vector<std::string_view> words() {
    std::vector<std::string_view> words;
    for (const auto& [word, value] : EnumNames<E>::names) words.push_back(word);
    return words;
  }
  static void read(Reader& reader, const Node& node, E& out, const Rule&) {
    const auto scalar = reader.scalar(node, "a word");
    if (!scalar) return;
    for (const auto& [word, value] : EnumNames<E>::names) {
      if (word == scalar->text) {
        out = value;
        return;
      }
    }
    reader.unknown_word(node, scalar->text, words());
  }
  static Node write(Writer& to, E value, const Rule&) {
    for (const auto& [word, known] : EnumNames<E>::names) {
      if (known == value) return to.tree.text(word);
    }
    return {};
  }
  static Node schema(Schema& schema, const Rule&) { return schema.words(words()); }
};

// ---- values of values

template <typename T>
struct Codec<std::optional<T>> {
  static void read(Reader& reader, const Node& node, std::optional<T>& out, const Rule& rule) {
    Codec<T>::read(reader, node, out.emplace(), rule);
  }
  static Node write(Writer& to, const std::optional<T>& value, const Rule& rule) {
    return value ? Codec<T>::write(to, *value, rule) : Node{};
  }
  static Node schema(Schema& schema, const Rule& rule) { return Codec<T>::schema(schema, rule); }
};

template <typename T>
struct Codec<std::vector<T>> {
  static void read(Reader& reader, const Node& node, std::vector<T>& out, const Rule& rule) {
    out.clear();
    if (!reader.expect(node, Node::Kind::List, "a list")) return;
    out.reserve(node.size);
    for (std::size_t i = 0; i < node.size; ++i) {
      const Reader::Step step(reader, i);
      Codec<T>::read(reader, node.items()[i], out.emplace_back(), rule);
    }
  }
  static Node write(Writer& to, const std::vector<T>& value, const Rule& rule) {
    std::vector<Node> items;
    for (const T& item : value) items.push_back(Codec<T>::write(to, item, rule));
    return to.tree.list(items);
  }
  static Node schema(Schema& schema, const Rule& rule) {
    return schema.list(Codec<T>::schema(schema, rule));
  }
};

/// Keys of the user's choice. Entries that are there already stay: a pod set adds to its job's.
template <typename T>
struct Codec<std::map<std::string, T>> {
  static void read(Reader& reader, const Node& node, std::map<std::string, T>& out,
                   const Rule& rule) {
    if (!reader.expect(node, Node::Kind::Map, "a map of keys and values")) return;
    for (const Member& member : node.members()) {
      const Reader::Step step(reader, member.key);
      if (member.key.empty()) reader.problem(member, "a key must not be empty");
      Codec<T>::read(reader, member.value, out[std::string(member.key)], rule);
    }
  }
  static Node write(Writer& to, const std::map<std::string, T>& value, const Rule& rule) {
    MapMaker map(to.tree);
    for (const auto& [key, item] : value) map.add(key, Codec<T>::write(to, item, rule));
    return map.done();
  }
  static Node schema(Schema& schema, const Rule& rule) {
    return schema.map(Codec<T>::schema(schema, rule));
  }
};

// ---- structs with a table

template <typename T>
class FieldWriter {
 public:
  FieldWriter(Writer& to, const T& object) : to_(to), object_(object), map_(to.tree) {}
  template <typename B, typename M>
  void field(std::string_view key, M B::* member, std::string_view, const Rule& rule = {}) {
    static const T fresh{};
    const bool is_default = object_.*member == fresh.*member;
    if (is_default && !to_.defaults && !rule.required) return;
    const Node node = Codec<M>::write(to_, object_.*member, rule);
    const bool empty = node.is_scalar() ? node.text.empty() : node.size == 0;
    if (!empty || !is_default || rule.required) map_.add(key, node);
  }
  template <typename B, typename E>
  void seeded(std::string_view key, std::vector<E> B::* member, std::string_view help,
              const Rule& rule = {}) {
    field(key, member, help, rule);
  }
  Node done() { return map_.done(); }

 private:
  Writer& to_;
  const T& object_;
  MapMaker map_;
};

/// Describes a table; the default of a field is what a fresh struct has.
template <typename T>
class FieldSchema {
 public:
  explicit FieldSchema(Schema& schema) : schema_(schema), properties_(schema.tree()) {}
  template <typename B, typename M>
  void field(std::string_view key, M B::* member, std::string_view help, const Rule& rule = {}) {
    static const T fresh{};
    Writer to{schema_.tree()};
    Node standard;
    if constexpr (!HasFields<M>) standard = Codec<M>::write(to, fresh.*member, rule);
    if (rule.required) required_.push_back(schema_.tree().text(key));
    properties_.add(key, schema_.with(Codec<M>::schema(schema_, rule), help,
                                      rule.required ? Node{} : standard));
  }
  template <typename B, typename E>
  void seeded(std::string_view key, std::vector<E> B::* member, std::string_view help,
              const Rule& rule = {}) {
    field(key, member, help, rule);
  }
  Node done() { return schema_.object(properties_.done(), required_); }

 private:
  Schema& schema_;
  MapMaker properties_;
  std::vector<Node> required_;
};

template <typename T>
Node write_object(Writer& to, const T& value) {
  FieldWriter<T> writer(to, value);
  Fields<T>::visit(writer);
  return writer.done();
}

template <typename T>
Node object_schema(Schema& schema) {
  if (schema.declare(Fields<T>::name)) {
    FieldSchema<T> fields(schema);
    Fields<T>::visit(fields);
    schema.define(Fields<T>::name, fields.done());
  }
  return schema.reference(Fields<T>::name);
}

template <HasFields T>
struct Codec<T> {
  static void read(Reader& reader, const Node& node, T& out, const Rule&) {
    read_object(reader, node, out);
  }
  static Node write(Writer& to, const T& value, const Rule&) { return write_object(to, value); }
  static Node schema(Schema& schema, const Rule&) { return object_schema<T>(schema); }
};

}  // namespace muster::config
