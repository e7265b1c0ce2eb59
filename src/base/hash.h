// A 64-bit running hash with a fixed definition, so that a world's hash written by one build can be
// compared by another. Not for hostile input.
#pragma once

#include <cstdint>
#include <string_view>

namespace muster {

class Hasher {
 public:
  Hasher& add(std::uint64_t word) {
    state_ ^= mix(word + 0x9e3779b97f4a7c15ULL + (state_ << 6) + (state_ >> 2));
    state_ = mix(state_);
    return *this;
  }
  Hasher& add(std::int64_t word) { return add(static_cast<std::uint64_t>(word)); }
  Hasher& add(std::uint32_t word) { return add(std::uint64_t{word}); }
  Hasher& add(std::int32_t word) { return add(static_cast<std::uint64_t>(std::int64_t{word})); }
  Hasher& add(bool bit) { return add(std::uint64_t{bit ? 1u : 0u}); }
  Hasher& add(std::string_view text) {
    std::uint64_t h = 0xcbf29ce484222325ULL;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return add(h).add(std::uint64_t{text.size()});
  }
  std::uint64_t value() const { return state_; }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t state_ = 0x6d75737465720000ULL;
};

}  // namespace muster
