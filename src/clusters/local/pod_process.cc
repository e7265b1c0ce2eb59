#include "clusters/local/pod_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace muster::clusters {
namespace {

enum class Step : int { Ready, Memory, Files, Output, Directory, Exec };
struct Report {
  Step step = Step::Ready;
  int error = 0;
};

const char* words_of(Step step) {
  switch (step) {
    case Step::Ready:
      break;
    case Step::Memory:
      return "cannot limit its memory";
    case Step::Files:
      return "cannot limit its open files";
    case Step::Output:
      return "cannot redirect its output";
    case Step::Directory:
      return "cannot enter its working directory";
    case Step::Exec:
      return "cannot execute its program";
  }
  return "";
}

void send(int fd, Step step, int error) {
  const Report report{step, error};
  while (::write(fd, &report, sizeof report) < 0 && errno == EINTR) continue;
}

[[noreturn]] void fail(int fd, Step step) {
  send(fd, step, errno);
  ::_exit(127);
}

/// The next report; Fault::NotFound when there is no more.
Result<Report> receive(int fd) {
  Report report;
  ssize_t n = 0;
  do {
    n = ::read(fd, &report, sizeof report);
  } while (n < 0 && errno == EINTR);
  if (n == static_cast<ssize_t>(sizeof report)) return report;
  return Error{Fault::NotFound, "its process ended before it ran"};
}

Error to_error(const Report& report) {
  return {Fault::Unavailable,
          fmt::format("{}: {}", words_of(report.step), std::strerror(report.error))};
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

/// All that the child needs, made before it is: it may not allocate while it borrows our memory.
struct Plan {
  Plan(const PodSetup& s, const Pipe& o, const Pipe& e, int r)
      : setup(s), out(o), err(e), report(r), supervisor(::getpid()), argv(s.pod.argv) {
    for (const auto& [name, value] : s.pod.environment) environment.push_back(name + "=" + value);
    argv_pointers = pointers(argv);
    environment_pointers = pointers(environment);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const PodSetup& setup;
  const Pipe& out;
  const Pipe& err;
  const int report;
  const pid_t supervisor;
  std::vector<std::string> argv, environment;
  std::vector<char*> argv_pointers, environment_pointers;
};

/// Undoes what supervisors, and servers that started them, ignore or block.
void default_signals() {
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM})
    ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool redirect(const Pipe& out, const Pipe& err) {
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  return null >= 0 && ::dup2(null, 0) == 0 && ::dup2(out.write.get(), 1) == 1 &&
         ::dup2(err.write.get(), 2) == 2;
}

bool limit_memory(const PodSetup& setup) {
  if (setup.pod.memory.v == 0 || setup.cgroup.limits_memory()) return true;
  const auto bytes = static_cast<rlim_t>(setup.pod.memory.v);
  const rlimit limit{bytes, bytes};
  return ::setrlimit(RLIMIT_AS, &limit) == 0;
}

/// Not the server's own limit, which is raised: programs that use select() or close everything up
/// to the limit do not get on with that.
bool limit_files(const PodSetup& setup) {
  rlimit limit{};
  if (setup.descriptors == 0 || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return true;
  limit.rlim_cur = std::min(static_cast<rlim_t>(setup.descriptors), limit.rlim_max);
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/// Everything up to the program itself; the child's side of fork_pod. Changes no memory but its own
/// stack.
int become_pod(const void* of) {
  const Plan& plan = *static_cast<const Plan*>(of);
  const PodSetup& setup = plan.setup;
  ::close(setup.barrier.pipe.write.get());
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.supervisor) ::_exit(127);
  default_signals();
  if (!redirect(plan.out, plan.err)) fail(plan.report, Step::Output);
  if (::chdir(setup.directory.c_str()) != 0) fail(plan.report, Step::Directory);
  if (!limit_memory(setup)) fail(plan.report, Step::Memory);
  if (!limit_files(setup)) fail(plan.report, Step::Files);
  send(plan.report, Step::Ready, 0);
  char go = 0;
  ssize_t n = 0;
  do {
    n = ::read(setup.barrier.pipe.read.get(), &go, 1);
  } while (n < 0 && errno == EINTR);
  if (n != 1) ::_exit(127);
  ::execve(setup.program.c_str(), plan.argv_pointers.data(), plan.environment_pointers.data());
  fail(plan.report, Step::Exec);
}

bool is_file(const std::string& path) {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

}  // namespace

bool Barrier::open(std::size_t pods) const {
  const std::string go(pods, 'g');
  std::string_view rest = go;
  while (!rest.empty()) {
    const ssize_t n = ::write(pipe.write.get(), rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

Program find_program(const PodSpec& pod, const std::string& directory) {
  const std::string& name = pod.argv.front();
  std::vector<std::string> places;
  if (name.find('/') != std::string::npos) {
    places.push_back(name.front() == '/' ? name : directory + "/" + name);
  } else {
    const auto path = pod.environment.find("PATH");
    const std::string all = path == pod.environment.end() ? "/usr/bin:/bin" : path->second;
    for (const std::string_view part : split(all, ':')) {
      const std::string in =
          part.starts_with('/') ? std::string(part) : fmt::format("{}/{}", directory, part);
      places.push_back(in + "/" + name);
    }
  }
  Program found{"", 127, fmt::format("{}: no such program", name)};
  for (const std::string& place : places) {
    if (!is_file(place)) continue;
    if (::access(place.c_str(), X_OK) == 0) return {place, 0, ""};
    found = {"", 126, fmt::format("{}: may not be executed", name)};
  }
  return found;
}

Result<PodProcess> fork_pod(const PodSetup& setup) {
  auto out = make_pipe();
  auto err = make_pipe();
  auto report = make_pipe();
  for (const auto* pipe : {&out, &err, &report}) {
    if (!*pipe) return pipe->error();
  }
  const Plan plan(setup, *out, *err, report->write.get());
  const pid_t pid =
      setup.cgroup.fork_into(become_pod, &plan, setup.alone ? Memory::Borrowed : Memory::Copied);
  if (pid < 0) return io_error("fork", "a pod");
  for (const auto* pipe : {&out, &err}) ::fcntl((*pipe)->read.get(), F_SETFL, O_NONBLOCK);
  return PodProcess{pid, std::move(out->read), std::move(err->read), std::move(report->read)};
}

Status wait_ready(const PodProcess& process) {
  const auto report = receive(process.report.get());
  if (!report) return report.error();
  if (report->step != Step::Ready) return to_error(*report);
  return Ok{};
}

Status wait_running(const PodProcess& process) {
  const auto report = receive(process.report.get());
  if (!report) return Ok{};
  return to_error(*report);
}

}  // namespace muster::clusters
