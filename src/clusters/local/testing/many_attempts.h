// A server that hands the same attempts to a local cluster until all of them are over.
#pragma once

#include <string>

namespace muster::clusters {

constexpr std::uint32_t many_attempts = 40;
/// Every fifth is deleted right after its create.
constexpr bool is_deleted(std::uint32_t attempt) { return attempt % 5 == 0; }

/// Each attempt writes its number to the file `starts`. 0 when all are over.
int serve_many_attempts(const std::string& directory, const std::string& starts);

}  // namespace muster::clusters
