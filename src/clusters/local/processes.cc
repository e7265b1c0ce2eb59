#include "clusters/local/processes.h"

#include <filesystem>
#include <map>

#include "base/text.h"
#include "clusters/files.h"

namespace muster::clusters {
namespace {

std::vector<pid_t> all_processes() {
  std::vector<pid_t> pids;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc", error), end; !error && it != end;
       it.increment(error)) {
    const auto pid = parse_int(it->path().filename().string(), "", 1, 1 << 30);
    if (pid) pids.push_back(static_cast<pid_t>(*pid));
  }
  return pids;
}

/// Field `n` of /proc/PID/stat, counted from 1 as in proc(5), n > 2; 0 without the process.
std::int64_t stat_field(pid_t pid, std::size_t n) {
  const auto text = read_file(fmt::format("/proc/{}/stat", pid));
  if (!text) return 0;
  const auto name_end = text->rfind(')');  // a name may hold blanks and parentheses
  if (name_end == std::string::npos) return 0;
  const auto words = split_words(std::string_view(*text).substr(name_end + 1));
  if (words.size() < n - 2) return 0;
  const auto value = parse_int(words[n - 3], "", 0, std::int64_t{1} << 62);
  return value ? *value : 0;
}

}  // namespace

std::vector<pid_t> descendants(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t pid : all_processes())
    children.emplace(static_cast<pid_t>(stat_field(pid, 4)), pid);
  std::vector<pid_t> found;
  std::vector<pid_t> parents = {root};
  while (!parents.empty()) {
    const auto [first, last] = children.equal_range(parents.back());
    parents.pop_back();
    for (auto it = first; it != last; ++it) {
      found.push_back(it->second);
      parents.push_back(it->second);
    }
  }
  return found;
}

std::vector<pid_t> marked(std::string_view mark) {
  std::vector<pid_t> found;
  for (const pid_t pid : all_processes()) {
    const auto environment = read_file(fmt::format("/proc/{}/environ", pid));
    if (!environment) continue;
    for (const std::string_view entry : split(*environment, '\0')) {
      if (!entry.starts_with(mark)) continue;
      found.push_back(pid);
      break;
    }
  }
  return found;
}

std::int64_t start_ticks(pid_t pid) { return stat_field(pid, 22); }

const std::string& boot_id() {
  static const std::string id = [] {
    const auto text = read_file("/proc/sys/kernel/random/boot_id");
    return text ? std::string(trim(*text)) : "";
  }();
  return id;
}

}  // namespace muster::clusters
