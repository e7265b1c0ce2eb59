// Small text tools: splitting, exact integer parsing, and the nearest known word for an unknown
// one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

/// Words between runs of blanks.
std::vector<std::string_view> split_words(std::string_view line);
/// Parts between single separators, empty parts kept: "a,,b" has three.
std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
/// The whole text as a decimal integer in [low, high], or an error that names the field.
Result<std::int64_t> parse_int(std::string_view text, std::string_view field, std::int64_t low,
                               std::int64_t high);
/// The known word with the smallest edit distance, or "" when none is near enough to be a slip of
/// the finger.
std::string nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace muster
