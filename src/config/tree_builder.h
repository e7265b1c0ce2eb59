// Builds a tree from the events of a parser and holds it to the limits. After a fault the parser
// stops; the fault is then in `problems`. Used by one parse at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"

namespace muster::config {

struct Place {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

class TreeBuilder {
 public:
  TreeBuilder(Parsed& out, const ParseLimits& limits) : out_(out), limits_(limits) {}

  // Each returns false when a limit is passed or the structure is not ours: then stop.
  bool scalar(Node::Kind kind, std::string_view text, Place place, std::size_t anchor = 0);
  bool begin(Node::Kind kind, Place place, std::size_t anchor = 0);
  bool end();
  bool alias(std::size_t anchor, Place place);

  /// The next value begins a new member; JSON tells keys apart, YAML does not.
  bool key(std::string_view key, Place place);
  /// Adds a problem where we are and returns false.
  bool fail(Place place, std::string message);
  void start_document() { anchors_.clear(); }

 private:
  struct Frame {
    Node::Kind kind;
    Place place;
    std::size_t first;  // in pending_
    std::size_t weight = 1;
    std::size_t anchor = 0;
    bool has_key = false;
  };
  struct Anchored {
    Node node;
    std::size_t weight = 0;  // 0: not complete yet
  };
  bool expects_key() const;
  bool take(const Node& node, std::size_t weight, std::size_t anchor);
  void drop_duplicates(std::size_t first);
  std::string path() const;

  Parsed& out_;
  const ParseLimits& limits_;
  std::vector<Frame> frames_;
  std::vector<Member> pending_;
  std::vector<Anchored> anchors_;
  std::size_t weight_ = 0;
};

}  // namespace muster::config
