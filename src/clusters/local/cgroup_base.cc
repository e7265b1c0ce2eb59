#include "clusters/local/cgroup_base.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "clusters/files.h"

namespace muster::clusters {
namespace {

constexpr const char* server_leaf = "muster-server";
constexpr const char* note_name = "cgroups";  // in the cluster's directory: a base a line

template <typename Words>
bool has_word(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// A mounted hierarchy: `controller` is empty for the unified one.
struct Mount {
  std::string_view root;  // what of the hierarchy is seen at the point; "/" is all
  std::string_view point;
};
/// `mountinfo`: "ID PARENT DEVICE ROOT POINT OPTIONS [TAGS] - TYPE SOURCE OPTIONS" a line.
Mount find_mount(std::string_view mountinfo, std::string_view controller) {
  for (const std::string_view line : split(mountinfo, '\n')) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const auto what = split_words(line.substr(0, dash));
    const auto of = split_words(line.substr(dash + 3));
    if (what.size() < 5 || of.size() < 3) continue;
    const bool found = controller.empty()
                           ? of[0] == "cgroup2"
                           : of[0] == "cgroup" && has_word(split(of[2], ','), controller);
    if (found) return {what[3], what[4]};
  }
  return {};
}

/// Our own cgroup, from lines of "ID:CONTROLLERS:PATH"; empty if there is none.
std::string_view find_own(std::string_view groups, std::string_view controller) {
  for (const std::string_view line : split(groups, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    const bool found =
        controller.empty() ? line.starts_with("0::") : has_word(split(parts[1], ','), controller);
    if (found) return line.substr(parts[0].size() + parts[1].size() + 2);
  }
  return {};
}

/// The directory of our own cgroup; empty if it is not to be seen here.
std::string own_dir(std::string_view controller) {
  const auto mountinfo = read_file("/proc/self/mountinfo");
  const auto groups = read_file("/proc/self/cgroup");
  if (!mountinfo || !groups) return "";
  const Mount mount = find_mount(*mountinfo, controller);
  std::string_view own = find_own(*groups, controller);
  if (mount.point.empty() || own.empty()) return "";
  if (mount.root != "/") {  // a container sees a part of it
    if (!own.starts_with(mount.root)) return "";
    own.remove_prefix(mount.root.size());
  }
  return fmt::format("{}{}", mount.point, own == "/" ? "" : own);
}

/// The cgroups below get cpu and memory limits of their own; false if not both do.
bool hand_down(const std::string& group) {
  bool all = true;
  for (const char* controller : {"+cpu", "+memory"})
    all &= tell_kernel(group + "/cgroup.subtree_control", controller);
  return all;
}

/// It has the controllers, and they are held back by nobody but us: a cgroup with processes hands
/// nothing down.
bool is_alone_in(const std::string& group) {
  const auto controllers = read_file(group + "/cgroup.controllers");
  const auto processes = read_file(group + "/cgroup.procs");
  if (!controllers || !processes) return false;
  const auto words = split_words(*controllers);
  const bool has_some = has_word(words, "cpu") || has_word(words, "memory");
  return has_some && split_words(*processes).size() == 1 &&
         split_words(*processes)[0] == std::to_string(::getpid());
}

/// This process moves into a leaf, and back if that does not help.
void make_room(const std::string& group) {
  const std::string leaf = fmt::format("{}/{}", group, server_leaf);
  if (::mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST) return;
  if (tell_kernel(leaf + "/cgroup.procs", "0") && hand_down(group)) return;
  tell_kernel(group + "/cgroup.procs", "0");
  ::rmdir(leaf.c_str());
}

/// Empty if that is not allowed, or what is in it cannot be written to `file`.
std::string make_below(const std::string& own, const std::string& name, const char* file) {
  if (own.empty()) return "";
  std::string dir = fmt::format("{}/muster-{}", own, file_name(name));
  if (::mkdir(dir.c_str(), 0755) != 0 && errno != EEXIST) return "";
  if (::access(fmt::format("{}/{}", dir, file).c_str(), W_OK) == 0) return dir;
  ::rmdir(dir.c_str());
  return "";
}

std::string make_unified(const std::string& name) {
  std::string own = own_dir("");
  const std::string leaf = fmt::format("/{}", server_leaf);
  if (own.ends_with(leaf)) own.erase(own.size() - leaf.size());  // somebody put us there
  std::string base = make_below(own, name, "cgroup.kill");       // since Linux 5.14
  if (base.empty()) return base;
  if (!hand_down(own) && is_alone_in(own)) make_room(own);
  hand_down(base);
  return base;
}

}  // namespace

bool tell_kernel(const std::string& path, std::string_view text) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd.is_open() &&
         ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

CgroupDirs make_cgroup_base(const std::string& name) {
  CgroupDirs base;
  base.unified = make_unified(name);
  const auto has = [&](const char* file) {
    return !base.unified.empty() && exists(fmt::format("{}/{}", base.unified, file));
  };
  if (!has("cpu.max")) base.cpu = make_below(own_dir("cpu"), name, "cpu.cfs_quota_us");
  if (!has("memory.max"))
    base.memory = make_below(own_dir("memory"), name, "memory.limit_in_bytes");
  return base;
}

void remove_cgroup_base(const CgroupDirs& base) {
  for (const std::string* dir : base.all()) {
    if (!dir->empty()) ::rmdir(dir->c_str());
  }
}

bool remake_base(const std::string& dir) {
  if (::mkdir(dir.c_str(), 0755) != 0 && errno != EEXIST) return false;
  hand_down(dir);
  return true;
}

Status note_cgroup_base(const std::string& directory, const CgroupDirs& base) {
  const std::string note = fmt::format("{}/{}", directory, note_name);
  std::string text;
  for (const std::string* dir : base.all()) text += dir->empty() ? "" : *dir + "\n";
  const auto before = read_file(note);
  if (before && *before == text) return Ok{};
  if (before) {
    for (const std::string_view dir : split(*before, '\n')) {
      const auto all = base.all();
      const bool is_ours =
          std::any_of(all.begin(), all.end(), [&](const std::string* own) { return *own == dir; });
      if (!dir.empty() && !is_ours) ::rmdir(std::string(dir).c_str());
    }
  }
  return replace_file_unsynced(note, text);
}

void remove_unused_base(const std::string& directory) {
  // A server reads its notices all the time.
  const Fd notices(::open((directory + "/notify").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (notices.is_open() || errno != ENXIO) return;
  const auto note = read_file(fmt::format("{}/{}", directory, note_name));
  if (!note) return;
  for (const std::string_view dir : split(*note, '\n')) {
    if (!dir.empty()) ::rmdir(std::string(dir).c_str());
  }
}

CgroupDirs cgroups_of_pod(const CgroupDirs& base, const std::string& job, std::uint32_t attempt,
                          std::size_t rank) {
  const auto below = [&](const std::string& dir) {
    return dir.empty() ? "" : fmt::format("{}/{}.{}.{}", dir, file_name(job), attempt, rank);
  };
  return {below(base.unified), below(base.cpu), below(base.memory)};
}

}  // namespace muster::clusters
