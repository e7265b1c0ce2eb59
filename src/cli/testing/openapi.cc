#include "cli/testing/openapi.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/check.h"
#include "base/text.h"

namespace muster::cli::testing {
namespace {

bool has_type(const json::value& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_int64() || value.is_uint64();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_bool();
  return type == "null" && value.is_null();
}

bool matches(std::string_view pattern, std::string_view path) {
  const auto wanted = split(pattern, '/');
  const auto given = split(path, '/');
  if (wanted.size() != given.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i].starts_with('{') && wanted[i] != given[i]) return false;
  }
  return true;
}

std::string key_of(const json::key_value_pair& member) {
  return {member.key().data(), member.key().size()};
}

}  // namespace

OpenApi::OpenApi() {
  std::ifstream in("docs/openapi.json");
  std::ostringstream read;
  read << in.rdbuf();
  auto parsed = parse_json(read.str());
  MUSTER_CHECK(parsed.ok(), "docs/openapi.json is no JSON");
  document_ = std::move(*parsed);
}

const json::value& OpenApi::resolve(const json::value& schema) const {
  const std::string ref = text(schema, "$ref");
  if (ref.empty()) return schema;
  const json::value* at = &document_;
  for (const std::string_view part : split(std::string_view(ref).substr(2), '/'))
    at = &field(*at, part);
  MUSTER_CHECK(at->is_object(), "{} leads nowhere", ref);
  return *at;
}

const json::value* OpenApi::operation(const std::string& target) const {
  const std::size_t blank = target.find(' ');
  std::string method = target.substr(0, blank);
  std::transform(method.begin(), method.end(), method.begin(), ::tolower);
  std::string path = target.substr(blank + 1);
  path = "/api/muster/v1" + path.substr(0, path.find('?'));
  const json::value* found = nullptr;
  for (const auto& member : members(document_, "paths")) {
    if (!matches(key_of(member), path) || !field(member.value(), method).is_object()) continue;
    // A written path is preferred to one with a name in it.
    if (found == nullptr || key_of(member).find('{') == std::string::npos)
      found = &field(member.value(), method);
  }
  return found;
}

std::vector<std::string> OpenApi::check_answer(const std::string& target, int status,
                                               const json::value& body) const {
  const json::value* op = operation(target);
  if (op == nullptr) return {target + " is not in docs/openapi.json"};
  const json::value& answers = field(*op, "responses");
  const json::value& own = field(answers, std::to_string(status));
  const json::value& answer = resolve(own.is_null() ? field(answers, "default") : own);
  const json::value& media = field(field(answer, "content"), "application/json");
  if (own.is_null() && status < 300) return {fmt::format("{} does not answer {}", target, status)};
  std::vector<std::string> problems;
  if (media.is_object()) {
    check(field(media, "schema"), body, "", problems);
  } else if (!body.is_null()) {
    problems.push_back(target + " has no body");
  }
  return problems;
}

std::vector<std::string> OpenApi::check_event(const std::string& target, const std::string& type,
                                              const json::value& data) const {
  const json::value* op = operation(target);
  if (op == nullptr) return {target + " is not in docs/openapi.json"};
  const json::value& content = field(field(field(*op, "responses"), "200"), "content");
  const json::value& events = field(field(content, "text/event-stream"), "x-event-data");
  const json::value& schema = text(events, "$ref").empty() ? field(events, type) : events;
  if (!schema.is_object()) return {fmt::format("{} has no event {}", target, type)};
  std::vector<std::string> problems;
  check(schema, data, "", problems);
  return problems;
}

std::vector<std::string> OpenApi::check_request(const std::string& target,
                                                const json::value& body) const {
  const json::value* op = operation(target);
  if (op == nullptr) return {target + " is not in docs/openapi.json"};
  const json::value& media = field(field(field(*op, "requestBody"), "content"), "application/json");
  std::vector<std::string> problems;
  if (media.is_object()) {
    check(field(media, "schema"), body, "", problems);
  } else if (!body.is_null()) {
    problems.push_back(target + " takes no body");
  }
  return problems;
}

void OpenApi::check(const json::value& given, const json::value& value, const std::string& path,
                    std::vector<std::string>& problems) const {
  const json::value& schema = resolve(given);
  for (const char* word : {"oneOf", "anyOf"}) {
    const json::array& choices = list(schema, word);
    const bool fits = std::any_of(choices.begin(), choices.end(), [&](const json::value& choice) {
      std::vector<std::string> wrong;
      check(choice, value, path, wrong);
      return wrong.empty();
    });
    if (!choices.empty() && !fits) problems.push_back(fmt::format("{}: fits no choice", path));
  }
  const json::value& type = field(schema, "type");
  const json::array* types = type.if_array();
  const bool typed = types == nullptr
                         ? type.is_null() || has_type(value, text(type))
                         : std::any_of(types->begin(), types->end(), [&](const json::value& t) {
                             return has_type(value, text(t));
                           });
  if (!typed) {
    problems.push_back(
        fmt::format("{}: {} is no {}", path, json::serialize(value), json::serialize(type)));
    return;
  }
  const json::array& names = list(schema, "enum");
  if (!names.empty() && !value.is_null() &&
      std::find(names.begin(), names.end(), value) == names.end())
    problems.push_back(fmt::format("{}: {} is not allowed", path, json::serialize(value)));
  if (value.is_object()) check_object(schema, value, path, problems);
  if (const json::array* items = value.if_array(); items && field(schema, "items").is_object()) {
    for (std::size_t i = 0; i < items->size(); ++i)
      check(field(schema, "items"), (*items)[i], fmt::format("{}[{}]", path, i), problems);
  }
}

void OpenApi::check_object(const json::value& schema, const json::value& value,
                           const std::string& path, std::vector<std::string>& problems) const {
  for (const json::value& name : list(schema, "required")) {
    if (value.as_object().find(text(name)) == value.as_object().end())
      problems.push_back(fmt::format("{}: {} is missing", path, text(name)));
  }
  const json::value& others = field(schema, "additionalProperties");
  for (const auto& member : value.as_object()) {
    const json::value& known = field(field(schema, "properties"), key_of(member));
    const std::string at = path + "." + key_of(member);
    if (known.is_object()) {
      check(known, member.value(), at, problems);
    } else if (others.is_object()) {
      check(others, member.value(), at, problems);
    } else if (others.is_bool() && !others.as_bool()) {
      problems.push_back(at + ": unknown");
    }
  }
}

}  // namespace muster::cli::testing
