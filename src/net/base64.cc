#include "net/base64.h"

#include <algorithm>
#include <cstdint>

namespace muster::net {

namespace {

constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += k <= count ? digits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return out;
}

Result<std::string> base64_decode(std::string_view text) {
  const Error broken = invalid("base64: not valid; it has groups of 4 of A-Z a-z 0-9 + / and =");
  if (text.size() % 4 != 0) return broken;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_padding = i >= text.size() - padding;
    const std::size_t value = is_padding ? 0 : digits.find(text[i]);
    if (value == std::string_view::npos) return broken;
    group = group << 6 | static_cast<std::uint32_t>(value);
    if (i % 4 != 3) continue;
    out += static_cast<char>(group >> 16 & 255);
    out += static_cast<char>(group >> 8 & 255);
    out += static_cast<char>(group & 255);
    if (i + 1 == text.size() && (group & ((1U << (8 * padding)) - 1)) != 0) return broken;
    group = 0;
  }
  out.resize(out.size() - padding);
  return out;
}

}  // namespace muster::net
