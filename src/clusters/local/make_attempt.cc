#include "clusters/local/make_attempt.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "clusters/files.h"
#include "clusters/job_environment.h"
#include "clusters/local/processes.h"

namespace muster::clusters {
namespace {

constexpr const char* half_made = ".new-";
constexpr const char* blank = ".new-blank";

/// What a program needs to run at all; everything else of the server's is nobody's business.
constexpr const char* inherited[] = {"PATH",  "HOME",   "USER",           "LOGNAME",
                                     "SHELL", "LANG",   "LC_ALL",         "LC_CTYPE",
                                     "TZ",    "TMPDIR", "LD_LIBRARY_PATH"};

std::string devices_text(std::uint32_t devices) {
  std::string text;
  for (int d = 0; d < 32; ++d) {
    if ((devices >> d & 1u) != 0) text += fmt::format("{}{}", text.empty() ? "" : ",", d);
  }
  return text;
}

void add_ranks(PodSpec& pod, std::size_t rank, std::size_t pods) {
  pod.environment["RANK"] = std::to_string(rank);
  pod.environment["NODE_RANK"] = std::to_string(rank);
  add_peers(pod.environment, static_cast<std::int64_t>(pods), "127.0.0.1");
}

/// Makes `name` in parent by filling a directory of another name first.
template <typename Fill>
Status make_whole(const std::string& parent, const std::string& name, Fill fill) {
  const std::string fresh = fmt::format("{}/{}{}", parent, half_made, name);
  if (Status s = remove_tree(fresh); !s) return s;
  const std::string path = parent + "/" + name;
  const auto make = [&]() -> Status {
    if (::mkdir(fresh.c_str(), 0755) != 0) return io_error("make", fresh);
    if (Status s = fill(fresh); !s) return s;
    if (::rename(fresh.c_str(), path.c_str()) != 0) return io_error("make", path);
    return Ok{};
  };
  Status made = make();
  if (!made) static_cast<void>(remove_tree(fresh));
  return made;
}

/// Everything but the spec. Most gangs are one pod: its place is there as well.
Status fill_blank(const std::string& dir) {
  Status status = Ok{};
  for (const char* name : {"/lock", "/unclaimed"}) {
    if (status) status = write_new(dir + name, "", 0600);
  }
  if (status && ::mkfifo((dir + "/control").c_str(), 0600) != 0)
    status = io_error("make", dir + "/control");
  if (status) status = make_dirs_below(dir, pod_dir(dir, 0));
  if (status) status = write_new(output_path(dir, 0), "", 0644);
  return status;
}

}  // namespace

model::Environment machine_environment() {
  model::Environment environment;
  for (const char* name : inherited) {
    if (const char* value = std::getenv(name)) environment[name] = value;
  }
  environment.try_emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
  return environment;
}

Result<AttemptSpec> make_spec(const ports::Action& action, const model::Command& command,
                              const model::Environment& base) {
  if (Status s = model::validate(command); !s) return s.error();
  if (action.pods.empty()) return invalid("pods: the placement has none");
  std::vector<std::pair<std::uint32_t, std::size_t>> ranks;  // set, place
  for (std::size_t i = 0; i < action.pods.size(); ++i) ranks.emplace_back(action.pods[i].set, i);
  std::sort(ranks.begin(), ranks.end());
  AttemptSpec spec;
  spec.job = action.attempt.job;
  spec.attempt = action.attempt.number;
  spec.boot = boot_id();
  spec.working_dir = command.working_dir;
  spec.grace = command.stop_grace.value_or(model::stop_grace_default);
  spec.files = command.files;
  std::map<std::uint32_t, std::uint32_t> counts;
  for (const auto& [set_index, at] : ranks) {
    const model::PodPlace& place = action.pods[at];
    if (set_index >= command.sets.size())
      return invalid(fmt::format("sets: the placement has a pod of set {}, the command has {} sets",
                                 set_index, command.sets.size()));
    const model::CommandSet& set = command.sets[set_index];
    PodSpec& pod = spec.pods.emplace_back();
    pod.set = set.name.empty() ? fmt::format("set{}", set_index) : set.name;
    pod.index = counts[set_index]++;
    pod.argv = command.argv_of(set);
    pod.cpu = set.cpu;
    pod.memory = set.memory;
    pod.environment = base;
    put_over(pod.environment, command.environment);
    put_over(pod.environment, set.environment);
    add_job(pod.environment, action.attempt, command, pod.set);
    pod.environment["MUSTER_POD_INDEX"] = std::to_string(pod.index);
    add_ranks(pod, spec.pods.size() - 1, ranks.size());
    for (const char* name : {"MUSTER_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"})
      pod.environment[name] = devices_text(place.devices);
  }
  return spec;
}

std::string dir_name(const ports::Attempt& attempt) {
  return fmt::format("{}.{}", file_name(attempt.job), attempt.number);
}

Status make_blank_dir(const std::string& parent) { return make_whole(parent, blank, fill_blank); }

Status fill_blank_dir(const std::string& parent, const AttemptSpec& spec) {
  return write_new(fmt::format("{}/{}/spec", parent, blank), to_text(spec), 0600);
}

Status name_blank_dir(const std::string& parent, const ports::Attempt& attempt) {
  const std::string path = parent + "/" + dir_name(attempt);
  if (::rename(fmt::format("{}/{}", parent, blank).c_str(), path.c_str()) != 0)
    return io_error("make", path);
  return Ok{};
}

void clear_blank_dir(const std::string& parent) {
  const std::string ahead = fmt::format("{}/{}", parent, blank);
  if (::unlink((ahead + "/spec").c_str()) != 0 && errno != ENOENT)
    static_cast<void>(remove_tree(ahead));
}

Status make_attempt_dir(const std::string& parent, const AttemptSpec& spec) {
  const ports::Attempt attempt{spec.job, spec.attempt};
  Status made = fill_blank_dir(parent, spec);
  if (made) made = name_blank_dir(parent, attempt);
  if (made) return made;
  if (made.error().fault != Fault::NotFound) {
    static_cast<void>(remove_tree(fmt::format("{}/{}", parent, blank)));
    return made;
  }
  return make_whole(parent, dir_name(attempt), [&](const std::string& dir) {
    Status status = fill_blank(dir);
    return status ? write_new(dir + "/spec", to_text(spec), 0600) : status;
  });
}

Status make_tombstone(const std::string& parent, const ports::Attempt& attempt,
                      const AttemptState& state) {
  return make_whole(parent, dir_name(attempt), [&](const std::string& dir) {
    AttemptSpec spec;
    spec.job = attempt.job;
    spec.attempt = attempt.number;
    Status status = write_new(dir + "/spec", to_text(spec), 0600);
    return status ? write_state(dir, state) : status;
  });
}

void remove_half_made(const std::string& parent) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(parent, error), end; !error && it != end;
       it.increment(error)) {
    if (!it->path().filename().string().starts_with(half_made)) continue;
    if (!remove_tree(it->path())) return;  // a later start tries again
  }
}

}  // namespace muster::clusters
