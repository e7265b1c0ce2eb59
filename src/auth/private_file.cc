#include "auth/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace muster::auth {
namespace {

constexpr std::size_t bytes_max = std::size_t{64} << 20;

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

Error failed(std::string_view what, const std::string& path) {
  return {Fault::Unavailable, fmt::format("{}: {}: {}", path, what, std::strerror(errno))};
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

/// A rename is durable when its folder is.
bool sync_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd.is_open() && ::fsync(fd.get()) == 0;
}

}  // namespace

Status write_private_file(const std::string& path, std::string_view text) {
  const std::string fresh = fmt::format("{}.{}.new", path, ::getpid());
  ::unlink(fresh.c_str());  // of a process of this number that was killed here
  {
    const Fd fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                       S_IRUSR | S_IWUSR));
    if (!fd.is_open()) return failed("cannot write", fresh);
    // The umask may have taken bits away; nothing may have added any.
    if (::fchmod(fd.get(), S_IRUSR | S_IWUSR) != 0 || !write_all(fd.get(), text) ||
        ::fsync(fd.get()) != 0) {
      Error error = failed("cannot write", fresh);
      ::unlink(fresh.c_str());
      return error;
    }
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0) {
    Error error = failed("cannot replace", path);
    ::unlink(fresh.c_str());
    return error;
  }
  if (!sync_folder_of(path)) return failed("cannot sync the folder", path);
  return Ok{};
}

Result<std::string> read_private_file(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.is_open()) {
    if (errno == ENOENT) return Error{Fault::NotFound, fmt::format("{}: no such file", path)};
    return failed("cannot read", path);
  }
  struct stat about{};
  if (::fstat(fd.get(), &about) != 0) return failed("cannot read", path);
  if (!S_ISREG(about.st_mode)) return invalid(fmt::format("{}: is not a plain file", path));
  if ((about.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return invalid(fmt::format("{}: others may read it (mode {:03o}); chmod 600 {}", path,
                               about.st_mode & 0777, path));
  std::string text;
  std::array<char, 16384> piece;
  for (;;) {
    const ssize_t n = ::read(fd.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("cannot read", path);
    if (n == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(n));
    if (text.size() > bytes_max) return invalid(fmt::format("{}: is too large", path));
  }
}

}  // namespace muster::auth
