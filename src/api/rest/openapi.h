// docs/openapi.json, as it was when this was built.
#pragma once

#include <string_view>

namespace muster::api {

std::string_view openapi_json();

}  // namespace muster::api
