// The text of a file that the user named.
#pragma once

#include <string>

#include "base/result.h"

namespace muster::app {

/// "cannot read FILE: No such file or directory"; a folder is no file.
Result<std::string> read_text(const std::string& path);

}  // namespace muster::app
