// Reads small files: configuration, tokens, certificates.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace muster::kube {

/// The whole file. An error says why, without the path: callers name the field and the path.
Result<std::string> read_small_file(const std::string& path, std::size_t bytes_max = 16U << 20);

}  // namespace muster::kube
