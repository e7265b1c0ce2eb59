// A list of texts in one column, each behind its length: "3:abc1:d".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::store {

void add_counted(std::string_view text, std::string& out);
/// Up to the first place where it is not such a list.
std::vector<std::string> split_counted(std::string_view text);

}  // namespace muster::store
