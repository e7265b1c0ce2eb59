#include "clusters/local/gang.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "clusters/clock.h"
#include "clusters/local/processes.h"

namespace muster::clusters {
namespace {

/// Ports of this machine that nobody listens on now, all different.
Result<std::vector<int>> free_ports(std::size_t count) {
  std::vector<Fd> held;  // until all are chosen
  std::vector<int> ports;
  for (std::size_t i = 0; i < count; ++i) {
    held.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(held.back().get(), generic, size) != 0 ||
        ::getsockname(held.back().get(), generic, &size) != 0)
      return io_error("find", "a free port");
    ports.push_back(ntohs(address.sin_port));
  }
  return ports;
}

Status write_files(const std::vector<model::CommandFile>& files, const std::string& dir) {
  for (const model::CommandFile& file : files) {
    const std::string path = dir + "/" + file.path;
    if (Status s = make_dirs_below(dir, std::filesystem::path(path).parent_path()); !s) return s;
    if (Status s = write_new(path, file.content, file.executable ? 0755 : 0644); !s) return s;
  }
  return Ok{};
}

/// How cpu and memory of the pod are held, for its record.
std::string limits_of(const PodSpec& pod, const PodCgroup& cgroup) {
  const char* cpu = pod.cpu.v == 0 ? "none asked" : cgroup.limits_cpu() ? "cgroup" : "not limited";
  const char* memory = pod.memory.v == 0        ? "none asked"
                       : cgroup.limits_memory() ? "cgroup"
                                                : "rlimit";
  return fmt::format("cpu: {}; memory: {}", cpu, memory);
}

}  // namespace

Gang::Gang(AttemptSpec spec, std::string dir, int signals, int control)
    : spec_(std::move(spec)), dir_(std::move(dir)), signals_(signals), control_(control) {}

// ----------------------------------------------------------------------------------------------
// the start

std::optional<Gang::End> Gang::start() {
  if (auto end = prepare()) return end;
  auto pipe = make_pipe();
  if (!pipe) return failed_start(nullptr, pipe.error());
  const Barrier barrier{std::move(*pipe)};
  // One pod has nobody to wait for, and starts two turns of the scheduler earlier.
  const bool alone = pods_.size() == 1;
  if (alone && !barrier.open(1)) return failed_start(nullptr, io_error("open", "the barrier"));
  if (Status s = fork_all(barrier); !s) return failed_start(nullptr, s.error());
  if (!alone && !barrier.open(pods_.size()))
    return failed_start(nullptr, io_error("open", "the barrier"));
  for (Pod& pod : pods_) {
    if (Status s = wait_running(pod.process); !s) {
      clear();
      return End{Outcome::Failed, 126,
                 fmt::format("{}: {}", pod_name(pod.spec), s.error().message)};
    }
    pod.process.report.close();
  }
  return std::nullopt;
}

std::optional<Gang::End> Gang::prepare() {
  const auto ports = free_ports(spec_.pods.size());
  if (!ports) return failed_start(nullptr, ports.error());
  std::string peers;
  for (const int port : *ports)
    peers += fmt::format("{}127.0.0.1:{}", peers.empty() ? "" : ",", port);
  for (std::size_t rank = 0; rank < spec_.pods.size(); ++rank) {
    pods_.emplace_back().spec = spec_.pods[rank];
    Pod& pod = pods_.back();
    pod.spec.environment["MASTER_PORT"] = std::to_string(ports->front());
    if (Status s = prepare_pod(rank, peers); !s) return failed_start(&pod, s.error());
  }
  for (Pod& pod : pods_) {
    Program program = find_program(pod.spec, pod.directory);
    if (program.exit_code != 0) {
      clear();
      return End{Outcome::Failed, program.exit_code,
                 fmt::format("{}: {}", pod_name(pod.spec), program.reason)};
    }
    pod.program = std::move(program.path);
  }
  return std::nullopt;
}

Status Gang::prepare_pod(std::size_t rank, std::string_view peers) {
  Pod& pod = pods_[rank];
  const std::string own = pod_dir(dir_, rank);
  if (Status s = make_dirs_below(dir_, own); !s) return s;
  if (Status s = write_files(spec_.files, own); !s) return s;
  pod.directory = spec_.working_dir.empty() ? own : spec_.working_dir;
  pod.spec.environment["MUSTER_PEERS"] = peers;
  pod.spec.environment["MUSTER_POD_DIR"] = own;
  pod.spec.environment["PWD"] = pod.directory;
  auto output = OutputFile::make(output_path(dir_, rank), spec_.output_most);
  if (!output) return output.error();
  pod.output.emplace(std::move(*output));
  if (Status s = make_cgroup(rank); !s) return s;
  pod.state.limits = limits_of(pod.spec, pod.cgroup);
  return Ok{};
}

Status Gang::make_cgroup(std::size_t rank) {
  if (spec_.cgroup == CgroupDirs{}) return Ok{};
  Pod& pod = pods_[rank];
  auto cgroup = PodCgroup::make(cgroups_of_pod(spec_.cgroup, spec_.job, spec_.attempt, rank),
                                pod.spec.cpu, pod.spec.memory);
  if (!cgroup) return cgroup.error();
  pod.cgroup = std::move(*cgroup);
  return Ok{};
}

Status Gang::fork_all(const Barrier& barrier) {
  for (Pod& pod : pods_) {
    auto process = fork_pod({pod.spec, pod.program, pod.directory, pod.cgroup, barrier,
                             pods_.size() == 1, spec_.descriptors});
    if (!process) return process.error();
    pod.process = std::move(*process);
    pod.alive = true;
    pod.state.pid = pod.process.pid;
    pod.state.start_ticks = start_ticks(pod.process.pid);
  }
  for (const Pod& pod : pods_) {
    if (Status s = wait_ready(pod.process); !s)
      return Error{s.error().fault, fmt::format("{}: {}", pod_name(pod.spec), s.error().message)};
  }
  return Ok{};
}

Gang::End Gang::failed_start(const Pod* pod, const Error& error) {
  End end{
      Outcome::StartFailed, 0,
      pod == nullptr ? error.message : fmt::format("{}: {}", pod_name(pod->spec), error.message)};
  clear();
  return end;
}

// ----------------------------------------------------------------------------------------------
// while it runs

Gang::End Gang::run() {
  for (const Pod& pod : pods_) pod.cgroup.gather();
  while (any_alive()) look();
  clear();
  return end_.value_or(End{Outcome::Succeeded, 0, ""});
}

void Gang::look() {
  std::vector<pollfd> fds = {{signals_, POLLIN, 0}, {control_, POLLIN, 0}};
  for (const Pod& pod : pods_) {
    for (const Fd* fd : {&pod.process.out, &pod.process.err}) {
      if (fd->is_open()) fds.push_back({fd->get(), POLLIN, 0});
    }
  }
  int timeout = -1;
  if (!kill_at_.is_never())
    timeout = static_cast<int>(std::clamp<std::int64_t>((kill_at_ - steady_now()).ms, 0, 60'000));
  ::poll(fds.data(), fds.size(), timeout);
  read_output();
  if ((fds[1].revents & POLLIN) != 0) {
    char asked[64];
    if (::read(control_, asked, sizeof asked) > 0) stop({Outcome::Removed, 0, ""});
  }
  read_signals();
  reap();
  if (steady_now() >= kill_at_) kill_everything();
}

bool Gang::read_output() {
  static char buffer[65536];
  bool any = false;
  for (Pod& pod : pods_) {
    for (const auto& [fd, stream] : {std::pair{&pod.process.out, ports::Stream::Out},
                                     std::pair{&pod.process.err, ports::Stream::Err}}) {
      if (!fd->is_open()) continue;
      const ssize_t n = ::read(fd->get(), buffer, sizeof buffer);
      if (n > 0) {
        pod.output->append(stream, wall_now(), {buffer, static_cast<std::size_t>(n)});
        any = true;
      } else if (n == 0) {
        fd->close();
      }
    }
  }
  return any;
}

void Gang::read_signals() {
  signalfd_siginfo info{};
  while (::read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo != SIGCHLD)
      stop({Outcome::StartFailed, 0,
            fmt::format("its supervisor was told to end ({})",
                        ::strsignal(static_cast<int>(info.ssi_signo)))});
  }
}

/// The first reason to stop is the one that counts.
void Gang::stop(End end) {
  if (end_) return;
  end_ = std::move(end);
  for (const Pod& pod : pods_) {
    if (!pod.alive) continue;
    ::kill(-pod.process.pid, SIGTERM);
    ::kill(-pod.process.pid, SIGCONT);  // one that was stopped hears it too
  }
  kill_at_ = steady_now() + spec_.grace;
}

bool Gang::reap() {
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return errno == ECHILD;
    if (info.si_pid == 0) return false;
    const pid_t pid = info.si_pid;
    const auto pod = std::find_if(pods_.begin(), pods_.end(),
                                  [&](const Pod& p) { return p.alive && p.process.pid == pid; });
    // Until it is reaped its number, and so that of its group, cannot be another's.
    if (pod != pods_.end()) ::kill(-pid, SIGKILL);
    int status = 0;
    ::waitpid(pid, &status, 0);
    if (pod != pods_.end()) ended(*pod, status);
  }
}

void Gang::ended(Pod& pod, int status) {
  pod.alive = false;
  pod.cgroup.kill();
  const std::string name = pod_name(pod.spec);
  int code = WEXITSTATUS(status);
  std::string reason = fmt::format("{} exited with code {}", name, code);
  if (WIFEXITED(status)) {
    pod.state.exit_code = code;
    if (code == 0) return;
  } else {
    pod.state.signal = WTERMSIG(status);
    code = 128 + pod.state.signal;
    reason = fmt::format("{} was ended by signal {} ({})", name, pod.state.signal,
                         ::strsignal(pod.state.signal));
  }
  // The kernel may have ended a child of the program, which then gave up by itself.
  if (pod.cgroup.ran_out_of_memory())
    reason = fmt::format("{} ran out of memory: its limit is {}", name,
                         model::quantity_text(pod.spec.memory.v, model::Scale::Whole));
  stop({Outcome::Failed, code, std::move(reason)});
}

void Gang::kill_everything() {
  for (const Pod& pod : pods_) pod.cgroup.kill();
  for (const pid_t pid : descendants(::getpid())) ::kill(pid, SIGKILL);
  kill_at_ = steady_now() + milliseconds(20);  // what was being made meanwhile goes next time
}

/// Ends whatever is left. The supervisor inherits every orphan of the gang: no child, no process.
void Gang::clear() {
  if (!end_) end_ = End{Outcome::Succeeded, 0, ""};  // from now on nobody's end is a failure
  while (!reap()) {
    kill_everything();
    read_output();
    pollfd fd{signals_, POLLIN, 0};
    ::poll(&fd, 1, 20);
    read_signals();
  }
  while (read_output()) continue;
  for (Pod& pod : pods_) {
    if (pod.output) pod.output->close(wall_now());
    pod.cgroup.remove();
  }
}

bool Gang::any_alive() const {
  return std::any_of(pods_.begin(), pods_.end(), [](const Pod& pod) { return pod.alive; });
}

std::vector<PodState> Gang::states() const {
  std::vector<PodState> states;
  for (const Pod& pod : pods_) states.push_back(pod.state);
  return states;
}

}  // namespace muster::clusters
