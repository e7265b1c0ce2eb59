#include "clusters/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/hash.h"

namespace muster::clusters {
namespace {

constexpr std::size_t file_most = 64u << 20;
constexpr std::size_t name_most = 120;

Status write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error("write", path);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return Ok{};
}

enum class Sync { No, Yes };

Status put_in_place(const std::string& path, std::string_view content, Sync sync) {
  const std::string fresh = path + ".new";
  {
    const Fd fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd.is_open()) return io_error("make", fresh);
    if (Status status = write_all(fd.get(), content, fresh); !status) return status;
    if (sync == Sync::Yes && ::fsync(fd.get()) != 0) return io_error("sync", fresh);
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) return io_error("rename", fresh);
  return Ok{};
}

}  // namespace

void Fd::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<Pipe> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return io_error("make", "a pipe");
  return Pipe{Fd(fds[0]), Fd(fds[1])};
}

Error io_error(std::string_view what, std::string_view path) {
  const Fault fault = errno == ENOENT   ? Fault::NotFound
                      : errno == EEXIST ? Fault::Conflict
                                        : Fault::Unavailable;
  return {fault, fmt::format("cannot {} {}: {}", what, path, std::strerror(errno))};
}

Status make_dirs(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error)
    return Error{Fault::Unavailable, fmt::format("cannot make {}: {}", path, error.message())};
  return Ok{};
}

Status make_dirs_below(const std::string& there, const std::string& path) {
  for (std::size_t end = there.size(); end < path.size();) {
    end = std::min(path.find('/', end + 1), path.size());
    const std::string one = path.substr(0, end);
    if (::mkdir(one.c_str(), 0755) != 0 && errno != EEXIST) return io_error("make", one);
  }
  return Ok{};
}

Result<std::string> read_file(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) return io_error("open", path);
  std::string content;
  char buffer[16384];
  while (content.size() < file_most) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error("read", path);
    if (n == 0) return content;
    content.append(buffer, static_cast<std::size_t>(n));
  }
  return Error{Fault::Invalid, fmt::format("{} is larger than {} bytes", path, file_most)};
}

Status write_new(const std::string& path, std::string_view content, unsigned mode) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd.is_open()) return io_error("make", path);
  return write_all(fd.get(), content, path);
}

Status replace_file(const std::string& path, std::string_view content) {
  if (Status status = put_in_place(path, content, Sync::Yes); !status) return status;
  const auto slash = path.rfind('/');
  return sync_dir(slash == std::string::npos ? "." : path.substr(0, slash));
}

Status replace_file_unsynced(const std::string& path, std::string_view content) {
  return put_in_place(path, content, Sync::No);
}

Status sync_dir(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) return io_error("open", path);
  if (::fsync(fd.get()) != 0) return io_error("sync", path);
  return Ok{};
}

bool exists(const std::string& path) {
  struct stat found{};
  return ::lstat(path.c_str(), &found) == 0;
}

Status remove_tree(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error)
    return Error{Fault::Unavailable, fmt::format("cannot remove {}: {}", path, error.message())};
  return Ok{};
}

std::string file_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-';
    name += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  if (name.size() <= name_most) return name;
  return fmt::format("{}%{:016x}", name.substr(0, name_most), Hasher().add(text).value());
}

}  // namespace muster::clusters
