#include "store/counted_text.h"

#include <fmt/format.h>

#include <charconv>

namespace muster::store {

void add_counted(std::string_view text, std::string& out) {
  out += fmt::format("{}:{}", text.size(), text);
}

std::vector<std::string> split_counted(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    std::size_t size = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), size);
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
    if (read.ec != std::errc{} || !text.starts_with(':') || text.size() - 1 < size) break;
    parts.emplace_back(text.substr(1, size));
    text.remove_prefix(1 + size);
  }
  return parts;
}

}  // namespace muster::store
