#include "clusters/local/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "clusters/clock.h"
#include "clusters/local/cgroup_base.h"
#include "clusters/local/gang.h"

namespace muster::clusters {
namespace {

/// A line to the server, if one listens; it also looks by itself now and then. Like all paths of a
/// supervisor this one is relative: its directory may be moved while it runs.
void notify(const std::string& name) {
  const Fd fifo(::open("../../notify", O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  const std::string line = name + "\n";
  if (fifo.is_open() && ::write(fifo.get(), line.data(), line.size()) < 0) return;
}

bool is_removed_here() {
  struct stat here{};
  return ::stat(".", &here) != 0 || here.st_nlink == 0;
}

Fd make_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGCHLD, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  return Fd(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
}

/// Pages shared with the parent since the fork are copied now, not one by one when it matters.
void own_memory() {
  constexpr std::uint64_t most = 16 << 20;  // more is not ours to touch, e.g. of a sanitizer
  const auto maps = read_file("/proc/self/maps");
  if (!maps) return;
  for (const std::string_view line : split(*maps, '\n')) {
    const auto words = split_words(line);
    if (words.size() < 2 || words[1] != "rw-p") continue;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    const char* last = words[0].data() + words[0].size();
    const auto dash = std::from_chars(words[0].data(), last, begin, 16).ptr;
    if (dash == last || std::from_chars(dash + 1, last, end, 16).ptr != last) continue;
    if (end - begin <= most)
      ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
  }
}

Gang::End run_gang(const std::string& dir, const std::string& name, AttemptState& state) {
  auto spec = read_spec(".");
  if (!spec) return {Outcome::StartFailed, 0, spec.error().message};
  const Fd signals = make_signals();
  const Fd control(::open("control", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!signals.is_open() || !control.is_open())
    return {Outcome::StartFailed, 0, io_error("open", "control").message};
  Gang gang(std::move(*spec), dir, signals.get(), control.get());
  state.started = wall_now();
  if (auto end = gang.start()) return *end;
  state.pods = gang.states();
  // If it cannot be written the gang runs on unsaid; its end is what must be kept.
  if (write_state(".", state)) notify(name);
  Gang::End end = gang.run();
  state.pods = gang.states();
  return end;
}

void null_stdio() {
  const int null = ::open("/dev/null", O_RDWR);
  for (const int fd : {0, 1, 2}) ::dup2(null, fd);
  if (null > 2) ::close(null);
}

constexpr int name_most = 4096;
constexpr int rest_ms = 5;  // the start under way has the machine to itself

/// The next name of an attempt; empty: there will be none.
std::string next_name() {
  char buffer[name_most];
  ssize_t n = 0;
  do {
    n = ::recv(0, buffer, sizeof buffer, 0);
  } while (n < 0 && errno == EINTR);
  return n > 0 ? std::string(buffer, static_cast<std::size_t>(n)) : "";
}

/// A name waits, or the end; at the latest after so long.
bool is_named_within(int ms) {
  pollfd fd{0, POLLIN, 0};
  return ::poll(&fd, 1, ms) > 0;
}

[[noreturn]] void become_supervisor(const std::string& directory, const std::string& name) {
  null_stdio();
  ::_exit(supervise(directory + "/attempts/" + name));
}

/// A supervisor that waits for its name. The pipe ends when it has one, or is no more.
Result<Pipe> make_ahead(const std::string& directory) {
  auto pipe = make_pipe();
  if (!pipe) return pipe;
  const pid_t pid = ::fork();
  if (pid < 0) return io_error("fork", "a supervisor");
  if (pid == 0) {
    own_memory();
    const std::string name = next_name();
    pipe->read.close();
    pipe->write.close();
    if (name.empty()) ::_exit(0);
    become_supervisor(directory, name);
  }
  pipe->write.close();
  return pipe;
}

/// False when there will be no more names. If a supervisor cannot be made the server notices that
/// nobody claims the attempt.
bool start_named(const std::string& directory) {
  const std::string name = next_name();
  if (name.empty()) return false;
  if (::fork() == 0) become_supervisor(directory, name);
  return true;
}

}  // namespace

int supervise(const std::string& dir) {
  if (::chdir(dir.c_str()) != 0) return 1;
  const Fd lock(::open("lock", O_RDWR | O_CLOEXEC));
  if (!lock.is_open() || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return 1;
  if (!claim(".")) return 1;
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const std::string name = dir.substr(dir.rfind('/') + 1);
  AttemptState state;
  state.supervisor_pid = ::getpid();
  Gang::End end = run_gang(dir, name, state);
  state.phase = Phase::Over;
  state.outcome = end.outcome;
  state.exit_code = end.exit_code;
  state.reason = std::move(end.reason);
  state.ended = wall_now();
  // On a full disk it waits: were it to go, the server would take it for one that was killed.
  while (!write_state(".", state)) {
    if (is_removed_here()) return 1;
    ::sleep(1);
  }
  notify(name);
  remove_unused_base("../..");
  return 0;
}

int run_supervisors(const std::string& directory) {
  ::close_range(3, ~0u, 0);
  ::signal(SIGCHLD, SIG_IGN);
  for (;;) {
    if (const auto ahead = make_ahead(directory)) {
      char nothing = 0;
      while (::read(ahead->read.get(), &nothing, 1) < 0 && errno == EINTR) continue;
    }
    while (is_named_within(rest_ms)) {  // many at once
      if (start_named(directory)) continue;
      remove_unused_base(directory);
      return 0;
    }
  }
}

}  // namespace muster::clusters
