// Base64 of RFC 4648, for credentials in headers and files.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::net {

std::string base64_encode(std::string_view bytes);
/// Strict: padding required, no blanks, no stray bits.
Result<std::string> base64_decode(std::string_view text);

}  // namespace muster::net
