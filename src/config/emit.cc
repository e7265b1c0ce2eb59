// Nodes as text. What is emitted here reads back to the same nodes, apart from quotes that no
// reader needs.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/node.h"

namespace muster::config {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if ((c >= 0 && c < ' ') || c == 0x7F) {
          out += fmt::format("\\u{:04x}", int{c});
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

/// A number as JSON spells it.
bool is_json_number(std::string_view text) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at - from;
  };
  if (at < text.size() && text[at] == '-') ++at;
  const std::size_t whole_from = at;
  const std::size_t whole = digits();
  if (whole == 0 || (whole > 1 && text[whole_from] == '0')) return false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (digits() == 0) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (digits() == 0) return false;
  }
  return at == text.size();
}

/// Other programs would take the word for a number, a truth value or nothing.
bool is_ambiguous(std::string_view text) {
  constexpr std::array<std::string_view, 11> words = {"true", "false", "yes", "no",  "on", "off",
                                                      "null", "y",     "n",   "nan", "inf"};
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return is_letter(c) ? static_cast<char>(c | 0x20) : c; });
  if (std::find(words.begin(), words.end(), lower) != words.end()) return true;
  constexpr std::string_view of_numbers = "0123456789abcdefxo_.:+-";
  const bool starts = is_digit(text[0]) || text[0] == '.' || text[0] == '+' || text[0] == '-';
  return starts && lower.find_first_not_of(of_numbers) == std::string::npos;
}

/// May stand without quotes, in a block and between brackets.
bool is_plain(std::string_view text) {
  constexpr std::string_view marks = " _./-+=@%:()$;";
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.back() == ':') return false;
  const char first = text.front();
  if (!is_letter(first) && !is_digit(first) && first != '/' && first != '_' && first != '.' &&
      first != '$') {
    return false;
  }
  if (text == ".." || text.starts_with("...")) return false;
  const bool known = std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || is_digit(c) || marks.find(c) != std::string_view::npos;
  });
  return known && text.find(": ") == std::string_view::npos;
}

class Yaml {
 public:
  std::string emit(const Node& node) {
    if (inline_form(node)) {
      out_ = flow(node) + "\n";
    } else {
      block(node, 0);
    }
    return std::move(out_);
  }

 private:
  static std::string scalar(const Node& node) {
    if (node.is_null()) return "null";
    if (!is_plain(node.text) && !(node.kind == Node::Kind::Plain && is_json_number(node.text)))
      return quoted(node.text);
    return node.kind == Node::Kind::Text && is_ambiguous(node.text) ? quoted(node.text)
                                                                    : std::string(node.text);
  }
  static std::string key(std::string_view text) {
    return is_plain(text) && !is_ambiguous(text) ? std::string(text) : quoted(text);
  }
  static bool inline_form(const Node& node) {
    if (node.kind == Node::Kind::Map) return node.size == 0;
    if (node.kind != Node::Kind::List) return true;
    std::size_t length = 0;
    for (const Node& item : node.items()) {
      if (!item.is_scalar()) return false;
      length += item.text.size() + 2;
    }
    return length <= 72;
  }
  static std::string flow(const Node& node) {
    if (node.kind == Node::Kind::Map) return "{}";
    if (node.kind != Node::Kind::List) return scalar(node);
    std::string out = "[";
    for (const Node& item : node.items()) {
      if (out.size() > 1) out += ", ";
      out += scalar(item);
    }
    return out + "]";
  }
  /// Text of several lines that a literal block says exactly.
  static bool is_literal(const Node& node) {
    const std::string_view text = node.text;
    if (node.kind != Node::Kind::Text || text.find('\n') == std::string_view::npos) return false;
    if (text.front() == ' ' || text.front() == '\n' || text.front() == '\t') return false;
    if (text.ends_with("\n\n") || text.ends_with(" ")) return false;
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return (c >= ' ' && c != 0x7F) || c == '\n' || c == '\t'; });
  }
  void literal(std::string_view text, int depth) {
    const bool newline = text.ends_with('\n');
    out_ += newline ? "|\n" : "|-\n";
    if (newline) text.remove_suffix(1);
    while (true) {
      const std::size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      if (!line.empty()) indent(depth) += line;
      out_ += '\n';
      if (end == std::string_view::npos) return;
      text.remove_prefix(end + 1);
    }
  }
  std::string& indent(int depth) { return out_.append(static_cast<std::size_t>(depth) * 2, ' '); }

  void value(const Node& node, int depth) {
    if (node.kind == Node::Kind::Text && is_literal(node)) {
      out_ += ' ';
      literal(node.text, depth);
    } else if (inline_form(node)) {
      out_ += ' ' + flow(node) + '\n';
    } else {
      out_ += '\n';
      block(node, depth);
    }
  }
  void block(const Node& node, int depth) {
    if (node.kind == Node::Kind::Map) {
      bool first = after_dash_;
      after_dash_ = false;
      for (const Member& member : node.members()) {
        if (!first) indent(depth);
        first = false;
        out_ += key(member.key) + ':';
        // The dashes of a list stand under its key.
        const int below = member.value.kind == Node::Kind::List ? depth : depth + 1;
        value(member.value, below);
      }
      return;
    }
    for (const Node& item : node.items()) {
      indent(depth) += '-';
      if (item.kind == Node::Kind::Map && item.size > 0) {
        out_ += ' ';
        after_dash_ = true;
        block(item, depth + 1);
      } else {
        value(item, depth + 1);
      }
    }
  }

  std::string out_;
  bool after_dash_ = false;
};

class Json {
 public:
  explicit Json(JsonStyle style) : pretty_(style == JsonStyle::Pretty) {}
  std::string emit(const Node& node) {
    value(node, 0);
    if (pretty_) out_ += '\n';
    return std::move(out_);
  }

 private:
  void line(int depth) {
    if (pretty_) out_.append("\n").append(static_cast<std::size_t>(depth) * 2, ' ');
  }
  void scalar(const Node& node) {
    const bool as_is = node.kind == Node::Kind::Plain &&
                       (node.text == "true" || node.text == "false" || is_json_number(node.text));
    out_ += as_is ? std::string(node.text) : quoted(node.text);
  }
  void value(const Node& node, int depth) {
    if (node.is_null()) {
      out_ += "null";
    } else if (node.is_scalar()) {
      scalar(node);
    } else if (node.kind == Node::Kind::List) {
      const bool simple = std::all_of(node.items().begin(), node.items().end(),
                                      [](const Node& item) { return item.is_scalar(); });
      out_ += '[';
      for (std::size_t i = 0; i < node.size; ++i) {
        if (i > 0) out_ += pretty_ && simple ? ", " : ",";
        if (!simple) line(depth + 1);
        value(node.items()[i], depth + 1);
      }
      if (!simple) line(depth);
      out_ += ']';
    } else {
      out_ += '{';
      for (std::size_t i = 0; i < node.size; ++i) {
        if (i > 0) out_ += ',';
        line(depth + 1);
        out_ += quoted(node.members()[i].key) + (pretty_ ? ": " : ":");
        value(node.members()[i].value, depth + 1);
      }
      if (node.size > 0) line(depth);
      out_ += '}';
    }
  }

  bool pretty_;
  std::string out_;
};

}  // namespace

std::string to_yaml(const Node& node) { return Yaml().emit(node); }

std::string to_json(const Node& node, JsonStyle style) { return Json(style).emit(node); }

}  // namespace muster::config
