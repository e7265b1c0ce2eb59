#include "clusters/local/pod_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/text.h"
#include "clusters/local/command_child.h"
#include "clusters/local/pod_process.h"
#include "clusters/local/processes.h"

namespace muster::clusters {
namespace {

constexpr int look_ms = 50;              // has it ended, has the pod
constexpr int look_soon_ms = 2;          // it closed its output and is about to end
constexpr char end_of_transmission = 4;  // what Ctrl-D types

/// The pod's own process and what a command beside it needs to know.
struct PodSeen {
  pid_t pid = 0;
  std::int64_t start_ticks = 0;
  CommandSetup setup;
};

std::vector<std::string> environment_of(pid_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/environ", pid));
  std::vector<std::string> all;
  if (!text) return all;
  for (const std::string_view one : split(*text, '\0')) {
    if (!one.empty()) all.emplace_back(one);
  }
  return all;
}

Result<PodSeen> see_pod(const std::string& dir, const ports::PodCommand& command) {
  const auto does_not_run = [&](std::string_view why) {
    return Error{Fault::Conflict, fmt::format("pod {} does not run: {}", command.pod, why)};
  };
  const auto spec = read_spec(dir);
  const auto state = read_state(dir);
  if (!spec || !state) return does_not_run("it has not started");
  if (command.pod >= state->pods.size() || command.pod >= spec->pods.size())
    return Error{Fault::NotFound, fmt::format("it has no pod {}; its pods are 0 to {}", command.pod,
                                              std::max<std::size_t>(state->pods.size(), 1) - 1)};
  const PodState& pod = state->pods[command.pod];
  PodSeen seen{.pid = static_cast<pid_t>(pod.pid), .start_ticks = pod.start_ticks, .setup = {}};
  const bool runs =
      state->phase == Phase::Running && pod.pid > 0 && start_ticks(seen.pid) == pod.start_ticks;
  seen.setup.environment = environment_of(seen.pid);
  if (!runs || seen.setup.environment.empty()) return does_not_run("it has ended");
  seen.setup.argv = command.words;
  seen.setup.directory = spec->working_dir.empty() ? pod_dir(dir, command.pod) : spec->working_dir;
  seen.setup.cgroup = cgroups_of_pod(spec->cgroup, spec->job, spec->attempt, command.pod);
  seen.setup.like = seen.pid;
  seen.setup.has_input = command.has_input;
  seen.setup.has_terminal = command.has_terminal;
  PodSpec found;
  found.argv = command.words;
  for (const std::string& pair : seen.setup.environment) {
    const std::size_t equals = pair.find('=');
    if (equals != std::string::npos)
      found.environment[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  if (command.has_terminal && !found.environment.contains("TERM"))
    seen.setup.environment.emplace_back("TERM=xterm");
  const Program program = find_program(found, seen.setup.directory);
  if (program.exit_code != 0) return Error{Fault::Conflict, program.reason};
  seen.setup.program = program.path;
  return seen;
}

}  // namespace

class PodCommandProcess : public ports::PodCommandSession {
 public:
  PodCommandProcess(PodSeen pod, ports::PodCommandCallbacks callbacks)
      : pod_(std::move(pod)),
        callbacks_(std::move(callbacks)),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  // From any thread.
  void write(std::string_view bytes) override {
    change([&] {
      if (!ends_input_) unwritten_ += bytes;
    });
  }
  void end_input() override {
    change([&] { ends_input_ = true; });
  }
  void resize(int columns, int rows) override {
    change([&] { size_ = {columns, rows}; });
  }
  void cancel() override {
    change([&] { is_cancelled_ = true; });
  }
  void hold_output(bool is_held) override {
    change([&] { is_held_ = is_held; });
  }
  std::size_t pending_bytes() const override {
    const std::lock_guard lock(mutex_);
    return unwritten_.size();
  }
  bool is_over() const { return is_over_; }

  // The thread.
  void run() {
    sigset_t broken_pipe;
    ::sigemptyset(&broken_pipe);
    ::sigaddset(&broken_pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);  // of this thread; an error is enough
    Result<int> end = Error{Fault::Unavailable, ""};
    auto child = fork_command(pod_.setup);
    if (child) {
      child_ = std::move(*child);
      end = serve();
    } else {
      end = child.error();
    }
    if (callbacks_.on_exit) callbacks_.on_exit(std::move(end));
    is_over_ = true;
  }

 private:
  struct Asked {
    bool is_cancelled = false;
    bool is_held = false;
    bool has_input = false;
    std::optional<std::pair<int, int>> size;
  };

  template <typename Function>
  void change(Function function) {
    {
      const std::lock_guard lock(mutex_);
      function();
    }
    const std::uint64_t one = 1;
    if (::write(wake_.get(), &one, sizeof one) < 0) return;  // it is awake
  }
  Asked take_asked() {
    const std::lock_guard lock(mutex_);
    const bool types_end = ends_input_ && pod_.setup.has_terminal && !has_typed_end_;
    if (types_end) unwritten_ += end_of_transmission;
    has_typed_end_ = has_typed_end_ || types_end;
    const bool closes = ends_input_ && !pod_.setup.has_terminal && unwritten_.empty();
    if (closes) child_.in.close();
    return {is_cancelled_, is_held_, !unwritten_.empty(), std::exchange(size_, std::nullopt)};
  }

  Result<int> serve() {
    while (true) {
      const Asked asked = take_asked();
      if (asked.size) set_size(*asked.size);
      const bool is_pod_over = start_ticks(pod_.pid) != pod_.start_ticks;
      if (asked.is_cancelled || is_pod_over) {
        ::kill(-child_.pid, SIGKILL);
        int status = 0;
        ::waitpid(child_.pid, &status, 0);
        return Error{Fault::Unavailable, asked.is_cancelled ? "cancelled" : "the pod has ended"};
      }
      if (!asked.is_held) {
        if (const auto status = reap()) return *status;
      }
      wait(asked);
      if (asked.has_input) write_some();
      if (!asked.is_held) read_some();
    }
  }

  void wait(const Asked& asked) const {
    pollfd fds[4] = {{wake_.get(), POLLIN, 0}, {-1, 0, 0}, {-1, 0, 0}, {-1, 0, 0}};
    if (!asked.is_held) {
      fds[1] = {child_.out.get(), POLLIN, 0};
      fds[2] = {child_.err.get(), POLLIN, 0};
    }
    if (asked.has_input) fds[3] = {child_.in.get(), POLLOUT, 0};
    const bool is_quiet = !child_.out.is_open() && !child_.err.is_open();
    ::poll(fds, 4, is_quiet ? look_soon_ms : look_ms);
    std::uint64_t woken = 0;
    if (::read(wake_.get(), &woken, sizeof woken) < 0) return;  // it was something else
  }

  /// Everything it wrote is given out before its end. What its children keep open is not waited
  /// for.
  std::optional<Result<int>> reap() {
    int status = 0;
    if (::waitpid(child_.pid, &status, WNOHANG) != child_.pid) return std::nullopt;
    while (read_some()) continue;
    if (WIFEXITED(status)) return Result<int>(WEXITSTATUS(status));
    return Result<int>(128 + WTERMSIG(status));
  }

  bool read_some() {
    const bool out = read_from(child_.out, callbacks_.on_output);
    const bool err = read_from(child_.err, callbacks_.on_errors);
    return out || err;
  }

  static bool read_from(Fd& fd, const std::function<void(std::string_view)>& give) {
    if (!fd.is_open()) return false;
    char buffer[32768];
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n <= 0) {  // of a terminal nobody has open any more: EIO
      fd.close();
      return false;
    }
    if (give) give({buffer, static_cast<std::size_t>(n)});
    return true;
  }

  void write_some() {
    bool is_drained = false;
    {
      const std::lock_guard lock(mutex_);
      if (!child_.in.is_open()) unwritten_.clear();
      if (unwritten_.empty()) return;
      const ssize_t n = ::write(child_.in.get(), unwritten_.data(), unwritten_.size());
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (n < 0) unwritten_.clear();  // it reads no more
      if (n > 0) unwritten_.erase(0, static_cast<std::size_t>(n));
      is_drained = unwritten_.empty();
    }
    if (is_drained && callbacks_.on_drained) callbacks_.on_drained();
  }

  void set_size(std::pair<int, int> size) const {
    winsize window = {};
    window.ws_col = static_cast<unsigned short>(size.first);
    window.ws_row = static_cast<unsigned short>(size.second);
    if (child_.in.is_open()) ::ioctl(child_.in.get(), TIOCSWINSZ, &window);
  }

  const PodSeen pod_;
  const ports::PodCommandCallbacks callbacks_;
  const Fd wake_;
  std::atomic<bool> is_over_ = false;
  CommandChild child_;  // of the thread

  mutable std::mutex mutex_;
  std::string unwritten_;  // guarded by mutex_, as all that follows
  bool ends_input_ = false;
  bool has_typed_end_ = false;
  bool is_cancelled_ = false;
  bool is_held_ = false;
  std::optional<std::pair<int, int>> size_;
};

Result<std::shared_ptr<ports::PodCommandSession>> LocalCommands::run(
    const std::string& dir, const ports::PodCommand& command,
    ports::PodCommandCallbacks callbacks) {
  auto pod = see_pod(dir, command);
  if (!pod) return pod.error();
  auto process = std::make_shared<PodCommandProcess>(std::move(*pod), std::move(callbacks));
  const std::lock_guard lock(mutex_);
  join_ended();
  running_.push_back({process, std::thread([process] { process->run(); })});
  return std::shared_ptr<ports::PodCommandSession>(process);
}

/// Under the mutex.
void LocalCommands::join_ended() {
  for (auto it = running_.begin(); it != running_.end();) {
    if (!it->process->is_over()) {
      ++it;
      continue;
    }
    it->thread.join();
    it = running_.erase(it);
  }
}

LocalCommands::~LocalCommands() {
  const std::lock_guard lock(mutex_);
  for (const Running& one : running_) one.process->cancel();
  for (Running& one : running_) one.thread.join();
}

}  // namespace muster::clusters
