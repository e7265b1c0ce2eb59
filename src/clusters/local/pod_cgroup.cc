#include "clusters/local/pod_cgroup.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "clusters/files.h"

namespace muster::clusters {
namespace {

constexpr std::int64_t period_us = 100'000;
constexpr std::int64_t quota_least_us = 1'000;  // the kernel takes no less

/// What the kernel counted in a file of "KEY NUMBER" lines: more than nothing.
bool has_counted(const std::string& path, std::string_view key) {
  const auto text = read_file(path);
  if (!text) return false;
  for (const std::string_view line : split(*text, '\n')) {
    const auto words = split_words(line);
    if (words.size() == 2 && words[0] == key) return words[1] != "0";
  }
  return false;
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

/// None if there is no such cgroup.
std::vector<pid_t> processes_in(const std::string& dir) {
  std::vector<pid_t> pids;
  if (dir.empty()) return pids;
  const auto list = read_file(dir + "/cgroup.procs");
  if (!list) return pids;
  for (const std::string_view word : split_words(*list)) {
    pid_t pid = 0;  // stays so for one that is not to be seen here
    std::from_chars(word.data(), word.data() + word.size(), pid);
    if (pid > 0) pids.push_back(pid);
  }
  return pids;
}

bool make_group(const std::string& dir) {
  if (::mkdir(dir.c_str(), 0755) == 0) return true;
  if (errno != ENOENT) return false;
  return remake_base(dir.substr(0, dir.rfind('/'))) && ::mkdir(dir.c_str(), 0755) == 0;
}

/// A process is born into the unified cgroup, but moves into those of version 1 by itself, if not
/// gather() does it.
struct Entering {
  std::array<Fd, 2> lists;  // of processes
  int (*child)(const void*) = nullptr;
  const void* of = nullptr;
};

int enter(const void* of) {
  const auto& entering = *static_cast<const Entering*>(of);
  for (const Fd& list : entering.lists) {
    if (list.is_open() && ::write(list.get(), "0", 1) != 1) return 127;
  }
  return entering.child(entering.of);
}

}  // namespace

Result<PodCgroup> PodCgroup::make(CgroupDirs dirs, model::MilliCpu cpu, model::Bytes memory) {
  // Moving there takes time, up to milliseconds: not without need.
  if (cpu.v == 0) dirs.cpu.clear();
  if (memory.v == 0) dirs.memory.clear();
  for (const std::string* dir : dirs.all()) {
    if (dir->empty() || make_group(*dir)) continue;
    if (errno == EEXIST && *dir == dirs.cpu) continue;  // mounted together with the memory
    const Error error = io_error("make", *dir);
    PodCgroup(dirs).remove();
    return error;
  }
  PodCgroup group(std::move(dirs));
  if (cpu.v > 0) group.limits_cpu_ = group.limit_cpu(cpu);
  if (memory.v > 0) group.limits_memory_ = group.limit_memory(memory);
  return group;
}

bool PodCgroup::limit_cpu(model::MilliCpu cpu) const {
  const std::int64_t quota = std::max(cpu.v * period_us / 1000, quota_least_us);
  if (dirs_.cpu.empty() && dirs_.unified.empty()) return false;
  if (dirs_.cpu.empty())
    return tell_kernel(dirs_.unified + "/cpu.max", fmt::format("{} {}", quota, period_us));
  return tell_kernel(dirs_.cpu + "/cpu.cfs_period_us", std::to_string(period_us)) &&
         tell_kernel(dirs_.cpu + "/cpu.cfs_quota_us", std::to_string(quota));
}

/// Swap, where there is some, is no way around it. With `oom.group` the kernel ends the pod, not
/// one process that the others may wait for; version 1 cannot do that.
bool PodCgroup::limit_memory(model::Bytes memory) const {
  if (dirs_.memory.empty() && dirs_.unified.empty()) return false;
  const std::string bytes = std::to_string(memory.v);
  if (dirs_.memory.empty()) {
    if (!tell_kernel(dirs_.unified + "/memory.max", bytes)) return false;
    tell_kernel(dirs_.unified + "/memory.swap.max", "0");
    tell_kernel(dirs_.unified + "/memory.oom.group", "1");
    return true;
  }
  if (!tell_kernel(dirs_.memory + "/memory.limit_in_bytes", bytes)) return false;
  tell_kernel(dirs_.memory + "/memory.memsw.limit_in_bytes", bytes);
  return true;
}

pid_t PodCgroup::fork_into(int (*child)(const void*), const void* of, Memory memory) const {
  clone_args args{};
  args.exit_signal = SIGCHLD;
  Fd dir;
  if (!dirs_.unified.empty()) {
    dir = Fd(::open(dirs_.unified.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!dir.is_open()) return -1;
    args.flags = CLONE_INTO_CGROUP;
    args.cgroup = static_cast<std::uint64_t>(dir.get());
  }
  Entering entering{{}, child, of};
  std::size_t at = 0;
  for (const std::string* older : {&dirs_.cpu, &dirs_.memory}) {
    // Whoever enters one of them enters the other for little.
    const bool is_gathered = older == &dirs_.cpu && dirs_.memory.empty() && dir.is_open();
    if (older->empty() || is_gathered) continue;
    Fd& list = entering.lists[at++];
    list = Fd(::open((*older + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    if (!list.is_open()) return -1;
  }
  pid_t pid = -1;
  if (memory == Memory::Borrowed) pid = clone_borrowing(args, enter, &entering);
  if (pid > 0) return pid;
  // A copy does as well. clone3 is not everywhere: without a cgroup there is no need for it.
  pid = dir.is_open() ? static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args)) : ::fork();
  if (pid == 0) ::_exit(enter(&entering));
  return pid;
}

void PodCgroup::gather() const {
  if (dirs_.cpu.empty() || dirs_.unified.empty()) return;
  constexpr int rounds_most = 100;  // whoever is started by one who is inside is inside as well
  for (int round = 0; round < rounds_most; ++round) {
    const std::vector<pid_t> inside = processes_in(dirs_.cpu);
    bool are_all_inside = true;
    for (const pid_t pid : processes_in(dirs_.unified)) {
      if (std::find(inside.begin(), inside.end(), pid) != inside.end()) continue;
      are_all_inside = false;
      tell_kernel(dirs_.cpu + "/cgroup.procs", std::to_string(pid));  // unless it has just ended
    }
    if (are_all_inside) return;
  }
}

void PodCgroup::kill() const {
  if (!dirs_.unified.empty() && tell_kernel(dirs_.unified + "/cgroup.kill", "1")) return;
  for (const std::string* dir : {&dirs_.cpu, &dirs_.memory}) {
    for (const pid_t pid : processes_in(*dir)) ::kill(pid, SIGKILL);
  }
}

bool PodCgroup::is_empty() const {
  const auto all = dirs_.all();
  return std::all_of(all.begin(), all.end(),
                     [](const std::string* dir) { return processes_in(*dir).empty(); });
}

bool PodCgroup::ran_out_of_memory() const {
  if (!limits_memory_) return false;
  return dirs_.memory.empty() ? has_counted(dirs_.unified + "/memory.events", "oom_kill")
                              : has_counted(dirs_.memory + "/memory.oom_control", "oom_kill");
}

void PodCgroup::remove() {
  for (const std::string* dir : dirs_.all()) {
    if (!dir->empty()) ::rmdir(dir->c_str());
  }
  dirs_ = {};
}

}  // namespace muster::clusters
