#include "config/tree_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace muster::config {

bool TreeBuilder::expects_key() const {
  return !frames_.empty() && frames_.back().kind == Node::Kind::Map && !frames_.back().has_key;
}

std::string TreeBuilder::path() const {
  std::string path;
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    const std::size_t end = i + 1 < frames_.size() ? frames_[i + 1].first : pending_.size();
    const std::size_t count = end - frames_[i].first;
    if (frames_[i].kind == Node::Kind::List) {
      path += fmt::format("[{}]", count);
    } else if (frames_[i].has_key && count > 0) {
      path += fmt::format("{}{}", path.empty() ? "" : ".", pending_[end - 1].key.substr(0, 60));
    }
  }
  return path;
}

bool TreeBuilder::fail(Place place, std::string message) {
  constexpr std::size_t problems_max = 100;
  if (out_.problems.size() < problems_max)
    out_.problems.push_back({place.line, place.column, path(), std::move(message)});
  return false;
}

bool TreeBuilder::key(std::string_view key, Place place) {
  if (key == "<<") return fail(place, "merge keys ('<<') are not read; write the fields out");
  Frame& frame = frames_.back();
  pending_.push_back({out_.tree.keep(key), place.line, place.column, {}});
  frame.has_key = true;
  return true;
}

/// A value is complete: it belongs to the innermost frame, or is a document.
bool TreeBuilder::take(const Node& node, std::size_t weight, std::size_t anchor) {
  weight_ += weight;
  if (weight_ > limits_.nodes) {
    return fail(
        {node.line, node.column},
        fmt::format("more than {} values, aliases counted as what they stand for", limits_.nodes));
  }
  if (anchor > 0) {
    if (anchors_.size() < anchor) anchors_.resize(anchor);
    anchors_[anchor - 1] = {node, weight};
  }
  if (frames_.empty()) {
    out_.roots.push_back(node);
    return true;
  }
  Frame& frame = frames_.back();
  frame.weight += weight;
  if (frame.kind == Node::Kind::Map) {
    pending_.back().value = node;
    frame.has_key = false;
  } else {
    pending_.push_back({{}, node.line, node.column, node});
  }
  return true;
}

bool TreeBuilder::scalar(Node::Kind kind, std::string_view text, Place place, std::size_t anchor) {
  if (expects_key()) {
    if (anchor > 0) return fail(place, "an anchor on a key is not read");
    if (kind == Node::Kind::Null) return fail(place, "a key is missing");
    return key(text, place);
  }
  Node node;
  node.kind = kind;
  node.line = place.line;
  node.column = place.column;
  node.text = out_.tree.keep(text);
  return take(node, 1, anchor);
}

bool TreeBuilder::begin(Node::Kind kind, Place place, std::size_t anchor) {
  if (expects_key()) return fail(place, "a key is a single word, not a list or a map");
  if (frames_.size() >= limits_.depth) {
    return fail(place, fmt::format("nested deeper than {} levels", limits_.depth));
  }
  frames_.push_back({kind, place, pending_.size(), 1, anchor});
  return true;
}

/// The first of equal keys stays, the others are problems.
void TreeBuilder::drop_duplicates(std::size_t first) {
  const auto key_of = [&](std::size_t i) { return pending_[first + i].key; };
  const std::size_t count = pending_.size() - first;
  if (count <= 16) {  // as usual: no need to sort
    bool twice = false;
    for (std::size_t i = 1; i < count; ++i) {
      for (std::size_t j = 0; j < i; ++j) twice = twice || key_of(i) == key_of(j);
    }
    if (!twice) return;
  }
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return key_of(a) != key_of(b) ? key_of(a) < key_of(b) : a < b;
  });
  std::vector<bool> drop(count);
  for (std::size_t i = 1; i < count; ++i) {
    if (key_of(order[i]) != key_of(order[i - 1])) continue;
    drop[order[i]] = true;
    const Member& again = pending_[first + order[i]];
    fail({again.line, again.column},
         fmt::format("key '{}' is there twice", again.key.substr(0, 60)));
  }
  std::size_t kept = first;
  for (std::size_t i = 0; i < count; ++i) {
    if (!drop[i]) pending_[kept++] = pending_[first + i];
  }
  pending_.resize(kept);
}

bool TreeBuilder::end() {
  const Frame frame = frames_.back();
  if (frame.kind == Node::Kind::Map) drop_duplicates(frame.first);
  const std::span<const Member> parts = std::span<const Member>(pending_).subspan(frame.first);
  Node node;
  if (frame.kind == Node::Kind::Map) {
    node = out_.tree.map(parts);
  } else {
    std::vector<Node> items;
    items.reserve(parts.size());
    for (const Member& part : parts) items.push_back(part.value);
    node = out_.tree.list(items);
  }
  node.line = frame.place.line;
  node.column = frame.place.column;
  pending_.resize(frame.first);
  frames_.pop_back();
  // The weight of the children was counted when they came.
  weight_ -= frame.weight - 1;
  return take(node, frame.weight, frame.anchor);
}

bool TreeBuilder::alias(std::size_t anchor, Place place) {
  if (expects_key()) return fail(place, "an alias as a key is not read");
  if (anchor == 0 || anchor > anchors_.size() || anchors_[anchor - 1].weight == 0) {
    return fail(place, "an alias inside of what it stands for");
  }
  const Anchored named = anchors_[anchor - 1];
  return take(named.node, named.weight, 0);
}

}  // namespace muster::config
