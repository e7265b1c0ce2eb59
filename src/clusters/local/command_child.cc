#include "clusters/local/command_child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace muster::clusters {
namespace {

constexpr std::array limited = {RLIMIT_NOFILE, RLIMIT_AS};

/// The child's ends, and ours.
struct Streams {
  Fd child_in, child_out, child_err;
  CommandChild ours;
};

Result<Streams> open_terminal() {
  Streams streams;
  streams.ours.in = Fd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  const int master = streams.ours.in.get();
  char name[128];
  if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0 ||
      ::ptsname_r(master, name, sizeof name) != 0)
    return io_error("open", "a terminal");
  streams.child_in = Fd(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  streams.ours.out = Fd(::fcntl(master, F_DUPFD_CLOEXEC, 0));
  if (!streams.child_in.is_open() || !streams.ours.out.is_open())
    return io_error("open", "a terminal");
  return streams;
}

Result<Streams> open_pipes(bool has_input) {
  Streams streams;
  auto in = make_pipe();
  auto out = make_pipe();
  auto err = make_pipe();
  for (const auto* pipe : {&in, &out, &err}) {
    if (!*pipe) return pipe->error();
  }
  streams.child_in =
      has_input ? std::move(in->read) : Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (has_input) streams.ours.in = std::move(in->write);
  streams.child_out = std::move(out->write);
  streams.child_err = std::move(err->write);
  streams.ours.out = std::move(out->read);
  streams.ours.err = std::move(err->read);
  for (const Fd* fd : {&streams.ours.in, &streams.ours.out, &streams.ours.err}) {
    if (fd->is_open()) ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  }
  return streams;
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> all;
  for (const std::string& word : words) all.push_back(const_cast<char*>(word.c_str()));
  all.push_back(nullptr);
  return all;
}

/// Of version 1 the pod has only those that it needs.
std::array<Fd, 3> open_lists(const CgroupDirs& cgroup) {
  std::array<Fd, 3> lists;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const std::string& dir = *cgroup.all()[i];
    if (!dir.empty()) lists[i] = Fd(::open((dir + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  }
  return lists;
}

/// All that the child needs.
struct Plan {
  const char* program;
  const char* directory;
  std::vector<char*> argv, environment;
  std::array<rlimit, limited.size()> limits;
  std::array<Fd, 3> cgroups;  // their lists of processes
  int in, out, err;
  bool has_terminal;
  int report;
  pid_t server;
};

[[noreturn]] void become_command(const Plan& plan) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  bool fine = ::getppid() == plan.server;
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // One that cannot be put into a cgroup runs all the same: the pod's end is watched, too.
  for (const Fd& list : plan.cgroups) {
    if (list.is_open() && ::write(list.get(), "0", 1) < 0) errno = 0;
  }
  if (plan.has_terminal) fine = fine && ::ioctl(plan.in, TIOCSCTTY, 0) == 0;
  fine = fine && ::dup2(plan.in, 0) == 0 && ::dup2(plan.out, 1) == 1 && ::dup2(plan.err, 2) == 2;
  fine = fine && ::chdir(plan.directory) == 0;
  for (std::size_t i = 0; i < limited.size(); ++i)
    fine = fine && ::setrlimit(limited[i], &plan.limits[i]) == 0;
  if (fine) ::execve(plan.program, plan.argv.data(), plan.environment.data());
  const int error = errno;
  if (::write(plan.report, &error, sizeof error) < 0) ::_exit(126);
  ::_exit(127);
}

}  // namespace

Result<CommandChild> fork_command(const CommandSetup& setup) {
  auto streams = setup.has_terminal ? open_terminal() : open_pipes(setup.has_input);
  if (!streams) return streams.error();
  auto report = make_pipe();
  if (!report) return report.error();
  const int in = streams->child_in.get();
  Plan plan{.program = setup.program.c_str(),
            .directory = setup.directory.c_str(),
            .argv = pointers(setup.argv),
            .environment = pointers(setup.environment),
            .limits = {},
            .cgroups = open_lists(setup.cgroup),
            .in = in,
            .out = setup.has_terminal ? in : streams->child_out.get(),
            .err = setup.has_terminal ? in : streams->child_err.get(),
            .has_terminal = setup.has_terminal,
            .report = report->write.get(),
            .server = ::getpid()};
  for (std::size_t i = 0; i < limited.size(); ++i) {
    if (::prlimit(setup.like, limited[i], nullptr, &plan.limits[i]) != 0)
      return io_error("read", "the limits of the pod");
  }
  const pid_t pid = ::fork();
  if (pid < 0) return io_error("fork", "a command");
  if (pid == 0) become_command(plan);
  report->write.close();
  int error = 0;
  ssize_t n = 0;
  do {
    n = ::read(report->read.get(), &error, sizeof error);
  } while (n < 0 && errno == EINTR);
  if (n == static_cast<ssize_t>(sizeof error)) {
    ::waitpid(pid, nullptr, 0);
    return Error{Fault::Conflict,
                 fmt::format("cannot run {}: {}", setup.argv.front(), std::strerror(error))};
  }
  streams->ours.pid = pid;
  return std::move(streams->ours);
}

}  // namespace muster::clusters
