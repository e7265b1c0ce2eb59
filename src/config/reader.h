// The reading kit. A struct's fields stand once, in a table (Fields<T>, see fields.h); Reader fills
// the struct from a node by that table and collects every problem with its path and place.
//
//   struct Queue { std::string name; int weight = 1; };
//   template <> struct Fields<Queue> {
//     static constexpr std::string_view name = "queue";
//     template <typename V> static void visit(V& v) {
//       v.field("name", &Queue::name, "unique name", Rule{.required = true});
//       v.field("weight", &Queue::weight, "share against its siblings", between(0, 65535));
//     }
//   };
//
// A Reader belongs to one thread and one document.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <forward_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/node.h"
#include "config/problem.h"
#include "config/scope.h"

namespace muster::config {

/// What a field demands beyond its type.
struct Rule {
  bool required = false;
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
  bool name = false;                              // letters, digits and . _ -
  bool star = false;                              // of a name: or *, for all of them
  std::size_t length_max = std::size_t{1} << 20;  // of text
};

constexpr Rule between(std::int64_t low, std::int64_t high) { return {.low = low, .high = high}; }
constexpr Rule at_least(std::int64_t low) { return {.low = low}; }
constexpr Rule required_name() { return {.required = true, .name = true, .length_max = 253}; }
constexpr Rule optional_name() { return {.name = true, .length_max = 253}; }
constexpr Rule name_or_star() { return {.name = true, .star = true, .length_max = 253}; }

/// The table of T's fields.
template <typename T>
struct Fields;
/// How a value of type T is read, written and described; see codecs.h.
template <typename T>
struct Codec;

template <typename T>
concept HasFields = requires { Fields<T>::name; };

class Reader {
 public:
  static constexpr std::size_t problems_max = 100;  // a hopeless text does not fill the screen
  static constexpr std::size_t replaced_max = std::size_t{16} << 20;  // bytes of one job

  explicit Reader(Problems& problems) : problems_(problems) {}

  /// References in text mean these values from here on; null: they are plain text.
  void use(const Scope* scope) {
    scope_ = scope;
    replaced_.clear();
    replaced_bytes_ = 0;
  }

  void problem(const Node& at, std::string message) { add(at.line, at.column, std::move(message)); }
  void problem(const Member& at, std::string message) {
    add(at.line, at.column, std::move(message));
  }
  /// An error of base or model without the name of the field, which the path says already.
  void problem(const Node& at, const Error& error);
  std::size_t problem_count() const { return problems_.size(); }

  /// "a list", "a text": for messages.
  static std::string_view what(const Node& node);
  /// A scalar with its references replaced by the values of parameters; nothing, with a problem,
  /// when the node is none or a reference is unknown.
  struct Scalar {
    std::string_view text;
    bool plain = false;
  };
  std::optional<Scalar> scalar(const Node& node, std::string_view wanted);
  /// A whole number, not one in quotes.
  std::optional<std::int64_t> whole(const Node& node, const Rule& rule);
  bool expect(const Node& node, Node::Kind kind, std::string_view wanted);
  /// Text for people and programs: without NUL, not too long, a name where one is asked for.
  void text(const Node& node, std::string& out, const Rule& rule);
  void unknown_word(const Node& node, std::string_view word,
                    std::span<const std::string_view> known);

  /// Where we are, while it lives.
  class Step {
   public:
    Step(Reader& reader, std::string_view key) : reader_(reader) {
      reader_.path_.push_back({key, 0});
    }
    Step(Reader& reader, std::size_t index) : reader_(reader) {
      reader_.path_.push_back({{}, index});
    }
    ~Step() { reader_.path_.pop_back(); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    Reader& reader_;
  };
  std::string path() const;

 private:
  friend class Step;
  struct Part {
    std::string_view key;  // empty: an index
    std::size_t index;
  };
  void add(std::uint32_t line, std::uint32_t column, std::string message);

  Problems& problems_;
  const Scope* scope_ = nullptr;
  std::vector<Part> path_;
  std::forward_list<std::string> replaced_;  // text with values in place of references
  std::size_t replaced_bytes_ = 0;
};

/// Collects the keys of a table.
struct KeyList {
  std::vector<std::string_view> keys;
  template <typename T, typename M>
  void field(std::string_view key, M T::*, std::string_view, const Rule& = {}) {
    keys.push_back(key);
  }
  template <typename T, typename E>
  void seeded(std::string_view key, std::vector<E> T::*, std::string_view, const Rule& = {}) {
    keys.push_back(key);
  }
};

template <typename T>
const std::vector<std::string_view>& keys_of() {
  static const std::vector<std::string_view> keys = [] {
    KeyList list;
    Fields<T>::visit(list);
    return list.keys;
  }();
  return keys;
}

/// Reads a map into one struct or two; what none of them knows is a problem.
class ObjectReader {
 public:
  static constexpr std::size_t members_max = 256;

  ObjectReader(Reader& reader, const Node& node) : reader_(reader), node_(node) {
    is_map_ = reader.expect(node, Node::Kind::Map, "a map of keys and values");
    if (is_map_ && node.size > members_max) {
      reader.problem(node, "has more than 256 keys");
      is_map_ = false;
    }
  }

  template <typename T>
  void read(T& object) {
    if (!is_map_) return;
    Into<T> into{*this, object};
    Fields<T>::visit(into);
    known<T>();
  }
  /// T's keys are known, but were read elsewhere.
  template <typename T>
  void pass() {
    if (!is_map_) return;
    for (const std::string_view key : keys_of<T>()) take(key);
    known<T>();
  }
  void finish() {
    if (!is_map_ || seen_.count() == node_.size) return;
    std::vector<std::string_view> known;
    for (const auto* keys : known_) {
      if (keys != nullptr) known.insert(known.end(), keys->begin(), keys->end());
    }
    report_unknown(known);
  }

 private:
  template <typename T>
  struct Into {
    ObjectReader& from;
    T& object;
    template <typename B, typename M>
    void field(std::string_view key, M B::* member, std::string_view, const Rule& rule = {}) {
      const Node* value = from.take(key);
      if (value == nullptr || value->is_null()) {
        if (rule.required) from.missing(key);
        return;
      }
      const Reader::Step step(from.reader_, key);
      Codec<M>::read(from.reader_, *value, object.*member, rule);
    }
    /// A list whose items start as the object they stand in.
    template <typename B, typename E>
    void seeded(std::string_view key, std::vector<E> B::* member, std::string_view,
                const Rule& = {}) {
      const Node* value = from.take(key);
      if (value == nullptr || value->is_null()) return;
      const Reader::Step step(from.reader_, key);
      if (!from.reader_.expect(*value, Node::Kind::List, "a list")) return;
      for (std::size_t i = 0; i < value->size; ++i) {
        const Reader::Step item(from.reader_, i);
        E element = E::seeded_from(object, value->items()[i]);
        Codec<E>::read(from.reader_, value->items()[i], element, {});
        (object.*member).push_back(std::move(element));
      }
    }
  };

  const Node* take(std::string_view key) {
    const std::span<const Member> members = node_.members();
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i].key != key) continue;
      seen_.set(i);
      return &members[i].value;
    }
    return nullptr;
  }
  template <typename T>
  void known() {
    known_[known_[0] == nullptr ? 0 : 1] = &keys_of<T>();
  }
  void missing(std::string_view key);
  void report_unknown(std::span<const std::string_view> known);

  Reader& reader_;
  const Node& node_;
  bool is_map_ = false;
  std::bitset<members_max> seen_;
  std::array<const std::vector<std::string_view>*, 2> known_{};  // of at most two structs
};

template <typename T>
void read_object(Reader& reader, const Node& node, T& object) {
  ObjectReader from(reader, node);
  from.read(object);
  from.finish();
}

}  // namespace muster::config
