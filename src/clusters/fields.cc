#include "clusters/fields.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace muster::clusters {
namespace {

bool is_key(std::string_view text) {
  return !text.empty() && text != "end" && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || c == '_';
  });
}

std::optional<std::string> unescape(std::string_view text) {
  std::string value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      value += text[i];
      continue;
    }
    if (++i == text.size() || (text[i] != 'n' && text[i] != '\\')) return std::nullopt;
    value += text[i] == 'n' ? '\n' : '\\';
  }
  return value;
}

}  // namespace

std::string FieldWriter::line(std::string_view key, std::string_view value) {
  MUSTER_CHECK(is_key(key), "'{}' is not a key", key);
  std::string line = fmt::format("{} ", key);
  for (const char c : value) {
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\\') {
      line += "\\\\";
    } else {
      line += c;
    }
  }
  return line + "\n";
}

FieldWriter& FieldWriter::add(std::string_view key, std::string_view value) {
  text_ += line(key, value);
  return *this;
}

FieldWriter& FieldWriter::add(std::string_view key, std::int64_t value) {
  return add(key, std::to_string(value));
}

Result<std::vector<Field>> parse_fields(std::string_view text) {
  if (text != "end\n" && !text.ends_with("\nend\n")) return invalid("cut off: no `end`");
  text.remove_suffix(4);
  std::vector<Field> fields;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() + 1);
    const std::size_t blank = line.find(' ');
    const std::string_view key = line.substr(0, blank);
    if (blank == std::string_view::npos || !is_key(key))
      return invalid(fmt::format("line {}: expected `key value`", fields.size() + 1));
    auto value = unescape(line.substr(blank + 1));
    if (!value) return invalid(fmt::format("line {}: a backslash alone", fields.size() + 1));
    fields.push_back({std::string(key), std::move(*value)});
  }
  return fields;
}

}  // namespace muster::clusters
