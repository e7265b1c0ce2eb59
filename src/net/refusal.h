// What the server itself says to a request that reaches no handler.
#pragma once

#include <string_view>

#include "net/http.h"

namespace muster::net {

/// {"error":{"code":"too_large","message":"...","request_id":"..."}} with that status; without the
/// id if there is none.
Response refusal(int status, std::string_view message, std::string_view request_id);

}  // namespace muster::net
