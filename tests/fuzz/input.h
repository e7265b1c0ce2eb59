// How the fuzzers read their bytes: as they are, or as words of a grammar, which reaches deep into
// it much sooner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace muster::fuzz {

using Bytes = std::span<const std::uint8_t>;

/// Takes a byte off the front; 0 when there is none left.
inline std::size_t take(Bytes& bytes) {
  if (bytes.empty()) return 0;
  const std::size_t byte = bytes.front();
  bytes = bytes.subspan(1);
  return byte;
}

/// The bytes as they are.
inline std::string text_of(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

/// One word for each byte.
inline std::string text_of(Bytes bytes, std::span<const std::string_view> words) {
  std::string text;
  for (const std::size_t byte : bytes) text += words[byte % words.size()];
  return text;
}

}  // namespace muster::fuzz
