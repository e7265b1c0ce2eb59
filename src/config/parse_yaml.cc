#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <sstream>

#include "config/node.h"
#include "config/tree_builder.h"

namespace muster::config {
namespace {

struct Stop {};  // thrown to leave yaml-cpp; never leaves this file

Place place_of(const YAML::Mark& mark) {
  return {static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1)};
}

/// Feeds the builder with yaml-cpp's events, before yaml-cpp would expand or merge anything.
class Events final : public YAML::EventHandler {
 public:
  explicit Events(TreeBuilder& builder) : builder_(builder) {}

  void OnDocumentStart(const YAML::Mark&) override { builder_.start_document(); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    go_on(builder_.scalar(Node::Kind::Null, {}, place_of(mark), anchor));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    go_on(builder_.alias(anchor, place_of(mark)));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
    if (!quoted) refuse_tag(tag, mark);
    go_on(builder_.scalar(quoted ? Node::Kind::Text : Node::Kind::Plain, value, place_of(mark),
                          anchor));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    refuse_tag(tag, mark);
    go_on(builder_.begin(Node::Kind::List, place_of(mark), anchor));
  }
  void OnSequenceEnd() override { go_on(builder_.end()); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    refuse_tag(tag, mark);
    go_on(builder_.begin(Node::Kind::Map, place_of(mark), anchor));
  }
  void OnMapEnd() override { go_on(builder_.end()); }

 private:
  static void go_on(bool well) {
    if (!well) throw Stop{};
  }
  void refuse_tag(const std::string& tag, const YAML::Mark& mark) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    go_on(builder_.fail(place_of(mark), fmt::format("tag '{}' is not read; drop it", tag)));
  }

  TreeBuilder& builder_;
};

/// How many bytes of well-formed UTF-8 begin at `at`; 0: none.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(at);
  const std::size_t length = first < 0x80                     ? 1
                             : first >= 0xC2 && first <= 0xDF ? 2
                             : first >= 0xE0 && first <= 0xEF ? 3
                             : first >= 0xF0 && first <= 0xF4 ? 4
                                                              : 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80U) return 0;
  }
  const unsigned second = byte(at + 1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second > 0x9F;
  const bool beyond = first == 0xF4 && second > 0x8F;
  return overlong || surrogate || beyond ? 0 : length;
}

/// YAML is UTF-8 without control characters; yaml-cpp takes some of those for its own signs.
bool is_text(std::string_view text, Problems& problems) {
  std::uint32_t line = 1;
  std::size_t line_start = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    const auto column = static_cast<std::uint32_t>(at - line_start + 1);
    const char c = text[at];
    if (length == 0) {
      problems.push_back({line, column, "", "not UTF-8; save the file as UTF-8"});
      return false;
    }
    if ((c >= 0 && c < ' ' && c != '\n' && c != '\r' && c != '\t') || c == 0x7F) {
      problems.push_back(
          {line, column, "", fmt::format("control character {:#04x}; remove it", int{c})});
      return false;
    }
    at += length;
    if (c == '\n') {
      ++line;
      line_start = at;
    }
  }
  return true;
}

}  // namespace

Parsed parse_yaml(std::string_view text, const ParseLimits& limits) {
  Parsed parsed;
  if (text.size() > limits.bytes) {
    parsed.problems.push_back(
        {0, 0, "", fmt::format("{} bytes; at most {} are read", text.size(), limits.bytes)});
    return parsed;
  }
  if (!is_text(text, parsed.problems)) return parsed;
  TreeBuilder builder(parsed, limits);
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    Events events(builder);
    while (parser.HandleNextDocument(events)) {
    }
  } catch (const Stop&) {  // the problem is in the list
  } catch (const YAML::Exception& error) {
    const Place place = place_of(error.mark);
    parsed.problems.push_back({place.line, place.column, "", "not YAML: " + error.msg});
  }
  return parsed;
}

}  // namespace muster::config
