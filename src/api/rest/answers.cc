#include "api/rest/answers.h"

#include <algorithm>
#include <boost/json.hpp>
#include <limits>

#include "base/text.h"
#include "net/refusal.h"
#include "view/event_json.h"

namespace muster::api {
namespace {

namespace json = boost::json;

int status_of(Fault fault) {
  switch (fault) {
    case Fault::NotFound:
      return 404;
    case Fault::Conflict:
      return 409;
    case Fault::Unavailable:
      return 503;
    case Fault::Invalid:
      break;
  }
  return 400;
}

/// "jobs[1].queue" of "jobs[1].queue: no queue x"; "" when it does not begin like that.
std::string field_of(std::string_view message) {
  const std::size_t colon = message.find(": ");
  if (colon == std::string_view::npos || colon == 0) return "";
  const std::string_view field = message.substr(0, colon);
  const bool is_name = std::all_of(field.begin(), field.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '[' ||
           c == ']';
  });
  return is_name ? std::string(field) : "";
}

json::object error_object(const net::Request& request, const Fail& what) {
  json::object error{{"code", net::error_code_of(what.status)},
                     {"message", view::valid_utf8(what.message)},
                     {"request_id", request.id}};
  if (!what.field.empty()) error["field"] = view::valid_utf8(what.field);
  if (!what.fix.empty()) error["fix"] = view::valid_utf8(what.fix);
  return error;
}

net::Response response_of(int status, json::object error) {
  return net::json_response(status, json::serialize(json::object{{"error", std::move(error)}}));
}

}  // namespace

net::Response fail(const net::Request& request, const Fail& what) {
  net::Response response = response_of(what.status, error_object(request, what));
  if (what.retry_after_s > 0)
    response.headers.set("Retry-After", fmt::format("{}", what.retry_after_s));
  if (what.status == 401) response.headers.set("WWW-Authenticate", "Bearer realm=\"muster\"");
  return response;
}

net::Response fail(const net::Request& request, const Error& error) {
  Fail what{status_of(error.fault), error.message, field_of(error.message)};
  if (error.fault == Fault::Unavailable) what.retry_after_s = 1;
  return fail(request, what);
}

net::Response fail(const net::Request& request, const config::Problems& problems) {
  json::array list;
  Fail first{400, "the document is wrong"};
  bool is_first = true;
  for (const config::Problem& problem : problems) {
    if (problem.severity == config::Severity::Error && is_first) {
      first = {400, config::to_text(problem, ""), problem.path};
      is_first = false;
    }
    list.push_back(json::object{
        {"line", problem.line},
        {"column", problem.column},
        {"path", view::valid_utf8(problem.path)},
        {"message", view::valid_utf8(problem.message)},
        {"severity", problem.severity == config::Severity::Error ? "error" : "warning"}});
  }
  json::object error = error_object(request, first);
  error["problems"] = std::move(list);
  return response_of(400, std::move(error));
}

Result<std::int64_t> query_int(const net::Request& request, std::string_view name, std::int64_t low,
                               std::int64_t high, std::int64_t otherwise) {
  const auto it = request.query.find(name);
  if (it == request.query.end()) return otherwise;
  return parse_int(it->second, name, low, high);
}

Result<bool> query_bool(const net::Request& request, std::string_view name, bool otherwise) {
  const auto it = request.query.find(name);
  if (it == request.query.end()) return otherwise;
  if (it->second == "true" || it->second == "1" || it->second.empty()) return true;
  if (it->second == "false" || it->second == "0") return false;
  return invalid(fmt::format("{}: \"{}\" is neither true nor false", name, it->second));
}

Status only_query(const net::Request& request, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : request.query) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string all;
    for (const std::string_view name : known)
      all += fmt::format("{}{}", all.empty() ? "" : ", ", name);
    return invalid(fmt::format("{}: unknown in this request; it takes {}", key, all));
  }
  return Ok{};
}

Result<std::uint64_t> query_cursor(const net::Request& request) {
  const auto cursor = query_int(request, "cursor", 0, std::numeric_limits<std::int64_t>::max(), 0);
  if (!cursor) return invalid("cursor: it is not the `next` of a page");
  return static_cast<std::uint64_t>(*cursor);
}

std::string next_json(std::uint64_t next) {
  return next == 0 ? "null" : fmt::format("\"{}\"", next);
}

std::string user_of(const net::Request& request) {
  return std::string(request.headers.get("X-Muster-User"));
}

}  // namespace muster::api
