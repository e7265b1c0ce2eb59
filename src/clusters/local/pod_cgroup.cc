#include "clusters/local/pod_cgroup.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/text.h"
#include "clusters/files.h"

namespace muster::clusters {
namespace {

constexpr std::int64_t period_us = 100'000;
constexpr std::int64_t quota_least_us = 1'000;  // the kernel takes no less
constexpr const char* server_leaf = "muster-server";

/// A write to a file of the kernel; false if it refuses.
bool tell(const std::string& path, std::string_view text) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd.is_open() &&
         ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// Where the unified hierarchy is mounted; empty if it is not.
std::string unified_mount() {
  const auto mounts = read_file("/proc/self/mounts");
  if (!mounts) return "";
  for (const std::string_view line : split(*mounts, '\n')) {
    const auto words = split_words(line);
    if (words.size() > 2 && words[2] == "cgroup2") return std::string(words[1]);
  }
  return "";
}

/// The path of our own cgroup in it, "" for the root.
std::string own_path() {
  const auto groups = read_file("/proc/self/cgroup");
  if (!groups) return "";
  for (const std::string_view line : split(*groups, '\n')) {
    if (line.starts_with("0::/")) return std::string(line.substr(line == "0::/" ? 4 : 3));
  }
  return "";
}

/// The cgroups below get cpu and memory limits of their own; false if not both do.
bool hand_down(const std::string& group) {
  bool all = true;
  for (const char* controller : {"+cpu", "+memory"})
    all &= tell(group + "/cgroup.subtree_control", controller);
  return all;
}

/// It has the controllers, and they are held back by nobody but us: a cgroup with processes hands
/// nothing down.
bool is_alone_in(const std::string& group) {
  const auto controllers = read_file(group + "/cgroup.controllers");
  const auto processes = read_file(group + "/cgroup.procs");
  if (!controllers || !processes) return false;
  const auto words = split_words(*controllers);
  const bool has_some = std::find(words.begin(), words.end(), "cpu") != words.end() ||
                        std::find(words.begin(), words.end(), "memory") != words.end();
  return has_some && split_words(*processes).size() == 1 &&
         split_words(*processes)[0] == std::to_string(::getpid());
}

/// This process moves into a leaf, and back if that does not help.
void make_room(const std::string& group) {
  const std::string leaf = fmt::format("{}/{}", group, server_leaf);
  if (::mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST) return;
  if (tell(leaf + "/cgroup.procs", "0") && hand_down(group)) return;
  tell(group + "/cgroup.procs", "0");
  ::rmdir(leaf.c_str());
}

#if defined(__x86_64__)
/// What vfork() does, with the arguments of clone3 and a stack of the child's own: returning from
/// a system call to a stack that the child has used meanwhile would not end well.
pid_t clone_borrowing(clone_args args, int (*child)(const void*), const void* of) {
  alignas(16) static char stack[65536];  // of the one child at a time
  args.flags |= CLONE_VM | CLONE_VFORK;
  args.stack = reinterpret_cast<std::uint64_t>(stack);
  args.stack_size = sizeof stack;
  long result = SYS_clone3;
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "mov %[of], %%rdi\n\t"
      "call *%[child]\n\t"
      "mov %%eax, %%edi\n\t"
      "mov %[exit], %%eax\n\t"
      "syscall\n\t"
      "hlt\n"
      "1:"
      : "+a"(result)
      : "D"(&args), "S"(sizeof args), [child] "r"(child), [of] "r"(of), [exit] "i"(SYS_exit)
      : "rcx", "r11", "memory", "cc");
  if (result >= 0) return static_cast<pid_t>(result);
  errno = static_cast<int>(-result);
  return -1;
}
#else
/// Not done on this kind of machine.
pid_t clone_borrowing(const clone_args&, int (*)(const void*), const void*) { return -1; }
#endif

}  // namespace

std::string make_cgroup_base(const std::string& name) {
  const std::string mount = unified_mount();
  if (mount.empty()) return "";
  std::string own = mount + own_path();
  const std::string leaf = fmt::format("/{}", server_leaf);
  if (own.ends_with(leaf)) own.erase(own.size() - leaf.size());  // somebody put us there
  const std::string base = own + "/muster-" + file_name(name);
  if (::mkdir(base.c_str(), 0755) != 0 && errno != EEXIST) return "";
  if (::access((base + "/cgroup.kill").c_str(), W_OK) != 0) return "";  // before Linux 5.14
  if (!hand_down(own) && is_alone_in(own)) make_room(own);
  hand_down(base);
  return base;
}

Result<PodCgroup> PodCgroup::make(std::string dir, model::MilliCpu cpu, model::Bytes memory) {
  if (::mkdir(dir.c_str(), 0755) != 0) return io_error("make", dir);
  PodCgroup group(std::move(dir));
  const std::int64_t quota = std::max(cpu.v * period_us / 1000, quota_least_us);
  group.limits_cpu_ =
      cpu.v > 0 && tell(group.dir_ + "/cpu.max", fmt::format("{} {}", quota, period_us));
  group.limits_memory_ = memory.v > 0 && tell(group.dir_ + "/memory.max", std::to_string(memory.v));
  if (group.limits_memory_) tell(group.dir_ + "/memory.swap.max", "0");
  return group;
}

pid_t PodCgroup::fork_into(int (*child)(const void*), const void* of, Memory memory) const {
  clone_args args{};
  args.exit_signal = SIGCHLD;
  Fd dir;
  if (exists()) {
    dir = Fd(::open(dir_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!dir.is_open()) return -1;
    args.flags = CLONE_INTO_CGROUP;
    args.cgroup = static_cast<std::uint64_t>(dir.get());
  }
  pid_t pid = -1;
  if (memory == Memory::Borrowed) pid = clone_borrowing(args, child, of);
  if (pid > 0) return pid;
  // A copy does as well. clone3 is not everywhere: without a cgroup there is no need for it.
  pid = exists() ? static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args)) : ::fork();
  if (pid == 0) ::_exit(child(of));
  return pid;
}

void PodCgroup::kill() const {
  if (exists()) tell(dir_ + "/cgroup.kill", "1");
}

bool PodCgroup::is_empty() const {
  const auto processes = read_file(dir_ + "/cgroup.procs");
  return !processes || processes->empty();
}

bool PodCgroup::ran_out_of_memory() const {
  const auto events = exists() ? read_file(dir_ + "/memory.events") : Result<std::string>("");
  if (!events) return false;
  for (const std::string_view line : split(*events, '\n')) {
    const auto words = split_words(line);
    if (words.size() == 2 && words[0] == "oom_kill") return words[1] != "0";
  }
  return false;
}

void PodCgroup::remove() {
  if (exists()) ::rmdir(dir_.c_str());
  dir_.clear();
}

std::string cgroup_path(const std::string& base, const std::string& job, std::uint32_t attempt,
                        std::size_t rank) {
  return fmt::format("{}/{}.{}.{}", base, file_name(job), attempt, rank);
}

}  // namespace muster::clusters
