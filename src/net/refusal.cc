#include "net/refusal.h"

#include <fmt/format.h>

namespace muster::net {
namespace {

std::string_view code_of(int status) {
  switch (status) {
    case 404:
      return "not_found";
    case 405:
      return "method_not_allowed";
    case 413:
    case 431:
      return "too_large";
    case 503:
      return "unavailable";
    default:
      return status < 500 ? "invalid" : "internal";
  }
}

}  // namespace

Response refusal(int status, std::string_view message, std::string_view request_id) {
  const std::string id =
      request_id.empty() ? "" : fmt::format(R"(,"request_id":{})", json_quoted(request_id));
  return json_response(status, fmt::format(R"({{"error":{{"code":"{}","message":{}{}}}}})"
                                           "\n",
                                           code_of(status), json_quoted(message), id));
}

Response error_response(int status, std::string_view message) {
  return refusal(status, message, "");
}

}  // namespace muster::net
