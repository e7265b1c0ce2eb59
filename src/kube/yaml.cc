#include "kube/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <map>
#include <optional>
#include <sstream>
#include <string>

namespace muster::kube {

namespace {

namespace json = boost::json;

struct Stop {  // thrown to leave yaml-cpp; never leaves this file
  YAML::Mark mark;
  std::string message;
};

std::size_t count_values(const json::value& value) {
  std::size_t count = 1;
  if (const json::array* list = value.if_array()) {
    for (const json::value& item : *list) count += count_values(item);
  } else if (const json::object* map = value.if_object()) {
    for (const auto& member : *map) count += count_values(member.value());
  }
  return count;
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

/// A plain scalar as YAML's core schema reads it, with the booleans kubectl also knows.
json::value typed(const std::string& text) {
  if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) return nullptr;
  if (is_one_of(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})) return true;
  if (is_one_of(text, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})) {
    return false;
  }
  const bool may_be_number = text.find_first_not_of("0123456789+-.eE") == std::string::npos &&
                             text.find_first_of("0123456789") != std::string::npos;
  if (may_be_number) {
    std::string number = text.front() == '+' ? text.substr(1) : text;
    if (number.front() == '.') number.insert(0, 1, '0');
    json::error_code error;
    json::value value = json::parse(number, error);
    if (!error && value.is_number()) return value;
  }
  return json::value(text);
}

/// Builds values from yaml-cpp's events, before yaml-cpp would expand anything.
class Builder final : public YAML::EventHandler {
 public:
  Builder(Scalars scalars, const YamlLimits& limits) : scalars_(scalars), limits_(limits) {}

  std::vector<json::value> documents;

  void OnDocumentStart(const YAML::Mark&) override {
    anchors_.clear();
    open_.clear();
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(nullptr, mark, anchor, 1);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw Stop{mark, "an alias inside of what it stands for"};
    add(found->second, mark, 0, count_values(found->second));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
    if (!quoted) refuse_tag(tag, mark);
    const bool wants_key = !open_.empty() && open_.back().value.is_object() && !open_.back().key;
    const bool keep_text = quoted || scalars_ == Scalars::Text || wants_key;
    add(keep_text ? json::value(value) : typed(value), mark, anchor, 1);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    refuse_tag(tag, mark);
    begin(json::array(), mark, anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    refuse_tag(tag, mark);
    begin(json::object(), mark, anchor);
  }
  void OnMapEnd() override { end(); }

 private:
  struct Open {
    json::value value;
    std::optional<std::string> key;  // of a map: the key whose value comes next
    json::object merged;             // what "<<" brought; own keys win
    YAML::Mark mark;
    YAML::anchor_t anchor = 0;
  };

  static void refuse_tag(const std::string& tag, const YAML::Mark& mark) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    throw Stop{mark, fmt::format("tag '{}' is not read; drop it", tag)};
  }

  void begin(json::value value, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (open_.size() >= limits_.depth) {
      throw Stop{mark, fmt::format("deeper than {} levels", limits_.depth)};
    }
    if (!open_.empty() && open_.back().value.is_object() && !open_.back().key) {
      throw Stop{mark, "a key must be a plain text"};
    }
    open_.push_back({std::move(value), std::nullopt, {}, mark, anchor});
  }

  void end() {
    Open done = std::move(open_.back());
    open_.pop_back();
    if (json::object* map = done.value.if_object()) {
      for (auto& member : done.merged) map->emplace(member.key(), std::move(member.value()));
    }
    add(std::move(done.value), done.mark, done.anchor, 1);
  }

  void add(json::value value, const YAML::Mark& mark, YAML::anchor_t anchor, std::size_t count) {
    count_ += count;
    if (count_ > limits_.values) {
      throw Stop{mark, fmt::format("more than {} values", limits_.values)};
    }
    if (anchor != 0) anchors_[anchor] = value;
    if (open_.empty()) {
      if (!value.is_null()) documents.push_back(std::move(value));
      return;
    }
    Open& parent = open_.back();
    if (json::array* list = parent.value.if_array()) {
      list->push_back(std::move(value));
    } else if (!parent.key) {
      if (!value.is_string()) throw Stop{mark, "a key must be a plain text"};
      parent.key = std::string(value.as_string());
    } else {
      add_member(parent, *std::exchange(parent.key, std::nullopt), std::move(value), mark);
    }
  }

  static void add_member(Open& parent, const std::string& key, json::value value,
                         const YAML::Mark& mark) {
    json::object& map = parent.value.as_object();
    if (key == "<<") return merge(parent.merged, value, mark);
    if (!map.emplace(key, std::move(value)).second) {
      throw Stop{mark, fmt::format("key '{}' is there twice", key)};
    }
  }

  static void merge(json::object& into, const json::value& from, const YAML::Mark& mark) {
    if (const json::array* list = from.if_array()) {
      for (const json::value& item : *list) merge(into, item, mark);
    } else if (const json::object* map = from.if_object()) {
      for (const auto& member : *map) into.emplace(member.key(), member.value());
    } else {
      throw Stop{mark, "'<<' takes a map or a list of maps"};
    }
  }

  const Scalars scalars_;
  const YamlLimits limits_;
  std::size_t count_ = 0;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, json::value> anchors_;
};

/// Control characters make yaml-cpp misread; boost::json keeps strings as they are, so bytes that
/// are not UTF-8 have to be stopped here.
bool is_text(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    if ((first < ' ' && first != '\n' && first != '\r' && first != '\t') || first == 0x7F) {
      return false;
    }
    const std::size_t length = first < 0x80                     ? 1
                               : first >= 0xC2 && first <= 0xDF ? 2
                               : first >= 0xE0 && first <= 0xEF ? 3
                               : first >= 0xF0 && first <= 0xF4 ? 4
                                                                : 0;
    if (length == 0 || at + length > text.size()) return false;
    for (std::size_t i = 1; i < length; ++i) {
      if ((static_cast<unsigned char>(text[at + i]) & 0xC0U) != 0x80U) return false;
    }
    at += length;
  }
  return true;
}

Error at(const YAML::Mark& mark, std::string_view message) {
  return invalid(fmt::format("line {}, column {}: {}", mark.line + 1, mark.column + 1, message));
}

}  // namespace

Result<std::vector<json::value>> parse_yaml(std::string_view text, Scalars scalars,
                                            const YamlLimits& limits) {
  if (text.size() > limits.bytes) {
    return invalid(fmt::format("{} bytes; at most {} are read", text.size(), limits.bytes));
  }
  if (!is_text(text)) return invalid("not text in UTF-8, or with control characters");
  Builder builder(scalars, limits);
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Stop& stop) {
    return at(stop.mark, stop.message);
  } catch (const YAML::Exception& error) {
    return at(error.mark, "not YAML: " + error.msg);
  }
  return std::move(builder.documents);
}

}  // namespace muster::kube
