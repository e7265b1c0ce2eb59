// Files as clusters need them: small ones, whole or not at all, errors as values that
// name the path.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace muster::clusters {

/// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { close(); }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read, write;
};
Result<Pipe> make_pipe();  // both ends close on exec

/// "cannot WHAT PATH: why", of errno. A full disk or a lost directory may come right again:
/// Fault::Unavailable.
Error io_error(std::string_view what, std::string_view path);

Status make_dirs(const std::string& path);
/// The same below a directory that has to be there: one that was moved away meanwhile, or whose
/// disk is gone, is not made anew. `path` begins with it.
Status make_dirs_below(const std::string& there, const std::string& path);
/// Fault::NotFound if there is none. Reads at most 64 MiB.
Result<std::string> read_file(const std::string& path);
/// Fault::Conflict if there is one.
Status write_new(const std::string& path, std::string_view content, unsigned mode);
/// Readers see the old content or the new one; the new one is durable when this returns.
Status replace_file(const std::string& path, std::string_view content);
/// The same, but after a loss of power it may be the old one, or broken: for what then is of no
/// use.
Status replace_file_unsynced(const std::string& path, std::string_view content);
/// What was made, renamed or removed in the directory is durable when this returns.
Status sync_dir(const std::string& path);
bool exists(const std::string& path);
Status remove_tree(const std::string& path);
/// Any text as the name of a file: letters, digits, '_' and '-' stay, the rest is written as %XX.
/// A text that would be too long ends in a hash of it.
std::string file_name(std::string_view text);

}  // namespace muster::clusters
