#include "config/node.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <tuple>

namespace muster::config {

std::string to_text(const Problem& problem, std::string_view file) {
  std::string text(file);
  if (problem.line > 0)
    text += fmt::format(fmt::runtime(file.empty() ? "line {}, column {}" : ":{}:{}"), problem.line,
                        problem.column);
  if (!text.empty()) text += ": ";
  if (problem.severity == Severity::Warning) text += "warning: ";
  if (!problem.path.empty()) text += problem.path + ": ";
  text += problem.message;
  // One line, whatever was quoted from the text.
  std::replace_if(
      text.begin(), text.end(), [](char c) { return (c >= 0 && c < ' ') || c == 0x7F; }, '?');
  return text;
}

void sort_by_place(Problems& problems) {
  std::sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
    return std::tie(a.line, a.column, a.path, a.message) <
           std::tie(b.line, b.column, b.path, b.message);
  });
}

const Node* Node::find(std::string_view key) const {
  if (kind != Kind::Map) return nullptr;
  for (const Member& member : members()) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

std::string_view Tree::keep(std::string_view text) {
  if (text.empty()) return {};
  char* const at = static_cast<char*>(arena_->allocate(text.size(), 1));
  std::memcpy(at, text.data(), text.size());
  return {at, text.size()};
}

Node Tree::text(std::string_view text) {
  Node node;
  node.kind = Node::Kind::Text;
  node.text = keep(text);
  return node;
}

Node Tree::plain(std::string_view text) {
  Node node = this->text(text);
  node.kind = Node::Kind::Plain;
  return node;
}

Node Tree::list(std::span<const Node> items) {
  Node node;
  node.kind = Node::Kind::List;
  node.size = static_cast<std::uint32_t>(items.size());
  if (items.empty()) return node;
  void* const at = arena_->allocate(items.size_bytes(), alignof(Node));
  node.list =
      std::uninitialized_copy(items.begin(), items.end(), static_cast<Node*>(at)) - items.size();
  return node;
}

Node Tree::map(std::span<const Member> members) {
  Node node;
  node.kind = Node::Kind::Map;
  node.size = static_cast<std::uint32_t>(members.size());
  if (members.empty()) return node;
  void* const at = arena_->allocate(members.size_bytes(), alignof(Member));
  node.map = std::uninitialized_copy(members.begin(), members.end(), static_cast<Member*>(at)) -
             members.size();
  return node;
}

MapMaker& MapMaker::add(std::string_view key, const Node& value) {
  members_.push_back({tree_->keep(key), 0, 0, value});
  return *this;
}

namespace {

/// One step of "a.b[3]": takes it off the front.
const Node* step(const Node& node, std::string_view& path) {
  if (path.starts_with('[')) {
    const std::size_t close = path.find(']');
    if (close == std::string_view::npos || node.kind != Node::Kind::List) return nullptr;
    std::size_t index = node.size;
    std::from_chars(path.data() + 1, path.data() + close, index);
    path.remove_prefix(close + 1);
    return index < node.size ? &node.items()[index] : nullptr;
  }
  if (path.starts_with('.')) path.remove_prefix(1);
  if (node.kind != Node::Kind::Map) return nullptr;
  // Keys may contain dots: the longest that is there wins.
  const Member* best = nullptr;
  for (const Member& member : node.members()) {
    const bool here = path.starts_with(member.key) &&
                      (path.size() == member.key.size() || path[member.key.size()] == '.' ||
                       path[member.key.size()] == '[');
    if (here && (best == nullptr || member.key.size() > best->key.size())) best = &member;
  }
  if (best == nullptr) return nullptr;
  path.remove_prefix(best->key.size());
  return &best->value;
}

}  // namespace

const Node& locate(const Node& root, std::string_view path) {
  const Node* node = &root;
  while (!path.empty()) {
    const Node* next = step(*node, path);
    if (next == nullptr) break;
    node = next;
  }
  return *node;
}

}  // namespace muster::config
