#include "kube/api_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>

#include "base/text.h"
#include "kube/json.h"
#include "kube/proto_objects.h"

namespace muster::kube {

namespace {

namespace json = boost::json;

/// Retry-After in seconds; the form with a date is not used by API servers.
std::optional<Duration> retry_after_of(std::string_view header) {
  const auto count = parse_int(trim(header), "Retry-After", 0, 86'400);
  if (!count) return std::nullopt;
  return seconds(*count);
}

/// The Status that the body is, in the one form or the other; null: it is none.
json::value status_of(std::string_view body) {
  if (const std::string_view inside = unwrap_proto(body); !inside.empty())
    return read_proto(inside, proto_status).value_or(json::value());
  json::error_code wrong;
  json::value value = json::parse(body, wrong);
  const bool is_status = !wrong && text_at(value, {"kind"}) == "Status";
  return is_status ? value : json::value();
}

}  // namespace

bool ApiError::is_from_the_future() const {
  return has_cause("ResourceVersionTooLarge") ||
         message.find("Too large resource version") != std::string::npos;
}

bool ApiError::has_cause(std::string_view cause_reason) const {
  return std::any_of(causes.begin(), causes.end(),
                     [&](const Cause& cause) { return cause.reason == cause_reason; });
}

Fault ApiError::fault() const {
  if (code == 0 || code == 429 || code >= 500) return Fault::Unavailable;
  if (code == 404) return Fault::NotFound;
  if (code == 409 || code == 410) return Fault::Conflict;
  return Fault::Invalid;
}

ApiError api_error_of(const json::value& status) {
  ApiError error;
  error.code = static_cast<int>(integer_at(status, {"code"}));
  error.reason = text_at(status, {"reason"});
  error.message = text_at(status, {"message"});
  error.kind = text_at(status, {"details", "kind"});
  error.name = text_at(status, {"details", "name"});
  error.continue_token = text_at(status, {"metadata", "continue"});
  for (const json::value& cause : items_at(status, {"details", "causes"})) {
    error.causes.push_back({std::string(text_at(cause, {"reason"})),
                            std::string(text_at(cause, {"field"})),
                            std::string(text_at(cause, {"message"}))});
  }
  const std::int64_t wait = integer_at(status, {"details", "retryAfterSeconds"});
  if (wait > 0) error.retry_after = seconds(std::min<std::int64_t>(wait, 86'400));
  if (error.message.empty()) {
    error.message = error.reason.empty()
                        ? fmt::format("{} {}", error.code, net::reason_phrase(error.code))
                        : error.reason;
  }
  return error;
}

ApiError api_error_of(int code, const net::Headers& headers, std::string_view body) {
  const json::value status = status_of(body);
  ApiError error;
  if (!status.is_null()) {
    error = api_error_of(status);
  } else {
    std::string_view start = trim(body.substr(0, 300));
    start = start.substr(0, start.find('\n'));
    error.message =
        fmt::format("{} {}{}{}", code, net::reason_phrase(code), start.empty() ? "" : ": ", start);
  }
  error.code = code;
  if (const auto wait = retry_after_of(headers.get("Retry-After"))) error.retry_after = wait;
  return error;
}

ApiError no_answer(const Error& error) {
  ApiError made;
  made.message = error.message;
  made.is_cancelled = error.message == "cancelled";
  return made;
}

}  // namespace muster::kube
