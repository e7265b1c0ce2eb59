#include "config/reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace muster::config {

namespace {

constexpr std::size_t shown_max = 60;  // of a text in a message

}  // namespace

std::string Reader::path() const {
  std::string path;
  for (const Part& part : path_) {
    if (part.key.empty()) {
      path += fmt::format("[{}]", part.index);
    } else {
      path += fmt::format("{}{}", path.empty() ? "" : ".", part.key.substr(0, shown_max));
    }
  }
  return path;
}

void Reader::add(std::uint32_t line, std::uint32_t column, std::string message) {
  if (problems_.size() > problems_max) return;
  if (problems_.size() == problems_max) message = "more problems follow; these first";
  problems_.push_back({line, column, path(), std::move(message)});
}

void Reader::problem(const Node& at, const Error& error) {
  std::string_view message = error.message;
  if (message.starts_with(": ")) message.remove_prefix(2);
  problem(at, std::string(message));
}

std::string_view Reader::what(const Node& node) {
  switch (node.kind) {
    case Node::Kind::Null:
      return "empty";
    case Node::Kind::Plain:
    case Node::Kind::Text:
      return "a single value";
    case Node::Kind::List:
      return "a list";
    case Node::Kind::Map:
      return "a map";
  }
  return "";
}

bool Reader::expect(const Node& node, Node::Kind kind, std::string_view wanted) {
  if (node.kind == kind) return true;
  problem(node, fmt::format("is {}, not {}", what(node), wanted));
  return false;
}

std::optional<Reader::Scalar> Reader::scalar(const Node& node, std::string_view wanted) {
  if (!node.is_scalar()) {
    problem(node, fmt::format("is {}, not {}", what(node), wanted));
    return std::nullopt;
  }
  Scalar scalar{node.text, node.kind == Node::Kind::Plain};
  if (scope_ == nullptr || !Scope::has_references(node.text)) return scalar;
  bool plain = false;
  Result<std::string> text = scope_->replace(node.text, plain);
  if (!text) {
    problem(node, text.error());
    return std::nullopt;
  }
  replaced_bytes_ += text->size();
  if (replaced_bytes_ > replaced_max) {
    problem(node, fmt::format("the job is larger than {} bytes after replacement", replaced_max));
    return std::nullopt;
  }
  scalar.text = replaced_.emplace_front(std::move(*text));
  scalar.plain = scalar.plain || plain;
  return scalar;
}

std::optional<std::int64_t> Reader::whole(const Node& node, const Rule& rule) {
  const std::optional<Scalar> value = scalar(node, "a whole number");
  if (!value) return std::nullopt;
  if (!value->plain) {
    problem(node, fmt::format("is text, not a whole number: '{}'; drop the quotes",
                              value->text.substr(0, shown_max)));
    return std::nullopt;
  }
  const Result<std::int64_t> number = parse_int(value->text, "", rule.low, rule.high);
  if (number) return *number;
  constexpr auto none = std::numeric_limits<std::int64_t>::max();
  if (rule.high == none &&
      parse_int(value->text, "", std::numeric_limits<std::int64_t>::min(), none))
    problem(node, fmt::format("{} is below {}", value->text, rule.low));
  else
    problem(node, number.error());
  return std::nullopt;
}

void Reader::text(const Node& node, std::string& out, const Rule& rule) {
  const std::optional<Scalar> value = scalar(node, "a text");
  if (!value) return;
  const std::string_view text = value->text;
  if (text.find('\0') != std::string_view::npos) return problem(node, "contains a NUL character");
  if (text.size() > rule.length_max)
    return problem(node, fmt::format("is longer than {} bytes", rule.length_max));
  if (text.empty() && (rule.required || rule.name)) return problem(node, "must not be empty");
  if (rule.name && !(rule.star && text == "*")) {
    const auto fits = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '.' || c == '_' || c == '-';
    };
    if (!std::all_of(text.begin(), text.end(), fits) || text[0] == '-' || text[0] == '.')
      return problem(node, fmt::format("not a name: '{}'; use letters, digits and . _ -",
                                       text.substr(0, shown_max)));
  }
  out = text;
}

void Reader::unknown_word(const Node& node, std::string_view word,
                          std::span<const std::string_view> known) {
  const std::string near = nearest(word.substr(0, 100), known);
  problem(node, near.empty() ? fmt::format("unknown: '{}'; use one of {}",
                                           word.substr(0, shown_max), fmt::join(known, ", "))
                             : fmt::format("unknown: '{}'; did you mean '{}'?",
                                           word.substr(0, shown_max), near));
}

void ObjectReader::missing(std::string_view key) {
  reader_.problem(node_, fmt::format("'{}' is missing", key));
}

void ObjectReader::report_unknown(std::span<const std::string_view> known) {
  const std::span<const Member> members = node_.members();
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (seen_.test(i)) continue;
    const std::string_view key = members[i].key;
    const std::string near = nearest(key.substr(0, 100), known);
    reader_.problem(members[i], near.empty()
                                    ? fmt::format("unknown key '{}'; the keys here are {}",
                                                  key.substr(0, shown_max), fmt::join(known, ", "))
                                    : fmt::format("unknown key '{}'; did you mean '{}'?",
                                                  key.substr(0, shown_max), near));
  }
}

}  // namespace muster::config
