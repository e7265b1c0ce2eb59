#include "kube/files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace muster::kube {

Result<std::string> read_small_file(const std::string& path, std::size_t bytes_max) {
  const std::unique_ptr<std::FILE, decltype([](std::FILE* f) { std::fclose(f); })> file(
      std::fopen(path.c_str(), "rbe"));
  if (!file) {
    return Error{errno == ENOENT || errno == ENOTDIR ? Fault::NotFound : Fault::Unavailable,
                 std::strerror(errno)};
  }
  std::string bytes;
  char piece[16384];
  while (const std::size_t count = std::fread(piece, 1, sizeof piece, file.get())) {
    bytes.append(piece, count);
    if (bytes.size() > bytes_max) return invalid(fmt::format("exceeds {} bytes", bytes_max));
  }
  if (std::ferror(file.get()) != 0) return Error{Fault::Unavailable, std::strerror(errno)};
  return bytes;
}

}  // namespace muster::kube
