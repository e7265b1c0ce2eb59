#include "kube/subprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/text.h"

namespace muster::kube {

namespace {

using Clock = std::chrono::steady_clock;

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void reset(int fd) {
    close();
    fd_ = fd;
  }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
  bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    read.reset(ends[0]);
    write.reset(ends[1]);
    return true;
  }
};

/// By the PATH of this process, as kubectl does: by that of the command, whoever names the
/// command's environment would choose the program.
std::string find_program(const Command& command) {
  if (command.program.find('/') != std::string::npos) return command.program;
  const char* own = std::getenv("PATH");
  const std::string_view path = own == nullptr ? "/usr/local/bin:/usr/bin:/bin" : own;
  for (const std::string_view folder : split(path, ':')) {
    if (folder.empty()) continue;
    std::string candidate = fmt::format("{}/{}", folder, command.program);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// posix_spawn with a process group of its own, default signals and no input.
int spawn(const std::string& program, const Command& command, const Pipe& out, const Pipe& errors,
          pid_t& pid) {
  std::vector<std::string> words = {command.program};
  words.insert(words.end(), command.args.begin(), command.args.end());
  std::vector<std::string> variables;
  for (const auto& [name, value] : command.env) variables.push_back(name + "=" + value);
  std::vector<char*> argv = pointers_to(words);
  std::vector<char*> envp = pointers_to(variables);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, errors.write.get(), 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int failed =
      ::posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

class Collector {
 public:
  Collector(const Command& command, Pipe& out, Pipe& errors)
      : command_(command),
        out_(out),
        errors_(errors),
        end_(Clock::now() + std::chrono::milliseconds(command.time_limit.ms)) {}

  CommandOutput output;

  /// Until both pipes are closed; an error when a limit is passed.
  Status collect() {
    while (out_.read.is_open() || errors_.read.is_open()) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now());
      if (left.count() <= 0) return too_long();
      if (is_stopped()) return stopped();
      pollfd wait[2] = {{out_.read.get(), POLLIN, 0}, {errors_.read.get(), POLLIN, 0}};
      if (::poll(wait, 2, static_cast<int>(std::min<long>(left.count(), 50))) < 0) continue;
      if (wait[0].revents != 0) read_some(out_.read, output.out);
      if (wait[1].revents != 0) read_some(errors_.read, output.errors);
      if (output.out.size() > command_.output_bytes_max) {
        return Error{Fault::Unavailable,
                     fmt::format("printed more than {} bytes", command_.output_bytes_max)};
      }
      constexpr std::size_t errors_max = 4096;
      if (output.errors.size() > errors_max) {
        output.errors.erase(0, output.errors.size() - errors_max);
      }
    }
    return Ok{};
  }

  /// Waits for the program itself, which may have closed its output and go on.
  Status wait_for(pid_t pid) {
    for (int pause_us = 500;; pause_us = std::min(pause_us * 2, 20'000)) {
      int status = 0;
      const pid_t found = ::waitpid(pid, &status, WNOHANG);
      if (found == pid) {
        output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return Ok{};
      }
      if (Clock::now() >= end_) return too_long();
      if (is_stopped()) return stopped();
      ::usleep(static_cast<useconds_t>(pause_us));
    }
  }

 private:
  static void read_some(Descriptor& from, std::string& into) {
    char bytes[16384];
    const ssize_t count = ::read(from.get(), bytes, sizeof bytes);
    if (count > 0) {
      into.append(bytes, static_cast<std::size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      from.close();
    }
  }
  bool is_stopped() const { return command_.is_stopped && command_.is_stopped(); }
  static Error stopped() { return {Fault::Unavailable, "was stopped"}; }
  Error too_long() const {
    return {Fault::Unavailable,
            fmt::format("did not end within {}; it was stopped", to_text(command_.time_limit))};
  }

  const Command& command_;
  Pipe& out_;
  Pipe& errors_;
  const Clock::time_point end_;
};

}  // namespace

Result<CommandOutput> run_command(const Command& command) {
  const std::string program = find_program(command);
  if (program.empty()) return Error{Fault::NotFound, "is not found in PATH"};
  Pipe out;
  Pipe errors;
  if (!out.open() || !errors.open()) return Error{Fault::Unavailable, std::strerror(errno)};
  pid_t pid = -1;
  if (const int failed = spawn(program, command, out, errors, pid); failed != 0) {
    return Error{failed == ENOENT ? Fault::NotFound : Fault::Unavailable, std::strerror(failed)};
  }
  out.write.close();
  errors.write.close();
  Collector collector(command, out, errors);
  Status ended = collector.collect();
  if (ended) ended = collector.wait_for(pid);
  if (!ended) {
    // The group outlives its leader as long as a child is left, and the leader is not reaped yet.
    ::kill(-pid, SIGKILL);
    int ignored = 0;
    while (::waitpid(pid, &ignored, 0) < 0 && errno == EINTR) {
    }
    return ended.error();
  }
  return std::move(collector.output);
}

std::vector<std::pair<std::string, std::string>> environment_with(
    const std::vector<std::pair<std::string, std::string>>& more) {
  std::vector<std::pair<std::string, std::string>> all;
  const auto is_set = [&](std::string_view name) {
    return std::any_of(more.begin(), more.end(),
                       [&](const auto& pair) { return pair.first == name; });
  };
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || is_set(text.substr(0, equals))) continue;
    all.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace muster::kube
