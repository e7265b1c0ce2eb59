// The name of a payload: SHA-256 of its bytes, in hex.
#pragma once

#include <string>
#include <string_view>

namespace muster::store {

std::string sha256_hex(std::string_view bytes);

}  // namespace muster::store
