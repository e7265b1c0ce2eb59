// The conditions of a select that is put together from the parts of a filter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/sql.h"

namespace muster::store {

/// Rows that are looked at for a page through one index, of which the filter may drop all.
constexpr std::int64_t look_max = 2000;

/// `column op $n`.
struct Condition {
  std::string_view text;  // with {} for the number of each of its values
  std::vector<Value> values;
};

/// All of them, their values added behind `values`.
std::string conjunction(const std::vector<Condition>& conditions, std::vector<Value>& values);

}  // namespace muster::store
