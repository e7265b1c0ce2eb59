// What the server itself says to a request that reaches no handler.
#pragma once

#include <string_view>

#include "net/http.h"

namespace muster::net {

/// The word for a status in the bodies of errors: "not_found" of 404. Those of handlers use it too.
std::string_view error_code_of(int status);

/// {"error":{"code":"too_large","message":"...","request_id":"..."}} with that status; without the
/// id if there is none.
Response refusal(int status, std::string_view message, std::string_view request_id);

}  // namespace muster::net
