// Entries of the journal and records of a snapshot, which are framed alike.
#pragma once

#include <cstddef>
#include <string_view>

namespace muster::fuzz {

/// Behind the length, seven bits a byte, and the kind.
inline char version_of(std::string_view entry) {
  std::size_t at = 0;
  while ((static_cast<unsigned char>(entry.at(at)) & 0x80U) != 0) ++at;
  return entry.at(at + 2);
}

}  // namespace muster::fuzz
