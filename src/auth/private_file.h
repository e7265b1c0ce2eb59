// Small files that only their owner may read: tokens and the like. Written whole and at once, so
// that a crash leaves the old text or the new one; never through a link somebody else put there.
//
// Thread contract: any thread; two writers of one path must not meet.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::auth {

/// Mode 0600, durable when it returns.
Status write_private_file(const std::string& path, std::string_view text);
/// NotFound if there is none. A file that others may read or write is refused with the fix.
Result<std::string> read_private_file(const std::string& path);

}  // namespace muster::auth
