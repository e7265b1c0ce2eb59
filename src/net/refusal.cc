#include "net/refusal.h"

#include <fmt/format.h>

namespace muster::net {

std::string_view error_code_of(int status) {
  switch (status) {
    case 401:
      return "unauthorized";
    case 403:
      return "forbidden";
    case 404:
      return "not_found";
    case 405:
      return "method_not_allowed";
    case 409:
      return "conflict";
    case 410:
      return "gone";
    case 413:
    case 431:
      return "too_large";
    case 429:
      return "too_busy";
    case 503:
      return "unavailable";
    default:
      return status >= 500 ? "internal" : "invalid";
  }
}

Response refusal(int status, std::string_view message, std::string_view request_id) {
  const std::string id =
      request_id.empty() ? "" : fmt::format(R"(,"request_id":{})", json_quoted(request_id));
  return json_response(status, fmt::format(R"({{"error":{{"code":"{}","message":{}{}}}}})"
                                           "\n",
                                           error_code_of(status), json_quoted(message), id));
}

Response error_response(int status, std::string_view message) {
  return refusal(status, message, "");
}

}  // namespace muster::net
